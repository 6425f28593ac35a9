package queue

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"
	"go.uber.org/zap"

	"github.com/zkfence/zkfence/internal/session"
)

var (
	// ErrGone says that a majority has said that our own node does not exist,
	// and that the session stands: somebody else deleted it.
	ErrGone = errors.New("queue: own node was deleted")

	// errNotOurs: the node under our name is another session's.
	errNotOurs = errors.New("queue: node belongs to another session")
)

// ForeignError names a child whose recipe has rules of its own. Two recipes in
// one directory do not see each other's holders.
type ForeignError struct{ Child string }

func (e *ForeignError) Error() string {
	return fmt.Sprintf("queue: child %q belongs to another recipe", e.Child)
}

// Line is one queue and what our nodes in it carry.
type Line struct {
	Dir  string // full path
	Data []byte
	ACL  []zk.ACL
	Log  *zap.Logger
}

// Place is one contender on one session, from before its node exists until it
// has left. It is used by one goroutine at a time, and never again after Leave.
type Place struct {
	line Line
	s    *session.Session
	guid string

	create    *session.Pending[string] // a create whose call has not returned
	unsettled bool                     // a create returned without saying what became of it, and no search has since
	doubted   bool                     // a create was ever unsettled: leave by GUID too

	node   Name
	path   string // "" while no node is known to be ours
	proven bool   // the newest thing we did, the create, was a quorum proof of path

	since   uint64 // the connection that stood when our node was known: later ones know it
	own     *session.Watch
	ownConn uint64 // the connection that own was armed on; 0: it has fired
	czxid   int64

	told string // the predecessor that Events.Waiting was told last
	gone string // the predecessor that the last list showed and a read did not

	ages     map[string]int64    // Czxid by child, of the newest list
	twins    map[string]bool     // children with our GUID, and whether our session owns them
	reported map[string]struct{} // strangers
}

// Join makes a place with a fresh GUID. Nothing has been sent yet.
func (l Line) Join(s *session.Session) *Place {
	return &Place{line: l, s: s, guid: newGUID()}
}

// Session is the only session this place ever has.
func (p *Place) Session() *session.Session { return p.s }

// Path is the full path of our node, "" while none is known.
func (p *Place) Path() string { return p.path }

// Czxid is our node's, once Await has returned nil.
func (p *Place) Czxid() int64 { return p.czxid }

func (p *Place) is(path string) bool {
	child, ok := p.line.childOf(path)
	if !ok {
		return false
	}
	n := Parse(child)
	if n.Kind != Contender || !carries(child, p.guid) {
		return false
	}
	p.node, p.path = n, path
	return true
}

// childOf is the name of a child given by its full path.
func (l Line) childOf(path string) (string, bool) {
	n := len(l.Dir)
	if len(path) <= n+1 || path[:n] != l.Dir || path[n] != '/' {
		return "", false
	}
	return path[n+1:], true
}

func (l Line) pathOf(child string) string { return l.Dir + "/" + child }

// acl is the caller's own copy: the client library keeps what it is given for
// as long as a request waits.
func (l Line) acl() []zk.ACL { return slices.Clone(l.ACL) }

// Data is what a node carries in place of its client's identity.
type Data struct{ Bytes []byte }

// Held is the node behind a hold.
type Held struct {
	Session *session.Session
	Node    string // full path
}

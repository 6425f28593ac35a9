package zktest

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// Direction is a way that bytes go on a client's connection.
type Direction uint8

const (
	// ToServer is what the client sends.
	ToServer Direction = 1 << iota
	// ToClient is what the client is sent.
	ToClient
	// BothWays is both.
	BothWays = ToServer | ToClient
)

func (d Direction) String() string {
	switch d {
	case ToServer:
		return "to server"
	case ToClient:
		return "to client"
	case BothWays:
		return "both ways"
	}
	return fmt.Sprintf("direction(%d)", uint8(d))
}

// Faults breaks the connections between clients and a server, and counts what
// goes over them. A Server has it built in; a Proxy puts the same code in front
// of any ZooKeeper.
//
// Its own methods, which come from Target, break every connection. For and From
// choose one client. A fault takes effect for what passes afterwards: a frame
// that was past this layer when the method was called is not called back, and
// its answer is what the fault can still stop.
type Faults struct {
	Target

	epoch time.Time

	// mu guards everything below. It is never held while a hook runs or a
	// connection is read, written or closed.
	mu      sync.Mutex
	changed chan struct{} // closed and replaced whenever a freeze may have ended
	taps    []*tap        // in the order they were accepted
	taken   int           // connections ever accepted
	modes   map[selector]*mode
	rules   []*rule // in the order they were made
	hooks   []*hook
	log     ledger
	infers  bool // learns the ends of sessions from what clients are told

	followers []*follower
	untold    []Entry // noted for them
	telling   bool
	seen      map[int64]credentials

	// thief creates, from a session of its own, what a stolen create asked for.
	thief func(create []byte) error
}

// credentials are what it takes to speak as a session.
type credentials struct {
	password []byte
	timeout  time.Duration
}

// mode is what holds for a target until it is taken back.
type mode struct {
	refuse, blackhole, half, ahead bool
	frozen                         Direction
}

// rule is a fault that waits for a request.
type rule struct {
	sel  selector
	kind ruleKind
	op   Op
	code Code // of failReply
	left int  // times it still applies; below 0: always
	met  bool
}

type ruleKind uint8

const (
	dropRequest ruleKind = iota
	dropReply
	steal
	newSession
	failReply
)

func newFaults() *Faults {
	f := &Faults{
		epoch:   time.Now(),
		changed: make(chan struct{}),
		modes:   map[selector]*mode{},
		seen:    map[int64]credentials{},
	}
	f.log.counts, f.log.short = map[countKey]int{}, map[int64]int{}
	f.Target = Target{f: f}
	return f
}

// selector says which connections a Target means: all of them if it is zero.
type selector struct {
	session int64
	host    string
}

func (s selector) matches(host string, session int64) bool {
	return (s.session == 0 || s.session == session) && (s.host == "" || s.host == host)
}

// modesOf calls see with each mode that holds for t. f.mu is held.
func (f *Faults) modesOf(t *tap, see func(*mode)) {
	if len(f.modes) == 0 {
		return
	}
	keys := [...]selector{{}, {host: t.host}, {session: t.session}}
	for i, k := range keys {
		if m := f.modes[k]; m != nil && (i == 0 || k != selector{}) {
			see(m)
		}
	}
}

func (f *Faults) holds(t *tap, what func(*mode) bool) (yes bool) {
	f.modesOf(t, func(m *mode) { yes = yes || what(m) })
	return yes
}

// applies takes one use of the first rule of a kind that matches. f.mu is held.
func (f *Faults) applies(t *tap, kind ruleKind, op Op) bool { return f.take(t, kind, op) != nil }

func (f *Faults) take(t *tap, kind ruleKind, op Op) *rule {
	for i, r := range f.rules {
		if r.kind != kind || !r.sel.matches(t.host, t.session) || !covers(r.op, op) {
			continue
		}
		r.met = true
		if r.left > 0 {
			if r.left--; r.left == 0 {
				f.rules = slices.Delete(f.rules, i, i+1)
			}
		}
		return r
	}
	return nil
}

// announce wakes whoever waits for the end of a freeze. f.mu is held; the
// channel it returns is to be closed once it is not.
func (f *Faults) announce() chan struct{} {
	old := f.changed
	f.changed = make(chan struct{})
	return old
}

// credentialsOf returns what the handshakes seen so far say about a session.
func (f *Faults) credentialsOf(session int64) (credentials, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c, ok := f.seen[session]
	return c, ok
}

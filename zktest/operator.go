package zktest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zkfence/zkfence/internal/wire"
)

// ErrNoNode is returned for a path at which there is no znode.
var ErrNoNode = errors.New("zktest: no such znode")

func noNode(doing, path string) error {
	if !validPath(path) {
		return fmt.Errorf("%s %q: %w: not a valid path", doing, path, ErrNoNode)
	}
	return fmt.Errorf("%s %q: %w", doing, path, ErrNoNode)
}

// ErrNotServing is returned by what has to change something on a server that is
// closed, or on one of an ensemble that has no leader, or loses it meanwhile: then
// what was asked for may have happened, or may happen yet.
var ErrNotServing = errors.New("zktest: the server is not serving requests")

// ErrNoSession is returned for a session that does not exist, or no longer.
var ErrNoSession = errors.New("zktest: no such session")

// SessionInfo describes a session.
type SessionInfo struct {
	ID         int64
	Timeout    time.Duration // as last negotiated
	Connected  bool
	Ephemerals []string // paths, sorted
}

// Sessions returns all sessions, in the order of their ids.
func (s *Server) Sessions() []SessionInfo {
	s.mu.Lock()
	defer s.unlock()
	out := make([]SessionInfo, 0, len(s.sessions))
	for id, sess := range s.sessions {
		info := SessionInfo{ID: id, Timeout: sess.timeout, Connected: s.attached[id] != nil, Ephemerals: s.tree.ephemeralsOf(id)}
		if t := s.tracker[id]; t != nil {
			info.Timeout = t.timeout
		}
		out = append(out, info)
	}
	slices.SortFunc(out, func(a, b SessionInfo) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// Expire ends a session as if its timeout had passed: its ephemerals go under
// one zxid, its connection is closed, and its client learns the reason when it
// connects again. It returns ErrNoSession if there is none by that id.
func (s *Server) Expire(id int64) error {
	return s.command(func(leader *Server) error {
		if t := leader.tracker[id]; t == nil || t.closing {
			return fmt.Errorf("expire %#x: %w", uint64(id), ErrNoSession)
		}
		s.acted("Expire", Request{Session: id}, "")
		leader.expire(id)
		return nil
	})
}

// ExpireAll ends every session, in the order of their ids.
func (s *Server) ExpireAll() {
	for _, info := range s.Sessions() {
		// One that has ended meanwhile needs no second end.
		_ = s.Expire(info.ID)
	}
}

// Wipe makes the server an empty one whose zxids start again, and closes every
// connection: an ensemble rebuilt without its data. Clients that have seen a
// higher zxid are then refused without a word. Of an ensemble it wipes every
// server. A closed server keeps what it has.
func (s *Server) Wipe() {
	s.mu.Lock()
	defer s.unlock()
	if s.closed {
		return
	}
	s.acted("Wipe", Request{}, "")
	if s.member != nil {
		s.member.e.wipe()
		return
	}
	for _, c := range s.sortedConns() {
		s.close(c)
	}
	s.reset()
}

func (s *Server) sortedConns() []*conn {
	out := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		out = append(out, c)
	}
	return sortConns(out)
}

// Create makes a persistent znode as an operator would, past every ACL and
// fault, and the parents it lacks. It does nothing if there is one already.
func (s *Server) Create(path string, data []byte) error {
	if !validPath(path) {
		return fmt.Errorf("zktest: create %q: not a valid path", path)
	}
	return s.command(func(leader *Server) error {
		s.acted("Create", Request{Path: path}, "")
		return leader.createAll(path, bytes.Clone(data))
	})
}

func (s *Server) createAll(path string, data []byte) error {
	for i := 1; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' {
			continue
		}
		r := createRequest{path: path[:i], ttl: -1, acl: []acl{{permAll, id{"world", "anyone"}}}}
		if i == len(path) {
			r.data = data
		}
		if s.ahead.tree.nodes[r.path] != nil {
			continue
		}
		if code := s.createAs(operator, OpCreate, r); code != wire.OK {
			return fmt.Errorf("zktest: create %q: %s", r.path, code)
		}
	}
	return nil
}

// Set replaces a znode's data as an operator would, whatever its version and its
// ACL: the version goes up and watches fire. It returns ErrNoNode if there is no
// such znode.
func (s *Server) Set(path string, data []byte) error {
	data = bytes.Clone(data)
	return s.command(func(leader *Server) error {
		if leader.ahead.tree.nodes[path] == nil || path == "" {
			return noNode("set", path)
		}
		j := &judge{tree: leader.ahead.tree}
		c, code := j.setData(setDataRequest{path: path, data: data, version: -1}, operator)
		if code != wire.OK {
			return fmt.Errorf("zktest: set %q: %s", path, code)
		}
		s.acted("Set", Request{Path: path}, "")
		leader.commit(&txn{op: OpSetData, changes: []change{c}}, nil)
		return nil
	})
}

// createAs commits a create that no connection asks for.
func (s *Server) createAs(who author, op Op, r createRequest) Code {
	j := &judge{tree: s.ahead.tree}
	c, code := j.create(op, r, who)
	t := txn{op: op, session: who.session, code: code}
	if code == wire.OK {
		t.changes = []change{c}
	}
	s.commit(&t, nil)
	return code
}

// operator may do everything.
var operator = author{ids: []id{{scheme: "super"}}}

// Delete deletes a znode and all below it, children first and each under its
// own zxid, as an operator would: watches fire, ACLs do not count. It returns
// ErrNoNode if there is none.
func (s *Server) Delete(path string) error {
	return s.command(func(leader *Server) error {
		if leader.ahead.tree.node(path) == nil {
			return noNode("delete", path)
		}
		if special(path) {
			return fmt.Errorf("zktest: delete %q: it belongs to the server", path)
		}
		s.acted("Delete", Request{Path: path}, "")
		leader.deleteAll(path)
		return nil
	})
}

func (s *Server) deleteAll(path string) {
	for _, name := range s.ahead.tree.nodes[path].children.list() {
		s.deleteAll(path + "/" + name)
	}
	s.commit(&txn{op: OpDelete, changes: []change{{op: OpDelete, path: path}}}, nil)
}

// Exists reports whether there is a znode at path.
func (s *Server) Exists(path string) bool {
	s.mu.Lock()
	defer s.unlock()
	return s.tree.node(path) != nil
}

// Get returns a znode's data and Stat, or ErrNoNode.
func (s *Server) Get(path string) ([]byte, Stat, error) {
	s.mu.Lock()
	defer s.unlock()
	n := s.tree.node(path)
	if n == nil {
		return nil, Stat{}, noNode("get", path)
	}
	return bytes.Clone(n.data), n.stat(), nil
}

// Children returns the names of a znode's children, sorted; none if there is no
// such znode.
func (s *Server) Children(path string) []string {
	s.mu.Lock()
	defer s.unlock()
	n := s.tree.node(path)
	if n == nil {
		return nil
	}
	return n.children.list()
}

// Watches returns how many watches are set, on data and on children, each
// counted once for every connection that has it.
func (s *Server) Watches() int {
	s.mu.Lock()
	defer s.unlock()
	return s.dataWatches.count() + s.childWatches.count()
}

// Zxid returns the last zxid that the server has taken.
func (s *Server) Zxid() int64 {
	s.mu.Lock()
	defer s.unlock()
	return s.zxid
}

// SetSequence makes next the number that the next sequential child of path
// gets, in place of counting up to it; its Stat's Cversion changes with it. A
// negative number is what requests in flight can see at the end of the range.
// It returns ErrNoNode if there is no such znode.
func (s *Server) SetSequence(path string, next int32) error {
	return s.command(func(leader *Server) error {
		n := leader.ahead.tree.node(path)
		if n == nil {
			return noNode("set sequence of", path)
		}
		s.acted("SetSequence", Request{Path: path}, fmt.Sprint(next))
		c := change{op: opSetSequence, path: path, counter: next}
		if leader.member == nil {
			leader.tree.setSequence(c)
			return nil
		}
		leader.commit(&txn{op: opSetSequence, changes: []change{c}}, nil)
		return nil
	})
}

// steal creates from a session of its own what a client wanted to create.
func (s *Server) steal(create []byte) error {
	create = bytes.Clone(create)
	return s.command(func(leader *Server) error { return leader.createAsThief(create) })
}

// createAsThief carries out the create in a request's payload from a session
// that no client has. s.mu is held.
func (s *Server) createAsThief(payload []byte) error {
	h, err := wire.ParseRequestHeader(payload)
	if err != nil {
		return err
	}
	if s.ahead.sessions[s.thiefID] == nil {
		s.thiefID = s.newSession(s.maxTimeout, true)
	}
	d := wire.NewDecoder(payload[wire.RequestHeaderLen:])
	r := decodeCreate(h.Op, d)
	if d.Err() != nil {
		return d.Err()
	}
	// Whom the client's acl names, the thief may not be.
	r.acl = []acl{{permAll, id{"world", "anyone"}}}
	who := operator
	who.session = s.thiefID
	if code := s.createAs(who, h.Op, r); code != wire.OK {
		return fmt.Errorf("zktest: steal: %s", code)
	}
	return nil
}

package session

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"
)

// watchKind says what a watch waits for.
type watchKind uint8

const (
	nodeWatch     watchKind = iota // the end of a node, or a change of its data
	childrenWatch                  // a change among a node's children, or its end
	birthWatch                     // a node that is not there
)

type watchKey struct {
	kind watchKind
	path string
}

// errBorn is the answer to a birthWatch on a node that is there.
var errBorn = errors.New("zkconn: watch for a birth: the node exists")

// watchEntry is this session's watch of one kind on one node. A zk.Conn cannot
// take a watch back and remembers every request for one, so all who ever wait on
// a node share a single entry; it goes when its event comes.
type watchEntry struct {
	arming chan struct{} // closed when the request under way is answered; nil when none is
	err    error         // its answer
	conn   uint64        // the connection that the newest answer came on
	seen   sight

	fired   chan struct{}
	deleted bool // written before fired is closed
}

// sight is what the request that armed a watch was answered with.
type sight struct {
	stat     zk.Stat
	data     []byte   // of a nodeWatch; nil where it may not be read
	children []string // of a childrenWatch
}

// Watch is one waiter's view of a watch. What it shows was read in arming, by
// whoever asked first, and is shared: read only. While the watch has not fired
// nothing of it has changed.
type Watch struct {
	entry *watchEntry
	seen  sight
}

// Stat is the node's as of arming; Czxid and EphemeralOwner never change.
func (w *Watch) Stat() zk.Stat { return w.seen.stat }

// Data is the node's as of arming, nil where it may not be read.
func (w *Watch) Data() []byte { return w.seen.data }

// Children are the node's as of arming, of WatchChildren.
func (w *Watch) Children() []string { return w.seen.children }

// Fired is closed when what the watch waits for has happened, if that is told
// on the connection on which the watch was armed. Whoever waits for it looks
// again on each new connection.
func (w *Watch) Fired() <-chan struct{} { return w.entry.fired }

// Deleted says, after Fired, that the node is gone; else its data changed, and
// whoever still cares arms again.
func (w *Watch) Deleted() bool { return w.entry.deleted }

// Watch arms, or joins, this session's watch on node: for its end or a change of
// its data. zk.ErrNoNode says that it is not there, and then nothing is left
// behind.
func (s *Session) Watch(ctx context.Context, node string) (*Watch, error) {
	return s.watch(ctx, watchKey{nodeWatch, node})
}

// WatchChildren does so for a change among node's children, or its end.
func (s *Session) WatchChildren(ctx context.Context, node string) (*Watch, error) {
	return s.watch(ctx, watchKey{childrenWatch, node})
}

// WatchBirth does so for a node that is not there. If it is, the Watch is nil,
// without an error.
func (s *Session) WatchBirth(ctx context.Context, node string) (*Watch, error) {
	w, err := s.watch(ctx, watchKey{birthWatch, node})
	if errors.Is(err, errBorn) {
		return nil, nil
	}
	return w, err
}

// watch arms or joins. An entry that was armed on an earlier connection is armed
// again: the zk.Conn has been made to forget it.
func (s *Session) watch(ctx context.Context, key watchKey) (*Watch, error) {
	for {
		if err := s.ready(ctx); err != nil {
			return nil, err
		}
		s.mu.Lock()
		e := s.watches[key]
		if e == nil {
			e = &watchEntry{fired: make(chan struct{})}
			s.watches[key] = e
		}
		if e.arming == nil && e.conn == s.conns && e.conn > 0 {
			w := &Watch{entry: e, seen: e.seen}
			s.mu.Unlock()
			return w, nil
		}
		begin := e.arming == nil
		if begin {
			e.arming = make(chan struct{})
		}
		arming, conn := e.arming, s.conns
		s.mu.Unlock()
		if begin {
			s.arm(key, e, conn)
		}
		select {
		case <-arming:
		case <-ctx.Done():
			return nil, Ended(ctx)
		case <-s.fused:
			return nil, s.Err()
		}
		s.mu.Lock()
		w, err, armedOn := &Watch{entry: e, seen: e.seen}, e.err, e.conn
		s.mu.Unlock()
		if err == nil && armedOn < conn {
			// Joined what was asked on an earlier connection and came in late: the
			// zk.Conn has forgotten that watch, and no reconnect is ahead to wake us.
			continue
		}
		if err == nil {
			return w, nil
		}
		if OutcomeOf(err) == OutcomeRefused || errors.Is(err, errBorn) || begin {
			return nil, err
		}
	}
}

// arm runs to its end even if the caller who began it turns away: others may
// have joined.
func (s *Session) arm(key watchKey, e *watchEntry, conn uint64) {
	p := Start(s, func(c *zk.Conn) (sight, error) {
		seen, err := key.request(c)
		s.watchArmed(key, e, conn, seen, err)
		return seen, err
	})
	select {
	case <-p.Done():
		if _, err := p.Result(); errors.Is(err, ErrClosed) {
			s.watchArmed(key, e, conn, sight{}, err) // op was never run
		}
	default:
	}
}

// request asks for a watch of the key's kind.
func (k watchKey) request(c *zk.Conn) (seen sight, err error) {
	var stat *zk.Stat
	switch k.kind {
	case childrenWatch:
		seen.children, stat, _, err = c.ChildrenW(k.path)
	case birthWatch:
		var found bool
		if found, stat, _, err = c.ExistsW(k.path); err == nil && found {
			// It leaves a watch on the node's data behind, which fires once, for nobody,
			// and at the latest when the node goes: before the next birth is waited for.
			err = errBorn
		}
	default:
		seen.data, stat, _, err = c.GetW(k.path)
		if errors.Is(err, zk.ErrNoAuth) {
			// exists needs no right to read, but leaves a watch for a birth that
			// never comes if the node is gone.
			var found bool
			found, stat, _, err = c.ExistsW(k.path)
			if err == nil && !found {
				err = zk.ErrNoNode
			}
		}
	}
	if err != nil {
		return sight{}, err
	}
	seen.stat = *stat
	return seen, nil
}

func (s *Session) watchArmed(key watchKey, e *watchEntry, conn uint64, seen sight, err error) {
	s.mu.Lock()
	if e.arming == nil {
		s.mu.Unlock()
		return
	}
	arming := e.arming
	e.arming, e.err = nil, err
	if err == nil {
		e.conn, e.seen = conn, seen
	}
	gone := errors.Is(err, zk.ErrNoNode)
	// An entry of an earlier connection has waiters, and either answer is what
	// they wait for.
	fire := (gone || errors.Is(err, errBorn)) && s.forget(key, e)
	if !fire && err != nil && e.conn == 0 {
		s.forget(key, e) // never armed: nobody waits on it
	}
	if fire {
		e.deleted = gone
	}
	s.mu.Unlock()
	if fire {
		close(e.fired)
	}
	close(arming)
}

// forget takes e out of the table; false if it was out already.
func (s *Session) forget(key watchKey, e *watchEntry) bool {
	if s.watches[key] != e {
		return false
	}
	delete(s.watches, key)
	return true
}

// ended are the kinds of watches that an event ends.
func ended(t zk.EventType) []watchKind {
	switch t {
	case zk.EventNodeDeleted:
		return []watchKind{nodeWatch, childrenWatch}
	case zk.EventNodeDataChanged:
		return []watchKind{nodeWatch}
	case zk.EventNodeChildrenChanged:
		return []watchKind{childrenWatch}
	case zk.EventNodeCreated:
		return []watchKind{birthWatch}
	}
	return nil
}

// event is the zk.Conn's event callback. It runs on the connection's goroutine
// and must not block.
func (s *Session) event(ev zk.Event) {
	if ev.State == unwatched {
		return
	}
	for _, kind := range ended(ev.Type) {
		s.fire(watchKey{kind, ev.Path}, ev.Type == zk.EventNodeDeleted)
	}
}

func (s *Session) fire(key watchKey, deleted bool) {
	s.mu.Lock()
	e := s.watches[key]
	fire := e != nil && s.forget(key, e)
	if fire {
		e.deleted = deleted
	}
	s.mu.Unlock()
	if fire {
		close(e.fired)
	}
}

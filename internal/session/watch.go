package session

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"
)

// watchEntry is this session's data watch on one node. A zk.Conn cannot take a
// watch back and remembers every request for one, so all who ever wait on a
// node share a single entry; it goes when its event comes.
type watchEntry struct {
	arming chan struct{} // closed when the request under way is answered; nil when none is
	err    error         // its answer
	conn   uint64        // the connection that the newest answer came on
	stat   zk.Stat

	fired   chan struct{}
	deleted bool // written before fired is closed
}

// Watch is one waiter's view of a watch.
type Watch struct {
	entry *watchEntry
	stat  zk.Stat
}

// Stat is the node's as of arming; Czxid and EphemeralOwner never change.
func (w *Watch) Stat() zk.Stat { return w.stat }

// Fired is closed when the node is deleted or its data changed, if that is told
// on the connection on which the watch was armed. Whoever waits for it looks
// again on each new connection.
func (w *Watch) Fired() <-chan struct{} { return w.entry.fired }

// Deleted says, after Fired, that the node is gone; else its data changed, and
// whoever still cares arms again.
func (w *Watch) Deleted() bool { return w.entry.deleted }

// Watch arms, or joins, this session's watch on node. zk.ErrNoNode says that it
// is not there, and then nothing is left behind. An entry that was armed on an
// earlier connection is armed again: the zk.Conn has been made to forget it.
func (s *Session) Watch(ctx context.Context, node string) (*Watch, error) {
	for {
		if err := s.ready(ctx); err != nil {
			return nil, err
		}
		s.mu.Lock()
		e := s.watches[node]
		if e == nil {
			e = &watchEntry{fired: make(chan struct{})}
			s.watches[node] = e
		}
		if e.arming == nil && e.conn == s.conns && e.conn > 0 {
			w := &Watch{entry: e, stat: e.stat}
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
			s.arm(node, e, conn)
		}
		select {
		case <-arming:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-s.fused:
			return nil, s.Err()
		}
		s.mu.Lock()
		w, err, armedOn := &Watch{entry: e, stat: e.stat}, e.err, e.conn
		s.mu.Unlock()
		if err == nil && armedOn < conn {
			// Joined what was asked on an earlier connection and came in late: the
			// zk.Conn has forgotten that watch, and no reconnect is ahead to wake us.
			continue
		}
		if err == nil {
			return w, nil
		}
		if OutcomeOf(err) == OutcomeRefused || begin {
			return nil, err
		}
	}
}

// arm runs to its end even if the caller who began it turns away: others may
// have joined.
func (s *Session) arm(node string, e *watchEntry, conn uint64) {
	p := Start(s, func(c *zk.Conn) (*zk.Stat, error) {
		stat, err := getWatched(c, node)
		s.watchArmed(node, e, conn, stat, err)
		return stat, err
	})
	select {
	case <-p.Done():
		if _, err := p.Result(); errors.Is(err, ErrClosed) {
			s.watchArmed(node, e, conn, nil, err) // op was never run
		}
	default:
	}
}

// getWatched needs no right to read the node: exists asks for none, but leaves a
// watch for a birth that never comes if the node is gone.
func getWatched(c *zk.Conn, node string) (*zk.Stat, error) {
	_, stat, _, err := c.GetW(node)
	if errors.Is(err, zk.ErrNoAuth) {
		var found bool
		found, stat, _, err = c.ExistsW(node)
		if err == nil && !found {
			err = zk.ErrNoNode
		}
	}
	return stat, err
}

func (s *Session) watchArmed(node string, e *watchEntry, conn uint64, stat *zk.Stat, err error) {
	s.mu.Lock()
	if e.arming == nil {
		s.mu.Unlock()
		return
	}
	arming := e.arming
	e.arming, e.err = nil, err
	if err == nil {
		e.conn, e.stat = conn, *stat
	}
	gone := errors.Is(err, zk.ErrNoNode)
	fire := gone && s.forget(node, e)
	if !fire && err != nil && e.conn == 0 {
		s.forget(node, e) // never armed: nobody waits on it
	}
	if fire {
		e.deleted = true
	}
	s.mu.Unlock()
	if fire {
		close(e.fired)
	}
	close(arming)
}

// forget takes e out of the table; false if it was out already.
func (s *Session) forget(node string, e *watchEntry) bool {
	if s.watches[node] != e {
		return false
	}
	delete(s.watches, node)
	return true
}

// event is the zk.Conn's event callback. It runs on the connection's goroutine
// and must not block.
func (s *Session) event(ev zk.Event) {
	if ev.State == unwatched || ev.Type != zk.EventNodeDeleted && ev.Type != zk.EventNodeDataChanged {
		return
	}
	s.mu.Lock()
	e := s.watches[ev.Path]
	fire := e != nil && s.forget(ev.Path, e)
	if fire {
		e.deleted = ev.Type == zk.EventNodeDeleted
	}
	s.mu.Unlock()
	if fire {
		close(e.fired)
	}
}

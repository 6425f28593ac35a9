package session

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/zap"
)

// Session is one ensemble session on one zk.Conn. It ends once, for everybody.
type Session struct {
	client  *Client
	log     *zap.Logger
	servers *servers
	base    time.Time // instants count from here
	zk      *zk.Conn  // set before anybody else sees the Session
	events  <-chan zk.Event

	ctx    context.Context
	cancel context.CancelCauseFunc

	warnedAt instant // of the newest warning that no session stands; the dialer's only

	poke  chan struct{} // capacity 1: the monitor looks again
	first chan struct{} // closed when the first handshake is through
	gone  chan struct{} // closed when the zk.Conn has wound down
	known chan struct{} // closed when everybody here has been told of the end
	told  bool          // the ensemble knows of the end; read after gone

	// blown is the fuse. Once set, no byte of the zk.Conn leaves this process
	// and the dialer dials nobody. It is set under mu and never cleared.
	blown atomic.Bool
	fused chan struct{} // closed when blown is set

	// parked is closed when, after that, the zk.Conn has come to rest on a
	// connection that will say nothing more (see windDown).
	parked   chan struct{}
	parkOnce sync.Once

	mu       sync.Mutex // pure state below; never held across a channel operation, I/O or a callback
	id       int64
	password []byte
	timeout  time.Duration // of the newest handshake
	zxid     int64         // the last that an answer has shown
	trust    trust
	reason   Reason // why blown
	endedAt  instant

	wire    *conn   // the connection that the zk.Conn has, up or not; nil once it is gone
	up      bool    // wire is through its handshake
	upAt    instant // since when
	conns   uint64  // handshakes answered
	next    chan struct{}
	downAt  instant       // when the last connection went
	sleptAt time.Duration // asleep() when the newest answered proof was sent

	wakeAt     instant // when the monitor looks next unless it is woken
	kept       int
	armed      bool    // trusted time has been left at some moment since kept left 0
	over       bool    // found overdue when a keep ended
	keeperAt   instant // when the keeper's newest proof was asked for
	keeperBusy bool
	keeperTurn int // where in claims it begins
	claims     []*Claim

	suspicions uint64
	suspicion  chan struct{}

	watches map[watchKey]*watchEntry
	listers map[string]*lister
	lists   map[listKey]*Pending[[]string]
	debts   debts
}

func newSession(c *Client) *Session {
	s := &Session{
		client: c, log: c.cfg.Logger, base: time.Now(),
		poke: make(chan struct{}, 1), first: make(chan struct{}), fused: make(chan struct{}),
		next: make(chan struct{}), suspicion: make(chan struct{}),
		watches: make(map[watchKey]*watchEntry), listers: make(map[string]*lister), lists: make(map[listKey]*Pending[[]string]),
		gone: make(chan struct{}), known: make(chan struct{}), parked: make(chan struct{}),
	}
	s.debts.wake = make(chan struct{}, 1)
	s.servers = newServers(s, c.cfg.Servers)
	s.trust.rule = c.cfg.rule(c.cfg.Timeout)
	// Not a child of the Client's context: what ends first when both do is decided in end.
	s.ctx, s.cancel = context.WithCancelCause(context.WithoutCancel(c.ctx))
	return s
}

func (s *Session) now() instant { return time.Since(s.base) }

func (s *Session) asleep() time.Duration { return s.client.cfg.slept(s.base) }

// wakeMonitorBy wakes the monitor if it would sleep beyond at. Locks that come
// and go fast would otherwise wake it three times each, for nothing.
func (s *Session) wakeMonitorBy(at instant) {
	s.mu.Lock()
	late := s.wakeAt > at
	s.mu.Unlock()
	if late {
		s.wakeMonitor()
	}
}

func (s *Session) park() { s.parkOnce.Do(func() { close(s.parked) }) }

func (s *Session) wakeMonitor() {
	select {
	case s.poke <- struct{}{}:
	default:
	}
}

// Context ends once, when the session does; its cause is a *LostError.
func (s *Session) Context() context.Context { return s.ctx }

// ID is the session id.
func (s *Session) ID() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id
}

// Timeout is the session timeout of the newest handshake, as granted.
func (s *Session) Timeout() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.timeout
}

// Remaining is the trusted time left by the clock at the call. It is 0 or less
// once the session has ended or its trust is over, and while the machine is
// known to have slept since the newest proof.
func (s *Session) Remaining() time.Duration {
	now, slept := s.now(), s.asleep()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.remaining(now, slept)
}

func (s *Session) remaining(now instant, slept time.Duration) time.Duration {
	until, ok := s.trust.until()
	if !ok || s.reason != 0 || s.overslept(slept) {
		return 0
	}
	return until - now
}

// overslept reports whether the clocks disagree about the time since the newest
// proof by more than the margin.
func (s *Session) overslept(slept time.Duration) bool {
	d := slept - s.sleptAt
	return s.trust.proven && max(d, -d) > s.trust.marginOf(s.trust.timeout)
}

// Suspect reports, by the clock at the call, that the session is not known to
// be well: it is disconnected, or was since the newest answered proof was sent,
// or that is a quarter of the timeout ago, or the machine slept.
func (s *Session) Suspect() bool {
	now, slept := s.now(), s.asleep()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.suspect(now, slept)
}

func (s *Session) suspect(now instant, slept time.Duration) bool {
	return !s.up || !s.trust.proven || s.reconnected() ||
		now-s.trust.proof >= s.timeout/4 || s.overslept(slept)
}

// SuspectFor is for how long the session has not been known to be well, by the
// clock at the call; 0 if it is.
func (s *Session) SuspectFor() time.Duration {
	now, slept := s.now(), s.asleep()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.suspect(now, slept) {
		return 0
	}
	since := now
	if s.conns > 0 && (!s.up || s.reconnected()) {
		since = min(since, s.downAt)
	}
	if s.trust.proven {
		since = min(since, s.trust.proof+s.timeout/4)
	}
	if s.overslept(slept) {
		since = min(since, s.trust.proof)
	}
	return max(now-since, 1)
}

// reconnected reports that no proof has been answered that was sent since the
// newest disconnection.
func (s *Session) reconnected() bool { return s.conns > 1 && s.trust.proof <= s.downAt }

// Suspicion returns how often the session has turned suspect or well again
// since it began, as noticed while it is kept (odd: suspect), and a channel
// closed at the next turn. A blip that has healed has counted twice.
func (s *Session) Suspicion() (n uint64, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.suspicions, s.suspicion
}

// turn brings the suspicion count up to date; the caller closes what it
// returns, after unlocking.
func (s *Session) turn(suspect bool) (closed chan struct{}) {
	if s.kept == 0 || suspect == (s.suspicions%2 == 1) {
		return nil
	}
	s.suspicions++
	closed, s.suspicion = s.suspicion, make(chan struct{})
	return closed
}

// Connection returns the number of connections that have stood on this session,
// and a channel closed when the next one does.
func (s *Session) Connection() (n uint64, next <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns, s.next
}

// Err is nil while the session stands, else its *LostError.
func (s *Session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err()
}

func (s *Session) err() error {
	if s.reason == 0 {
		return nil
	}
	return &LostError{ID: s.id, Reason: s.reason}
}

// overdue reports that the session has already ended by its own clock, whether
// or not its monitor has run since. It does not revert: an answer that comes
// after it teaches nothing, because State and Remaining have already said that
// all is over.
func (s *Session) overdue(now instant) bool {
	if s.over || !s.up && s.conns > 0 && now-s.downAt >= s.timeout {
		return true
	}
	until, ok := s.trust.until()
	return s.kept > 0 && s.armed && ok && now >= until
}

// Ended returns why the session has ended, by the clock at the call and whether
// or not its monitor has run since; 0 while it stands. It does not revert.
func (s *Session) Ended() Reason {
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reason == 0 && s.overdue(now) {
		return TrustRanOut
	}
	return s.reason
}

// Lasting is the most trusted time that proofs can give a session that stays
// connected. Right after a handshake there can be more, once.
func (s *Session) Lasting() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.timeout
	return t - s.trust.marginOf(t) - s.trust.ripe(t)
}

// end ends the session. When it returns the fuse is blown, every claim has been
// told and the context has ended; the closeSession frame, which lets a
// successor in, is written after that by the monitor.
func (s *Session) end(why Reason) {
	s.mu.Lock()
	if s.reason != 0 {
		s.mu.Unlock()
		return
	}
	s.reason = why
	s.endedAt = s.now()
	s.blown.Store(true)
	claims := s.claims
	s.claims = nil
	err, stood := s.err(), s.id != 0
	s.mu.Unlock()

	close(s.fused)
	for _, c := range claims {
		c.tell(why)
	}
	s.cancel(err)
	close(s.known)
	s.wakeMonitor()
	if stood {
		s.log.Info("session ended", zap.Error(err))
	}
}

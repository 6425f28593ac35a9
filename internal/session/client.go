package session

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/go-zookeeper/zk"
	"go.uber.org/zap"
)

// Client outlives its sessions: one after the other, each with a zk.Conn of its
// own.
type Client struct {
	cfg    Config
	ctx    context.Context // ends when Close begins
	cancel context.CancelCauseFunc

	goroutines sync.WaitGroup
	done       chan struct{} // closed when all of them have ended after Close

	mu      sync.Mutex
	closed  bool
	current *Session
	newest  *Session      // the one opened last, whether or not it has ever stood
	changed chan struct{} // closed when current is another
	shared  map[string]*sharedThing
}

// Dial returns a Client once its first session stands.
func Dial(ctx context.Context, cfg Config) (*Client, error) {
	if err := cfg.settle(); err != nil {
		return nil, err
	}
	c := &Client{cfg: cfg, done: make(chan struct{}), changed: make(chan struct{}), shared: make(map[string]*sharedThing)}
	// The Client's life is not that of the call that made it; Close ends it.
	c.ctx, c.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	s, err := c.open(ctx)
	for errors.Is(err, ErrLost) && ctx.Err() == nil {
		s, err = c.open(ctx)
	}
	if err != nil {
		// Without ctx, which may have ended: a Dial that fails leaves nothing
		// behind, and what it waits for is bounded (see windDown).
		_ = c.Close(context.WithoutCancel(ctx)) // err says more
		return nil, err
	}
	c.publish(s)
	c.Go(func() { c.run(s) })
	return c, nil
}

// open makes one session, with as many attempts as ctx allows.
func (c *Client) open(ctx context.Context) (*Session, error) {
	s := newSession(c)
	c.mu.Lock()
	c.newest = s
	c.mu.Unlock()
	var err error
	s.zk, s.events, err = zk.Connect(c.cfg.Servers, c.cfg.Timeout,
		zk.WithDialer(s.dial), zk.WithHostProvider(s.servers), zk.WithEventCallback(s.event),
		zk.WithLogger(zkLogger{c.cfg.Logger.Sugar()}), zk.WithLogInfo(false))
	if err != nil {
		return nil, fmt.Errorf("zkconn: %w", err)
	}
	if !c.Go(s.live) {
		s.end(Closed)
		s.windDown()
		return nil, ErrClosed
	}
	if err := s.establish(ctx); err != nil {
		s.end(Closed)
		return nil, err
	}
	return s, nil
}

// establish waits for the first handshake and presents the credentials, before
// anybody can read or write anything on s. Later connections present them by
// themselves, ahead of all other requests.
func (s *Session) establish(ctx context.Context) error {
	cfg := &s.client.cfg
	select {
	case <-s.first:
	case <-s.fused:
		return s.Err()
	case <-ctx.Done():
		return fmt.Errorf("zkconn: dial: no session with any of the servers (%s): %w", s.servers.report(), context.Cause(ctx))
	}
	timeout := s.Timeout()
	if err := cfg.rule(timeout).check(timeout); err != nil {
		return fmt.Errorf("%w (the servers granted %v of the %v asked for)", err, timeout, cfg.Timeout)
	}
	for i, a := range cfg.Auth {
		if err := s.present(ctx, a); err != nil {
			return fmt.Errorf("zkconn: auth[%d] (scheme %q): %w", i, a.Scheme, err)
		}
	}
	return nil
}

// present adds credentials to the zk.Conn. A connection that breaks meanwhile
// leaves them unknown to it, so it is tried again on the next one.
func (s *Session) present(ctx context.Context, a Auth) error {
	for {
		_, err := Call(ctx, s, func(c *zk.Conn) (struct{}, error) {
			return struct{}{}, c.AddAuth(a.Scheme, a.Auth)
		})
		if err == nil || errors.Is(err, zk.ErrAuthFailed) || ctx.Err() != nil || s.Err() != nil {
			return err
		}
		pause(ctx, s.Timeout()/64)
	}
}

// run replaces the session whenever it ends, until Close.
func (c *Client) run(s *Session) {
	for {
		<-s.fused
		next := c.reopen()
		if next == nil {
			return
		}
		c.publish(next)
		s = next
	}
}

// reopen tries until it has a session; nil once the Client is being closed.
func (c *Client) reopen() *Session {
	// Close sets closed before it ends the session, which is what brings us here,
	// and ends ctx only after that.
	for try := 0; !c.closing(); try++ {
		s, err := c.open(c.ctx)
		if err == nil {
			return s
		}
		if c.ctx.Err() == nil {
			c.cfg.Logger.Warn("no new session yet", zap.Error(err))
		}
		pause(c.ctx, Jitter(min(c.cfg.Timeout/16<<min(try, 4), c.cfg.Timeout)))
	}
	return nil
}

func (c *Client) closing() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

func (c *Client) publish(s *Session) {
	c.mu.Lock()
	changed := c.changed
	c.current, c.changed = s, make(chan struct{})
	closed := c.closed
	c.mu.Unlock()
	close(changed)
	if closed {
		s.end(Closed)
	}
}

// Session returns the current session, waiting for one. The error is ErrClosed,
// or it wraps ctx's cause and says what became of the servers.
func (c *Client) Session(ctx context.Context) (*Session, error) {
	for {
		c.mu.Lock()
		s, newest, changed, closed := c.current, c.newest, c.changed, c.closed
		c.mu.Unlock()
		if closed {
			return nil, ErrClosed
		}
		stands := s != nil && s.Err() == nil
		switch {
		case ctx.Err() != nil && stands:
			return nil, fmt.Errorf("zkconn: session: %w", context.Cause(ctx))
		case ctx.Err() != nil:
			return nil, fmt.Errorf("zkconn: session: no session (%s): %w", newest.servers.report(), context.Cause(ctx))
		case stands:
			return s, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
		case <-c.ctx.Done():
		}
	}
}

// Go runs fn on a goroutine that Close waits for, never user code; false, and
// fn is not run, once Close has begun.
func (c *Client) Go(fn func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.start(fn)
	return true
}

// start is Go for whoever holds mu and has seen that Close has not begun.
func (c *Client) start(fn func()) {
	c.goroutines.Add(1)
	go func() {
		defer c.goroutines.Done()
		fn()
	}()
}

// Closing is closed when Close begins.
func (c *Client) Closing() <-chan struct{} { return c.ctx.Done() }

// Identity is what a node of this Client says about its owner.
func (c *Client) Identity() string { return c.cfg.Identity }

// Root is prefixed to every path; "" or an absolute path.
func (c *Client) Root() string { return c.cfg.Root }

// ACL is what nodes are created with.
func (c *Client) ACL() []zk.ACL { return c.cfg.ACL }

// Logger is never nil.
func (c *Client) Logger() *zap.Logger { return c.cfg.Logger }

// Close ends the session, and with it every hold and wait, and waits for the
// library's goroutines and for ctx. The error says that the ensemble could not
// be told, or that ctx ended first. A repeated Close waits again, and returns nil
// once all has ended.
func (c *Client) Close(ctx context.Context) error {
	c.mu.Lock()
	again := c.closed
	c.closed = true
	s := c.current
	c.mu.Unlock()
	if !again {
		if s != nil {
			s.end(Closed)
		}
		c.cancel(ErrClosed)
		go func() { // ends when the last of them does
			c.goroutines.Wait()
			close(c.done)
		}()
	}
	select {
	case <-c.done:
	case <-ctx.Done():
		select {
		case <-c.done:
		default:
			return fmt.Errorf("zkconn: close: still winding down: %w", context.Cause(ctx))
		}
	}
	if again || s == nil || s.told || s.now()-s.endedAt >= s.Timeout() {
		return nil
	}
	return fmt.Errorf("zkconn: close: no server could be told: the ephemerals of session 0x%x live until its timeout of %v is over", uint64(s.ID()), s.Timeout())
}

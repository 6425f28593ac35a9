package zkconn

import (
	"context"
	"fmt"
	"time"

	"github.com/zkfence/zkfence/internal/session"
)

var (
	// ErrSessionLost matches the cause of an ended session's context and the
	// error of every call on it. What a call on a lost session did is unknown
	// unless it had returned.
	ErrSessionLost = session.ErrLost
	// ErrClosed matches the errors that a Client's Close brought about.
	ErrClosed = session.ErrClosed
)

// Client is a process's connection to one ensemble. It outlives sessions: when
// one is lost the next is opened in the background, with growing pauses, until
// Close. It is safe for concurrent use. The zero Client cannot be used: Dial
// returns one that can.
type Client struct{ c *session.Client }

// Dial returns a Client once a first session stands. servers are host:port
// pairs, tried in random order; a missing port is 2181, and names are resolved
// anew at each attempt.
//
// ctx bounds Dial alone, not the Client. When it ends first, the error names
// each server with what became of it and wraps ctx's cause; no goroutine and no
// connection is left behind. Bad input (no servers, a timeout that leaves no
// trusted time, …) and refused credentials (zk.ErrAuthFailed) end Dial at once.
func Dial(ctx context.Context, servers []string, opts ...Option) (*Client, error) {
	cfg := session.Config{Servers: servers}
	for i, o := range opts {
		if o == nil {
			return nil, fmt.Errorf("zkconn: option %d = nil", i)
		}
		if err := o(&cfg); err != nil {
			return nil, err
		}
	}
	c, err := session.Dial(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return &Client{c: c}, nil
}

// Session returns the current session, waiting for one. The error is ErrClosed
// after Close; else it wraps ctx's cause and, where no session stands, names each
// server with what became of it.
func (c *Client) Session(ctx context.Context) (*Session, error) {
	s, err := c.c.Session(ctx)
	if err != nil {
		return nil, err
	}
	return &Session{s: s}, nil
}

// Close ends the session and with it every hold, and fails every wait with
// ErrClosed. The server frees the session's nodes at once. Close waits for the
// library's goroutines and for ctx, never for user code, so that it may be
// called inside a callback. The error says that no server could be told (the
// nodes then live until the session timeout is over) or that ctx ended first.
// Close again waits again, and returns nil once everything has ended.
func (c *Client) Close(ctx context.Context) error { return c.c.Close(ctx) }

// Internal is for this module's own packages: nobody else can name its type.
func (c *Client) Internal() *session.Client { return c.c }

// Session is one ensemble session. It ends once and is never revived. The zero
// Session cannot be used: Client.Session returns one that can.
type Session struct{ s *session.Session }

// Context ends once, when the session has been lost, with a cause matching
// ErrSessionLost. It may lag by scheduling; Remaining does not. That it has not
// ended is no permission to write: fence what you write.
func (s *Session) Context() context.Context { return s.s.Context() }

// Keep makes the session prove itself to the ensemble eight times per timeout.
// While it is kept (every hold keeps), Context ends before the ensemble can give
// this session's ephemerals away, on the assumption that this process runs. On a
// session that has rested the promise holds once Remaining is above 0. release
// may be called more than once.
func (s *Session) Keep() (release func()) { return s.s.Keep() }

// ID is the session id.
func (s *Session) ID() int64 { return s.s.ID() }

// Timeout is the session timeout that the servers granted, not the one asked
// for. It is negotiated again at each reconnect.
func (s *Session) Timeout() time.Duration { return s.s.Timeout() }

// Remaining is the trusted time left by the clock at the call: how long the
// ensemble is certain not to give this session's ephemerals away. It is 0 or
// less when that is over, while the machine is known to have slept, and on a
// session that has rested unkept.
func (s *Session) Remaining() time.Duration { return s.s.Remaining() }

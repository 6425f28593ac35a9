package zkconn

import (
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/zap"

	"github.com/zkfence/zkfence/internal/session"
)

// Option sets up a Client. Dial checks all of them together and its error names
// the field and the values.
type Option func(*session.Config) error

func above0(field string, d time.Duration) error {
	if d <= 0 {
		return fmt.Errorf("zkconn: %s = %v: must be above 0", field, d)
	}
	return nil
}

// WithSessionTimeout asks for a session timeout; servers grant what lies between
// their limits, by default 2 and 20 of their ticks. A short one hands over
// sooner after a crash; a long one survives more: with the leader silently lost
// a hold survives only if the timeout is above about 1.6 × syncLimit × tick (16 s
// at ZooKeeper's defaults).
//
// Defaults to 15 s.
func WithSessionTimeout(d time.Duration) Option {
	return func(c *session.Config) error { c.Timeout = d; return above0("session timeout", d) }
}

// WithSafetyMargin sets what is taken off trusted time for clocks that run at
// different speeds. Margin, half a tick and a third of the session timeout
// together must stay below the session timeout.
//
// Defaults to a twentieth of the session timeout.
func WithSafetyMargin(d time.Duration) Option {
	return func(c *session.Config) error { c.Margin = d; return above0("safety margin", d) }
}

// WithServerTick says what tickTime the servers run with. It must be at least
// theirs, or a hold may be trusted for longer than it lasts; the smaller it is,
// the more of the session timeout can be trusted.
//
// Defaults to 2 s, ZooKeeper's own default, or half the session timeout where
// that is less.
func WithServerTick(d time.Duration) Option {
	return func(c *session.Config) error { c.Tick = d; return above0("server tick", d) }
}

// WithLogger has the Client log: sessions lost at info, what delays a new one at
// warn (that no server answers: once per session timeout), connections and the
// zk.Conn's own lines at debug.
//
// Defaults to no log.
func WithLogger(l *zap.Logger) Option {
	return func(c *session.Config) error {
		if l == nil {
			return errors.New("zkconn: logger = nil: leave the option out for no log")
		}
		c.Logger = l
		return nil
	}
}

// WithIdentity sets what this process's nodes say about their owner: UTF-8 of at
// most 256 bytes without control characters.
//
// Defaults to host name and process id.
func WithIdentity(identity string) Option {
	return func(c *session.Config) error { c.Identity = identity; return nil }
}

// WithRoot prefixes every path of the recipes with an absolute path.
//
// Defaults to no prefix.
func WithRoot(path string) Option {
	return func(c *session.Config) error {
		c.Root = path
		if err := session.CheckPath("root", path); err != nil {
			return fmt.Errorf("zkconn: %w", err)
		}
		return nil
	}
}

// WithACL sets the ACL of every node that the recipes create. It should let the
// creator itself read and delete. Scheme "auth" stands for the credentials of
// WithAuth or of a TLS certificate, and is refused with neither option.
//
// Defaults to world:anyone, or to the creator alone when WithAuth is given.
func WithACL(acl []zk.ACL) Option {
	return func(c *session.Config) error {
		c.ACL = append([]zk.ACL{}, acl...)
		return nil
	}
}

// WithAuth adds credentials, for instance ("digest", []byte("user:password")).
// They are presented on every new connection before anything else is asked. It
// may be given more than once.
//
// Defaults to none.
func WithAuth(scheme string, auth []byte) Option {
	return func(c *session.Config) error {
		c.Auth = append(c.Auth, session.Auth{Scheme: scheme, Auth: append([]byte{}, auth...)})
		return nil
	}
}

// WithDialer sets how connections are made. The dialer should heed its timeout.
//
// Defaults to TCP.
func WithDialer(d zk.Dialer) Option {
	return func(c *session.Config) error {
		if d == nil {
			return errors.New("zkconn: dialer = nil: leave the option out for TCP")
		}
		c.Dialer = d
		return nil
	}
}

// WithTLS lays TLS over what the dialer returns. An empty ServerName is filled in
// with the server's host.
//
// Defaults to no TLS.
func WithTLS(cfg *tls.Config) Option {
	return func(c *session.Config) error {
		if cfg == nil {
			return errors.New("zkconn: TLS = nil: leave the option out for a connection without TLS")
		}
		c.TLS = cfg
		return nil
	}
}

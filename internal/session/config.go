package session

import (
	"crypto/tls"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-zookeeper/zk"
	"go.uber.org/zap"
)

// Defaults.
const (
	DefaultTimeout = 15 * time.Second
	DefaultTick    = 2 * time.Second
	maxIdentity    = 256
)

// Auth is one set of credentials.
type Auth struct {
	Scheme string
	Auth   []byte
}

// Config is what Dial needs; the zero value of a field asks for its default.
type Config struct {
	Servers  []string
	Timeout  time.Duration
	Margin   time.Duration
	Tick     time.Duration
	Logger   *zap.Logger
	Identity string
	Root     string
	ACL      []zk.ACL
	Auth     []Auth
	Dialer   zk.Dialer
	TLS      *tls.Config

	slept func(base time.Time) time.Duration // how long the machine has slept; tests put their own
}

// settle checks c across its fields and fills in the defaults.
func (c *Config) settle() error {
	if len(c.Servers) == 0 {
		return fmt.Errorf("zkconn: servers: the list is empty; name at least one host:port")
	}
	servers := make([]string, len(c.Servers))
	for i, s := range c.Servers {
		hp, err := hostPort(s)
		if err != nil {
			return fmt.Errorf("zkconn: servers[%d] = %q: %w", i, s, err)
		}
		servers[i] = hp
	}
	c.Servers = servers
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Timeout < 0 {
		return fmt.Errorf("zkconn: session timeout = %v: must be above 0", c.Timeout)
	}
	if ms := c.Timeout.Milliseconds(); ms < 1 || ms > 1<<31-1 {
		return fmt.Errorf("zkconn: session timeout = %v: must be at least 1ms and fit 31 bits of milliseconds", c.Timeout)
	}
	if c.Margin < 0 {
		return fmt.Errorf("zkconn: safety margin = %v: must not be negative", c.Margin)
	}
	if c.Tick < 0 {
		return fmt.Errorf("zkconn: server tick = %v: must not be negative", c.Tick)
	}
	if c.Tick > c.Timeout/2 {
		return fmt.Errorf("zkconn: server tick = %v: must be at most half the session timeout %v (servers grant no session shorter than two ticks)", c.Tick, c.Timeout)
	}
	if err := c.rule(c.Timeout).check(c.Timeout); err != nil {
		return err
	}
	if c.ACL != nil && len(c.ACL) == 0 {
		return fmt.Errorf("zkconn: ACL = []: an empty list is refused by every server; leave it out for the default")
	}
	for i, a := range c.ACL {
		if a.Scheme == "" || a.Perms <= 0 || a.Perms > zk.PermAll {
			return fmt.Errorf("zkconn: ACL[%d] = {perms %d, scheme %q, id %q}: needs a scheme and permissions between 1 and %d", i, a.Perms, a.Scheme, a.ID, zk.PermAll)
		}
		// Under TLS the client's certificate may be credentials enough.
		if a.Scheme == "auth" && len(c.Auth) == 0 && c.TLS == nil {
			return fmt.Errorf("zkconn: ACL[%d] = {perms %d, scheme %q, id %q}: stands for the credentials of WithAuth, and there are none: servers would refuse every create", i, a.Perms, a.Scheme, a.ID)
		}
	}
	for i, a := range c.Auth {
		if a.Scheme == "" {
			return fmt.Errorf("zkconn: auth[%d]: scheme is empty", i)
		}
	}
	if c.ACL == nil {
		c.ACL = zk.WorldACL(zk.PermAll)
		if len(c.Auth) > 0 {
			c.ACL = zk.AuthACL(zk.PermAll)
		}
	}
	if c.Root != "" {
		if err := CheckPath("root", c.Root); err != nil {
			return fmt.Errorf("zkconn: %w", err)
		}
	}
	if c.Identity == "" {
		host, _ := os.Hostname()
		c.Identity = fmt.Sprintf("%s:%d", host, os.Getpid())
	}
	if len(c.Identity) > maxIdentity || !utf8.ValidString(c.Identity) {
		return fmt.Errorf("zkconn: identity = %q (%d bytes): must be UTF-8 of at most %d bytes", c.Identity, len(c.Identity), maxIdentity)
	}
	if strings.ContainsFunc(c.Identity, unicode.IsControl) {
		// Others write it into logs and on terminals.
		return fmt.Errorf("zkconn: identity = %q: must be without control characters", c.Identity)
	}
	if c.slept == nil {
		c.slept = slept
	}
	if c.Logger == nil {
		c.Logger = zap.NewNop()
	}
	return nil
}

// rule is the trust rule under a timeout, which may be smaller than the one
// asked for. An explicit tick is taken at its word; the default one gives way
// to half of a timeout that the servers were willing to grant.
func (c *Config) rule(timeout time.Duration) rule {
	r := rule{margin: c.Margin, tick: c.Tick}
	if r.tick == 0 {
		r.tick = min(DefaultTick, timeout/2)
	}
	return r
}

// check refuses settings under which a session at rest has no trusted time: the
// newest touch that a proof can vouch for may be a ping (every third of the
// timeout) that half a tick has to ripen.
func (r rule) check(timeout time.Duration) error {
	// Compared by subtraction: a margin near the largest duration would overflow a sum.
	if margin := r.marginOf(timeout); margin >= timeout-timeout/3-r.tick/2 {
		return fmt.Errorf("zkconn: safety margin %v + half the server tick %v + a third of the session timeout %v leaves no trusted time; raise the timeout or lower the others", margin, r.tick, timeout)
	}
	return nil
}

// CheckPath says whether path names a znode below the root, in an error that
// names the field. It is stricter than the server only in refusing "/".
func CheckPath(field, path string) error {
	bad := func(why string) error { return fmt.Errorf("%s = %q: %s", field, path, why) }
	switch {
	case path == "":
		return bad("is empty")
	case path[0] != '/':
		return bad("must be absolute: begin with /")
	case path == "/":
		return bad("must name a znode below the root")
	case path[len(path)-1] == '/':
		return bad("must not end with /")
	case !utf8.ValidString(path):
		return bad("is not valid UTF-8")
	}
	for _, part := range strings.Split(path[1:], "/") {
		switch part {
		case "":
			return bad("has an empty component")
		case ".", "..":
			return bad("relative components are not allowed")
		}
	}
	for _, r := range path {
		if r == 0 {
			return bad("holds a NUL")
		}
		// The ranges that PathUtils.validatePath of Apache ZooKeeper refuses; above
		// U+FFFF it sees two surrogates, which are among them.
		if r <= 0x1f || r >= 0x7f && r <= 0x9f || r >= 0xd800 && r <= 0xf8ff || r >= 0xfff0 {
			return bad(fmt.Sprintf("holds the character %U, which servers refuse", r))
		}
	}
	return nil
}

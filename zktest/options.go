package zktest

import (
	"errors"
	"fmt"
	"math"
	"net"
	"time"
)

// Option changes what New and Start make.
type Option func(*config)

type config struct {
	listener               net.Listener
	tick                   time.Duration
	minTimeout, maxTimeout time.Duration
	bounded                bool // by WithSessionTimeouts
	seed                   uint64
	legacy                 bool
	reapEvery              time.Duration

	wrong error // of an option that could not be taken

	// Of an ensemble.
	ensembleOnly                    string // an option that has no meaning elsewhere
	listeners                       []net.Listener
	syncLimit                       int
	peerDelay, applyDelay, election span
}

func defaults() config {
	return config{tick: 100 * time.Millisecond, minTimeout: 200 * time.Millisecond, maxTimeout: time.Minute,
		seed: 1, reapEvery: time.Minute,
		syncLimit:  5,
		peerDelay:  span{200 * time.Microsecond, time.Millisecond},
		applyDelay: span{0, 2 * time.Millisecond},
		election:   span{150 * time.Millisecond, 250 * time.Millisecond},
	}
}

// configured applies options to the defaults.
func configured(opts []Option) (config, error) {
	c := defaults()
	for _, o := range opts {
		if o == nil {
			return c, errors.New("zktest: an Option is nil")
		}
		o(&c)
	}
	return c, c.wrong
}

// WithListener serves on l, which may be one of a Network, in place of TCP. The
// server closes it. Defaults to a free TCP port of 127.0.0.1.
func WithListener(l net.Listener) Option {
	return func(c *config) {
		if c.listener = l; l == nil {
			c.wrong = errors.New("zktest: WithListener: the listener is nil")
		}
	}
}

// WithTick sets the unit in which sessions expire: at the first multiple of it
// after their timeout. As on a real server it bounds session timeouts too, to
// between 2 and 20 ticks, unless WithSessionTimeouts says otherwise. Defaults
// to 100 ms, without that upper bound.
func WithTick(d time.Duration) Option {
	return func(c *config) {
		c.tick = d
		if !c.bounded {
			c.minTimeout, c.maxTimeout = 2*d, 20*d
		}
	}
}

// WithSessionTimeouts bounds what clients can negotiate. Defaults to 200 ms and
// one minute.
func WithSessionTimeouts(min, max time.Duration) Option {
	return func(c *config) { c.minTimeout, c.maxTimeout, c.bounded = min, max, true }
}

// WithSeed sets where session ids and passwords come from. Servers at different
// addresses make different ones from one seed. Defaults to 1.
func WithSeed(seed uint64) Option { return func(c *config) { c.seed = seed } }

// WithLegacySequence makes sequence numbers wrap from 2147483647 to -2147483648
// as up to ZooKeeper 3.5. Defaults to the behaviour since 3.6: they stick at
// 2147483647.
func WithLegacySequence() Option { return func(c *config) { c.legacy = true } }

// WithContainerInterval sets how often the server looks for containers that have
// lost their last child and for nodes past their TTL, to delete them; 0 leaves
// that to ReapContainers. Defaults to one minute.
func WithContainerInterval(d time.Duration) Option { return func(c *config) { c.reapEvery = d } }

// longestTimeout is the longest session timeout that a handshake can tell.
const longestTimeout = math.MaxInt32 * time.Millisecond

func (c *config) check() error {
	switch {
	case c.tick < time.Millisecond || c.tick > longest:
		return fmt.Errorf("zktest: tick %s: must be at least 1ms and less than a century", c.tick)
	case c.minTimeout < time.Millisecond || c.maxTimeout < c.minTimeout || c.maxTimeout > longestTimeout:
		return fmt.Errorf("zktest: session timeouts from %s to %s: must be at least 1ms, in that order and at most %s", c.minTimeout, c.maxTimeout, longestTimeout)
	case c.reapEvery != 0 && c.reapEvery < time.Millisecond:
		return fmt.Errorf("zktest: container interval %s: must be 0 or at least 1ms", c.reapEvery)
	}
	return nil
}

package zktest

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"time"
)

// WithListeners serves on these, one for each server of an ensemble, which may
// be those of a Network, in place of TCP. The servers close them. Defaults to
// free TCP ports of 127.0.0.1.
func WithListeners(l ...net.Listener) Option {
	return forEnsemble("WithListeners", func(c *config) {
		c.listeners = append([]net.Listener{}, l...)
		if i := slices.Index(l, nil); i >= 0 {
			c.wrong = fmt.Errorf("zktest: WithListeners: listener %d of %d is nil", i+1, len(l))
		}
	})
}

func forEnsemble(name string, o Option) Option {
	return func(c *config) {
		c.ensembleOnly = name
		o(c)
	}
}

// WithSyncLimit sets for how many ticks the servers of an ensemble may hear
// nothing from each other before a follower gives its leader up, and a leader
// its majority. While a server joins a leader it is twice as many. Defaults to 5.
func WithSyncLimit(ticks int) Option {
	return forEnsemble("WithSyncLimit", func(c *config) { c.syncLimit = ticks })
}

// WithPeerDelay sets how long a message takes from one server of an ensemble to
// another; each takes its own time between the two, and none overtakes. Defaults
// to 200 microseconds and 1 ms.
func WithPeerDelay(min, max time.Duration) Option {
	return forEnsemble("WithPeerDelay", func(c *config) { c.peerDelay = span{min, max} })
}

// WithApplyDelay sets how much later than it learns of a commit a follower
// applies it, each time between the two. Defaults to 0 and 2 ms.
func WithApplyDelay(min, max time.Duration) Option {
	return forEnsemble("WithApplyDelay", func(c *config) { c.applyDelay = span{min, max} })
}

// WithElectionTime sets how long servers of an ensemble look for a leader, each
// time between the two, until one is elected or joined. Defaults to 150 and
// 250 ms.
func WithElectionTime(min, max time.Duration) Option {
	return forEnsemble("WithElectionTime", func(c *config) { c.election = span{min, max} })
}

// mostServers keeps the links between all pairs of servers few.
const mostServers = 99

func (c *config) checkEnsemble(n int) error {
	switch {
	case n < 1 || n > mostServers:
		return fmt.Errorf("zktest: an ensemble of %d servers: must be from 1 to %d", n, mostServers)
	case c.listener != nil:
		return errors.New("zktest: WithListener is for one server: an ensemble takes WithListeners")
	case c.listeners != nil && len(c.listeners) != n:
		return fmt.Errorf("zktest: %d listeners for an ensemble of %d servers", len(c.listeners), n)
	case c.syncLimit < 1:
		return fmt.Errorf("zktest: sync limit %d: must be at least one tick", c.syncLimit)
	}
	if err := c.check(); err != nil {
		return err
	}
	if time.Duration(c.syncLimit) > longest/c.tick {
		return fmt.Errorf("zktest: sync limit %d: must be less than a century of ticks of %s", c.syncLimit, c.tick)
	}
	for _, o := range []struct {
		name string
		span
	}{{"peer delay", c.peerDelay}, {"apply delay", c.applyDelay}, {"election time", c.election}} {
		if o.min < 0 || o.max < o.min || o.max > longest {
			return fmt.Errorf("zktest: %s from %s to %s: must not be negative, in that order and less than a century", o.name, o.min, o.max)
		}
	}
	return nil
}

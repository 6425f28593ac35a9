package bubble

import (
	"errors"
	"fmt"
	"time"

	"github.com/zkfence/zkfence/zktest"
)

// Option changes what Run sets up.
type Option func(*config)

type config struct {
	seed    uint64
	virtual time.Duration
	real    time.Duration
	crypto  bool
	server  []zktest.Option

	ensemble int // servers; 0 for a standalone one

	wrong error // of an option that could not be taken
}

// mostServers is a bound on what StartEnsemble takes, before hosts are made for it.
const mostServers = 99

// configured applies options to the defaults.
func configured(opts []Option) (config, error) {
	c := config{seed: 1, virtual: 30 * time.Minute, real: 5 * time.Minute}
	for _, o := range opts {
		if o == nil {
			return c, errors.New("an Option is nil")
		}
		o(&c)
	}
	switch {
	case c.wrong != nil:
		return c, c.wrong
	case c.virtual <= 0:
		return c, fmt.Errorf("WithVirtualLimit(%s): must be above 0", c.virtual)
	case c.real <= 0:
		return c, fmt.Errorf("WithRealLimit(%s): must be above 0", c.real)
	}
	return c, nil
}

// WithSeed sets what latencies, session ids and passwords follow from. It is
// printed when the test fails. BUBBLE_SEED in the environment overrides it, for
// every bubble of the process. Defaults to 1.
func WithSeed(seed uint64) Option { return func(c *config) { c.seed = seed } }

// WithTick sets the server's tick. Defaults to zktest's.
func WithTick(d time.Duration) Option { return WithServer(zktest.WithTick(d)) }

// WithServer gives options to the server, except WithListener, which would take
// it off the network. Defaults to none.
func WithServer(opts ...zktest.Option) Option {
	return func(c *config) { c.server = append(c.server, opts...) }
}

// WithEnsemble makes an ensemble of n servers in place of a standalone one, on the
// hosts 192.0.2.1, 192.0.2.2 and so on; the options of WithServer are for each.
// Network does not carry what they say to each other: B.Ensemble breaks that.
// Defaults to a standalone server.
func WithEnsemble(n int) Option {
	return func(c *config) {
		if c.ensemble = n; n < 1 || n > mostServers {
			c.wrong = fmt.Errorf("WithEnsemble(%d): must be from 1 to %d servers", n, mostServers)
		}
	}
}

// WithVirtualLimit bounds the virtual time that the test and its cleanups may
// take. Defaults to 30 minutes.
func WithVirtualLimit(d time.Duration) Option { return func(c *config) { c.virtual = d } }

// WithRealLimit bounds the real time. Defaults to 5 minutes.
func WithRealLimit(d time.Duration) Option { return func(c *config) { c.real = d } }

// WithSeededCrypto makes crypto/rand, and with it GUIDs, follow from the seed as
// well. That holds for the whole process, so the test must not be parallel. It
// needs Go 1.26 and does nothing before. Defaults to crypto/rand as it is.
func WithSeededCrypto() Option { return func(c *config) { c.crypto = true } }

package bubble

import (
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
// hosts 10.0.0.1, 10.0.0.2 and so on; the options of WithServer are for each.
// Network does not carry what they say to each other: B.Ensemble breaks that.
// Defaults to a standalone server.
func WithEnsemble(n int) Option { return func(c *config) { c.ensemble = n } }

// WithVirtualLimit bounds the virtual time that the test and its cleanups may
// take. Defaults to 30 minutes.
func WithVirtualLimit(d time.Duration) Option { return func(c *config) { c.virtual = d } }

// WithRealLimit bounds the real time. Defaults to 5 minutes.
func WithRealLimit(d time.Duration) Option { return func(c *config) { c.real = d } }

// WithSeededCrypto makes crypto/rand, and with it GUIDs, follow from the seed as
// well. That holds for the whole process, so the test must not be parallel. It
// needs Go 1.26 and does nothing before. Defaults to crypto/rand as it is.
func WithSeededCrypto() Option { return func(c *config) { c.crypto = true } }

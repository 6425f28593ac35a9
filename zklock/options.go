package zklock

import (
	"fmt"
	"time"

	"github.com/zkfence/zkfence/internal/queue"
)

// Option sets up a Mutex. New applies all of them and its error names the field
// and the value.
type Option func(*config) error

type config struct {
	trace    *Trace
	eager    bool
	maxHold  time.Duration // 0: none
	maxQueue int           // 0: none
	data     []byte        // nil: the client's identity
}

// WithTrace has t's hooks called for every attempt of this Mutex. See Trace for
// where they run. t is copied; later changes to it have no effect.
//
// Defaults to none.
func WithTrace(t *Trace) Option {
	return func(c *config) error {
		if t == nil {
			return fmt.Errorf("zklock: trace = nil: leave the option out")
		}
		hooks := *t
		c.trace = &hooks
		return nil
	}
}

// WithEagerLoss makes entering Suspect a loss, however soon the session would
// have healed. For work that cannot be refused at the resource and must rather
// stop too often.
//
// Defaults to holding on until trusted time is over.
func WithEagerLoss() Option {
	return func(c *config) error {
		c.eager = true
		return nil
	}
}

// WithMaxHold loses a hold d after its grant and deletes its node at once,
// whether or not the holder's work has ended; the resource refuses what still
// comes. It is for locks whose holder may hang.
//
// Defaults to no limit.
func WithMaxHold(d time.Duration) Option {
	return func(c *config) error {
		if d <= 0 {
			return fmt.Errorf("zklock: max hold = %v: must be above 0", d)
		}
		c.maxHold = d
		return nil
	}
}

// WithMaxQueue has an attempt leave with ErrQueueFull if n or more contenders
// are ahead of it, the holder included. It limits this Mutex, not the path:
// other clients may wait in any number.
//
// Defaults to no limit.
func WithMaxQueue(n int) Option {
	return func(c *config) error {
		if n < 1 {
			return fmt.Errorf("zklock: max queue = %d: must be at least 1; TryLock waits for nobody", n)
		}
		c.maxQueue = n
		return nil
	}
}

// WithNodeData sets what contenders' nodes carry in place of the client's
// identity. It is for this module's own packages: nobody else can name its type.
func WithNodeData(d queue.Data) Option {
	return func(c *config) error {
		c.data = d.Bytes
		return nil
	}
}

//go:build linux

package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
)

const (
	dialTimeout = 30 * time.Second
	endTimeout  = 10 * time.Second
)

// Main is what TestMain calls first. Where this process is to be a worker, it is
// one, and does not return.
func Main() {
	config := os.Getenv(env)
	if config == "" {
		return
	}
	var c Config
	err := json.Unmarshal([]byte(config), &c)
	if err == nil {
		err = run(c, os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "worker %s: %v\n", c.Name, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// worker is the process's state; all but what has its own guard belongs to the
// goroutine that carries out orders.
type worker struct {
	Config
	*teller
	place  place // the lock
	mutex  *zklock.Mutex
	desk   *desk
	leader *leader // nil if it is to have no part in an election
	halt   atomic.Bool

	attempt uint64
	sent    map[string]fencing.Stamp // by Send, of each value
	hold    *zklock.Hold
	belief  func() // ends the telling of beliefs, and waits for it
	crowd   crowd
}

// run carries out orders until in ends, gives back what it holds, and closes its
// session.
func run(c Config, in io.Reader, out io.Writer) (err error) {
	ctx := context.Background() // this process's; the parent ends it by closing in, or by a kill
	if c.Identity == "" {
		c.Identity = c.Name
	}
	t := newTeller(c.Name, out)
	w := &worker{Config: c, teller: t, place: place{t, c.Path}, desk: newDesk(t, c.Store)}
	dialing, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	client, err := zkconn.Dial(dialing, c.Servers, zkconn.WithSessionTimeout(c.Timeout), zkconn.WithServerTick(c.Tick), zkconn.WithIdentity(c.Identity))
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(ctx, endTimeout)
		defer cancel()
		err = errors.Join(err, client.Close(closing))
	}()
	if w.mutex, err = zklock.New(client, c.Path, zklock.WithTrace(w.place.trace())); err != nil {
		return err
	}
	if c.Election != "" {
		if w.leader, err = newLeader(ctx, client, c, t); err != nil {
			return err
		}
	}
	w.crowd.client = client
	err = errors.Join(w.obey(ctx, in), w.disperse())
	if w.hold != nil {
		// After a loss this is that loss, which the trace has told.
		if left := w.unlock(ctx); !errors.Is(left, zklock.ErrLost) {
			err = errors.Join(err, left)
		}
	}
	return err
}

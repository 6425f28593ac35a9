//go:build linux

package worker

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/zkfence/zkfence/integration/history"
	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
)

// crowdTimeout bounds the wait of one of a crowd, which lasts as long as all the
// holds before it.
const crowdTimeout = 5 * time.Minute

// crowdFrom is above the attempts of Lock and Cycle, which count from 1.
const crowdFrom = 1 << 32

var errTired = errors.New("tired of waiting")

// crowd is many attempts of one worker at once, all on its one Client. Each holds
// once and lets go at once.
type crowd struct {
	client  *zkconn.Client
	begun   uint64
	waiting sync.WaitGroup // those who do not yet wait, nor have they ended
	there   sync.WaitGroup // those who have not ended

	mu  sync.Mutex
	err error
}

// gather begins as many attempts as it is told and returns once each of them waits,
// with its watch armed, or, where they tire, once they have given that up and
// nothing is left of them.
func (w *worker) gather(ctx context.Context, many string, tires bool) error {
	n, err := strconv.Atoi(many)
	if err != nil {
		return err
	}
	c := &w.crowd
	for range n {
		c.begun++
		id := crowdFrom + c.begun
		c.waiting.Add(1)
		waits := sync.OnceFunc(c.waiting.Done)
		c.there.Go(func() {
			defer waits() // also where it ends without a wait
			if err := w.attend(ctx, id, waits, tires); err != nil {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.err = errors.Join(c.err, err)
			}
		})
	}
	c.waiting.Wait()
	if tires {
		return w.disperse()
	}
	return nil
}

// disperse waits until nothing is left of the crowd, and returns what went wrong.
func (w *worker) disperse() error {
	c := &w.crowd
	c.there.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.err
	c.err = nil
	return err
}

// attend is one of a crowd, from its beginning until nothing is left of it.
func (w *worker) attend(ctx context.Context, id uint64, waits func(), tires bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limited, stop := context.WithTimeout(ctx, crowdTimeout)
	defer stop()
	gone := make(chan struct{})
	// A Mutex for each, or the trace could not tell whose attempt it speaks of.
	mutex, err := zklock.New(w.crowd.client, w.Path, zklock.WithTrace(&zklock.Trace{
		Enrolled: func(_ zklock.Attempt, node string) {
			w.place.of(id, history.Event{Kind: history.Enrolled, Node: node})
		},
		Waiting: func(zklock.Attempt, string, int) {
			waits()
			if tires {
				cancel(errTired)
			}
		},
		Lost: func(_ zklock.Attempt, err *zklock.LostError) {
			w.place.of(id, history.Event{Kind: history.Lost, Reason: err.Error()})
		},
		Released: func(zklock.Attempt, bool) {
			w.place.of(id, history.Event{Kind: history.Released})
			close(gone)
		},
	}))
	if err != nil {
		return err
	}
	defer func() { <-gone }()
	w.place.of(id, history.Event{Kind: history.Began})
	hold, err := mutex.Lock(limited)
	if err != nil {
		w.place.of(id, history.Event{Kind: history.Failed, Reason: err.Error()})
		if errors.Is(err, errTired) {
			return nil
		}
		return err
	}
	w.place.of(id, history.Event{Kind: history.Granted, Token: hold.Token()})
	w.place.believe(id, hold)() // once
	w.place.of(id, history.Event{Kind: history.Unlocking})
	return hold.Unlock(limited)
}

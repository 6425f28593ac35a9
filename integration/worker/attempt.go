//go:build linux

package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkfence/zkfence/integration/history"
)

const lockTimeout = time.Minute

var (
	errNoHold  = errors.New("holds nothing")
	errWaitsOn = fmt.Errorf("not granted in %v", lockTimeout)
)

func (w *worker) lock(ctx context.Context) error {
	if w.hold != nil {
		return errors.New("holds already")
	}
	w.attempt++
	w.place.of(w.attempt, history.Event{Kind: history.Began})
	ctx, cancel := context.WithTimeoutCause(ctx, lockTimeout, errWaitsOn)
	defer cancel()
	hold, err := w.mutex.Lock(ctx)
	if err != nil {
		w.place.of(w.attempt, history.Event{Kind: history.Failed, Reason: err.Error()})
		return err
	}
	w.place.of(w.attempt, history.Event{Kind: history.Granted, Token: hold.Token()})
	w.hold, w.belief = hold, w.place.believe(w.attempt, hold)
	return nil
}

func (w *worker) unlock(ctx context.Context) error {
	unlock, err := w.letGo()
	if err != nil {
		return err
	}
	return unlock(ctx)
}

// letGo lets the worker lock again, and returns what gives the hold back.
func (w *worker) letGo() (unlock func(ctx context.Context) error, err error) {
	if w.hold == nil {
		return nil, errNoHold
	}
	hold := w.hold
	w.belief()
	w.hold = nil
	w.place.of(w.attempt, history.Event{Kind: history.Unlocking})
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, endTimeout)
		defer cancel()
		return hold.Unlock(ctx)
	}, nil
}

//go:build linux

package worker

import (
	"context"
	"errors"
	"time"

	"github.com/zkfence/zkfence/integration/history"
	"github.com/zkfence/zkfence/zklock"
)

const lockTimeout = time.Minute

var errNoHold = errors.New("holds nothing")

// ofAttempt tells what was learned of an attempt just now.
func (w *worker) ofAttempt(id uint64, e history.Event) {
	e.Path, e.Attempt = w.Path, id
	w.tell(e)
}

// trace tells what only the lock can know. Attempts are counted by both sides, from 1.
func (w *worker) trace() *zklock.Trace {
	return &zklock.Trace{
		Enrolled: func(a zklock.Attempt, node string) {
			w.ofAttempt(a.ID, history.Event{Kind: history.Enrolled, Node: node})
		},
		Lost: func(a zklock.Attempt, err *zklock.LostError) {
			w.ofAttempt(a.ID, history.Event{Kind: history.Lost, Reason: err.Error()})
		},
		Released: func(a zklock.Attempt, _ bool) {
			w.ofAttempt(a.ID, history.Event{Kind: history.Released})
		},
	}
}

func (w *worker) lock(ctx context.Context) error {
	if w.hold != nil {
		return errors.New("holds already")
	}
	w.attempt++
	w.ofAttempt(w.attempt, history.Event{Kind: history.Began})
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	hold, err := w.mutex.Lock(ctx)
	if err != nil {
		w.ofAttempt(w.attempt, history.Event{Kind: history.Failed, Reason: err.Error()})
		return err
	}
	w.ofAttempt(w.attempt, history.Event{Kind: history.Granted, Token: hold.Token()})
	w.hold, w.belief = hold, w.believe(w.attempt, hold)
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
	w.ofAttempt(w.attempt, history.Event{Kind: history.Unlocking})
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, endTimeout)
		defer cancel()
		return hold.Unlock(ctx)
	}, nil
}

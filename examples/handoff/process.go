package main

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/zkfence/zkfence/examples/internal/cast"
)

// workerEnv makes this program run as the worker it names.
const workerEnv = "ZKFENCE_HANDOFF_WORKER"

// process is a worker as its parent sees it.
type process struct {
	*cast.Process
	said chan says // closed at the end of its output
}

// startWorker starts this program a second time, as a worker. The process ends
// when ctx does, stopped or not.
func startWorker(ctx context.Context, name string, job assignment, tl *cast.Timeline) (*process, error) {
	p := &process{said: make(chan says, 64)}
	// It prints what the worker says and passes it on.
	listen := func(said iter.Seq[says]) {
		defer close(p.said)
		for s := range said {
			token := ""
			if !s.Token.IsZero() {
				token = s.Token.String()
			}
			tl.Line(name, token, s.State, s.Text)
			select {
			case p.said <- s:
			case <-ctx.Done():
				return
			}
		}
	}
	var err error
	p.Process, err = cast.Start(ctx, workerEnv, name, job, listen)
	return p, err
}

// await waits until the worker says one of whats, and returns what it said. That
// the worker failed or ended instead is an error.
func (p *process) await(ctx context.Context, whats ...string) (says, error) {
	for {
		select {
		case s, ok := <-p.said:
			switch {
			case !ok:
				return says{}, fmt.Errorf("%s ended before it was %v", p.Name, whats)
			case slices.Contains(whats, s.What):
				return s, nil
			case s.What == saysFailed:
				return says{}, fmt.Errorf("%s: %s", p.Name, s.Text)
			}
		case <-ctx.Done():
			return says{}, fmt.Errorf("waiting for %s to be %v: %w", p.Name, whats, context.Cause(ctx))
		}
	}
}

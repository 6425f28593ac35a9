package fencetest_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/zkfence/zkfence/fencing/fencetest"
)

// recorder stands for the test of somebody whose guard is broken.
type recorder struct {
	real     *testing.T
	name     string
	ctx      context.Context
	mu       sync.Mutex
	failed   bool
	log      strings.Builder
	cleanups []func()
	subtests []*recorder
}

var _ fencetest.Runner[*recorder] = (*recorder)(nil)

func (r *recorder) Helper()                  {}
func (r *recorder) Name() string             { return r.name }
func (r *recorder) Context() context.Context { return r.ctx }
func (r *recorder) TempDir() string          { return r.real.TempDir() }
func (r *recorder) Cleanup(f func())         { r.cleanups = append(r.cleanups, f) }

func (r *recorder) Logf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(&r.log, format+"\n", args...)
}

func (r *recorder) Errorf(format string, args ...any) {
	r.Logf(format, args...)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = true
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func (r *recorder) FailNow() { r.Fatalf("FailNow") }

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

// Run runs f on a goroutine of its own, since Fatalf ends it.
func (r *recorder) Run(name string, f func(*recorder)) bool {
	ctx, cancel := context.WithCancel(r.ctx)
	sub := &recorder{real: r.real, name: r.name + "/" + name, ctx: ctx}
	r.subtests = append(r.subtests, sub)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			cancel()
			for _, c := range slices.Backward(sub.cleanups) {
				c()
			}
		}()
		f(sub)
	}()
	<-done
	return !sub.Failed()
}

// judged runs the suite, in virtual time, and returns the names of the properties that failed, and
// all that was said.
func judged(t *testing.T, s fencetest.Subject) (failed []string, log string) {
	t.Helper()
	r := &recorder{real: t, name: "suite"}
	synctest.Test(t, func(t *testing.T) {
		r.ctx = t.Context()
		fencetest.Run(r, s)
	})
	var said strings.Builder
	said.WriteString(r.log.String())
	for _, sub := range r.subtests {
		name := strings.TrimPrefix(sub.name, "suite/")
		fmt.Fprintf(&said, "%s: %s\n", name, sub.log.String())
		if sub.Failed() {
			failed = append(failed, name)
		}
	}
	return failed, said.String()
}

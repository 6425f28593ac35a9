package zklock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/stage"
	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest/bubble"
)

// scene is where one fault of a lock is played.
type scene struct{ *stage.Scene }

func playing(play func(s *scene)) func(*stage.Scene) {
	return func(s *stage.Scene) { play(&scene{s}) }
}

func everywhere(t *testing.T, play func(s *scene)) {
	t.Helper()
	stage.Everywhere(t, playing(play))
}

func virtually(t *testing.T, play func(s *scene), opts ...bubble.Option) {
	t.Helper()
	stage.Virtually(t, playing(play), opts...)
}

func overTCP(t *testing.T, play func(s *scene)) {
	t.Helper()
	stage.OverTCP(t, playing(play))
}

// programs are what this test binary runs in processes of their own.
var programs = stage.Programs{
	"server":  serverProgram,
	"stopped": stoppedProgram,
}

func TestProgram(t *testing.T) { programs.Run(t) }

// below is the same scene on a path of its own within this one's.
func (s *scene) below(name string) *scene { return &scene{s.Below(name)} }

func (s *scene) mutex(c *zkconn.Client, opts ...zklock.Option) *zklock.Mutex {
	s.T.Helper()
	m, err := zklock.New(c, s.Path, opts...)
	require.NoError(s.T, err)
	return m
}

// lock locks, or fails the test if that takes longer than within.
func (s *scene) lock(m *zklock.Mutex, within time.Duration) *zklock.Hold {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(s.Ctx, within)
	defer cancel()
	h, err := m.Lock(ctx)
	require.NoError(s.T, err)
	return h
}

// locking calls Lock on a goroutine and returns once its node stands, or Lock
// has returned.
func (s *scene) locking(ctx context.Context, m *zklock.Mutex) *result {
	s.T.Helper()
	before := len(s.Nodes())
	r := &result{done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.hold, r.err = m.Lock(ctx)
		r.at = time.Now()
	}()
	s.Eventually(s.Timeout, func() bool { return r.returned() || len(s.Nodes()) > before }, "the contender's node")
	return r
}

// granted waits for a call to Lock to return its hold.
func (s *scene) granted(r *result, within time.Duration) *zklock.Hold {
	s.T.Helper()
	s.Ended(r.done, within, "Lock has not returned")
	require.NoError(s.T, r.err)
	return r.hold
}

// lost waits for the end of a hold and returns why.
func (s *scene) lost(h *zklock.Hold, within time.Duration) *zklock.LostError {
	s.T.Helper()
	s.Ended(h.Context().Done(), within, "the hold has not ended")
	var lost *zklock.LostError
	require.ErrorAs(s.T, context.Cause(h.Context()), &lost)
	require.Equal(s.T, h.Token(), lost.Token)
	return lost
}

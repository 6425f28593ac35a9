package zklock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/stage"
	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
)

// quorum is three servers and a lock on them.
type quorum struct{ *stage.Quorum }

func withQuorum(t *testing.T, seed uint64, play func(t *testing.T, q quorum)) {
	t.Helper()
	stage.WithQuorum(t, seed, func(t *testing.T, q *stage.Quorum) { play(t, quorum{q}) })
}

func (q quorum) mutex(c *zkconn.Client, opts ...zklock.Option) *zklock.Mutex {
	q.T.Helper()
	m, err := zklock.New(c, q.Path, opts...)
	require.NoError(q.T, err)
	return m
}

func (q quorum) watch(h *zklock.Hold) *stage.Ending {
	return q.Watch(h.Context(), h.Internal().Node)
}

// queue has m wait in line, and returns once its node stands.
func (q quorum) queue(m *zklock.Mutex) *result {
	q.T.Helper()
	before := len(q.Leader().Children(q.Path))
	r := &result{done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.hold, r.err = m.Lock(q.Ctx)
		r.at = time.Now()
	}()
	q.Eventually(func() bool { return len(q.Leader().Children(q.Path)) > before }, "the contender's node")
	return r
}

//go:build linux

package story_test

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/integration/ensemble"
	"github.com/zkfence/zkfence/integration/history"
	"github.com/zkfence/zkfence/integration/worker"
)

// offBy requires that a clock is off by that, give or take what asking takes.
func offBy(t *testing.T, says time.Time, off time.Duration) {
	t.Helper()
	require.WithinDuration(t, time.Now().Add(off), says, time.Minute)
}

// Sequence 12, the workers' half: their wall clocks are an hour off, either way, and
// step by two while they hold, wait and hand over. It is the clock of the worker's
// process, as time.Now and everything in it see it, the ZooKeeper client and the
// runtime included; what is left to the machine's clock are the monotonic ones.
func TestWallClocksOfWorkersDecideNothing(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("SKIPPED: no worker has a wall clock of its own but on amd64")
	}
	s := newStory(t, shared.Three(t), 4*time.Second, true)
	s.ownWallClocks = true
	s.dwell = 20 * time.Millisecond
	w1, w2 := s.start("W1"), s.start("W2")
	step := func(p *worker.Process, off time.Duration) {
		require.NoError(t, p.SetWallClock(off))
		d, err := p.Do(s.within(), worker.Wall, "")
		require.NoError(t, err)
		offBy(t, d.Wall, off)
	}
	step(w1, time.Hour)
	step(w2, -time.Hour)

	// While one holds and the other waits.
	s.must(w1, worker.Lock)
	waiting := s.begin(w2, worker.Lock)
	s.await(0, "W2", history.Enrolled)
	for _, off := range []time.Duration{-time.Hour, time.Hour, -time.Hour} {
		step(w1, off)
		require.NoError(t, w2.SetWallClock(-off))
		stepped := worker.Now()
		_, err := s.log.Await(s.within(), s.log.Len(), func(e history.Event) bool {
			return e.Kind == history.Belief && e.Worker == "W1" && e.At > stepped+s.timeout
		})
		require.NoError(t, err, "its trust is renewed")
		require.True(t, s.must(w1, worker.Write, "held").OK)
	}
	s.must(w1, worker.Unlock)
	_, err := waiting.Wait(s.within())
	require.NoError(t, err)
	s.must(w2, worker.Unlock)

	// While they hand over.
	cycles := []*worker.Pending{s.begin(w1, worker.Cycle), s.begin(w2, worker.Cycle)}
	off := time.Hour
	for range times(20, 100) {
		from := s.log.Len()
		for i, moment := range []history.Kind{history.Granted, history.Unlocking} {
			s.await(from, "", moment)
			off = -off
			require.NoError(t, s.workers[i].SetWallClock(off))
		}
	}
	s.halt(cycles)
	require.Zero(t, s.count("", history.Lost))
	s.killedHolder(w1, w2, func() {
		step(w2, 2*time.Hour)
		step(w2, -2*time.Hour)
	})
	t.Log(s)
}

// killedHolder kills w1, which holds, and lets w2 follow: no sooner than the session
// can end, and not an hour later. meanwhile is done right after the kill.
func (s *story) killedHolder(w1, w2 *worker.Process, meanwhile func()) {
	s.t.Helper()
	s.must(w1, worker.Lock)
	from := s.log.Len()
	waiting := s.begin(w2, worker.Lock)
	s.await(from, w2.Name(), history.Enrolled)
	killed := worker.Now()
	require.NoError(s.t, w1.Kill())
	meanwhile()
	_, err := waiting.Wait(s.within())
	require.NoError(s.t, err)
	require.Greater(s.t, s.await(from, w2.Name(), history.Granted).At-killed, s.timeout/2, "no sooner than its session can end")
	s.must(w2, worker.Unlock)
	s.workers = []*worker.Process{w2}
	s.ended()
}

// Sequence 12, the servers' half: the leader's wall clock steps to an hour ahead and
// to an hour behind while two workers hand the lock around, and so for every server
// that comes to lead. Sessions go by monotonic clocks, so no hold is lost, a killed
// holder's lock is free after its session's time and not an hour later, and the
// order is that of zxids.
func TestWallClocksOfServersDecideNothing(t *testing.T) {
	shared.Close(t) // one ensemble at a time is enough for a small machine
	ens := ensemble.New(t, ensemble.WithWallClocks())
	s := newStory(t, ens, 6*time.Second, true)
	operator, path := s.operator(), "/clock"
	_, err := operator.Create(path, nil, 0, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	// What is written carries the leader's time.
	step := func(off time.Duration) {
		leader, err := ens.Leader(t.Context())
		require.NoError(t, err)
		err = leader.SetWallClock(t.Context(), off)
		if errors.Is(err, ensemble.ErrOneClock) {
			t.Skipf("SKIPPED: %v", err)
		}
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			stat, err := operator.Set(path, nil, -1)
			return err == nil && time.UnixMilli(stat.Mtime).Sub(time.Now().Add(off)).Abs() < time.Minute
		}, patience, 100*time.Millisecond, "%v is not off by %v", leader, off)
	}
	cycles := s.cycle("W1", "W2")
	for i := range ens.Servers() {
		for _, off := range []time.Duration{time.Hour, -time.Hour, time.Duration(1-2*(i%2)) * time.Hour} {
			step(off)
			from := s.log.Len()
			next := s.await(from, "", history.Granted)
			s.await(from, next.Worker, history.Unlocking)
		}
		s.killLeaderAt(history.Granted) // so that each clock leads, or most
	}
	s.halt(cycles)
	require.Zero(t, s.count("", history.Lost))
	s.killedHolder(s.workers[0], s.workers[1], func() {
		step(2 * time.Hour)
		step(-2 * time.Hour)
	})
	t.Log(s)
}

//go:build linux

package story_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/integration/ensemble"
	"github.com/zkfence/zkfence/integration/history"
	"github.com/zkfence/zkfence/integration/resource"
	"github.com/zkfence/zkfence/integration/worker"
)

// patience bounds each wait of a story. It decides nothing: a story that goes well
// waits for its own events.
const patience = 60 * time.Second

// story is one lock, one resource, and those who want both.
type story struct {
	t       *testing.T
	ens     *ensemble.Ensemble
	timeout time.Duration // of sessions
	path    string
	dwell   time.Duration // of a Cycle in each hold
	log     *history.Log
	store   *resource.Store
	workers []*worker.Process
	guarded bool // the store

	also     []string        // other paths, which are to be empty at the end
	election string          // "" if nobody leads
	led      *resource.Store // of the leaders
	beat     time.Duration   // between two commands of a leader

	ownWallClocks bool // of the workers to be started
}

func newStory(t *testing.T, ens *ensemble.Ensemble, timeout time.Duration, guarded bool) *story {
	t.Helper()
	s := &story{t: t, ens: ens, timeout: timeout, path: "/story-" + strings.ToLower(rand.Text()[:8]), log: &history.Log{}, guarded: guarded}
	t.Cleanup(func() { told.add(s) })
	s.store = s.serve(guarded)
	return s
}

// serve serves a resource, whose acceptances go to the log.
func (s *story) serve(guarded bool) *resource.Store {
	var store *resource.Store
	store = resource.Serve(s.t, guarded, func(stamp fencing.Stamp) {
		s.log.Add(history.Event{At: worker.Now(), Kind: history.Accepted, Resource: store.URL(), Stamp: stamp})
	})
	return store
}

// elects gives those who start from now on an election beside the lock.
func (s *story) elects(beat time.Duration) {
	s.election, s.led, s.beat = s.path+"-election", s.serve(true), beat
	s.also = append(s.also, s.election)
}

// start starts a worker that dials these servers, or the ensemble's if there are
// none.
func (s *story) start(name string, servers ...string) *worker.Process {
	s.t.Helper()
	if len(servers) == 0 {
		servers = s.ens.Addrs()
	}
	c := worker.Config{
		Name: name, Servers: servers, Timeout: s.timeout, Tick: s.ens.Tick(), Path: s.path, Store: s.store.URL(), Dwell: s.dwell,
		OwnWallClock: s.ownWallClocks,
	}
	c.Identity, _, _ = strings.Cut(name, ".") // W1.2 comes in the place of W1
	if s.election != "" {
		c.Election, c.Led, c.Beat = s.election, s.led.URL(), s.beat
	}
	p := worker.Start(s.t, c, s.log)
	s.workers = append(s.workers, p)
	return p
}

// must gives an order that has to end well, and returns the resource's answer to
// it, if it was a command.
func (s *story) must(p *worker.Process, do string, value ...string) history.Answer {
	s.t.Helper()
	d, err := p.Do(s.within(), do, strings.Join(value, " "))
	require.NoError(s.t, err)
	return d.Answer
}

func (s *story) begin(p *worker.Process, do string) *worker.Pending {
	s.t.Helper()
	pending, err := p.Begin(do, "")
	require.NoError(s.t, err)
	return pending
}

// cycle starts workers that hold in turn, until halt.
func (s *story) cycle(names ...string) (cycles []*worker.Pending) {
	s.t.Helper()
	for _, name := range names {
		cycles = append(cycles, s.begin(s.start(name), worker.Cycle))
	}
	return cycles
}

// halt ends what cycle has begun, in the order of the workers.
func (s *story) halt(cycles []*worker.Pending) (done []worker.Done) {
	s.t.Helper()
	for i, c := range cycles {
		require.NoError(s.t, s.workers[i].Halt())
		d, err := c.Wait(s.within())
		require.NoError(s.t, err)
		done = append(done, d)
	}
	return done
}

func (s *story) within() context.Context {
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	s.t.Cleanup(cancel)
	return ctx
}

// await waits for an event of a worker, by kind, from an index of the log on.
func (s *story) await(from int, name string, kind history.Kind) history.Event {
	s.t.Helper()
	e, err := s.log.Await(s.within(), from, func(e history.Event) bool {
		return e.Kind == kind && (name == "" || e.Worker == name)
	})
	require.NoError(s.t, err, "%s of %s", kind, name)
	return e
}

func (s *story) fault(kind history.Kind, name, whose string) {
	s.log.Add(history.Event{At: worker.Now(), Kind: kind, Reason: name, Worker: whose})
}

// try gives an order that may end badly.
func (s *story) try(p *worker.Process, do string) (history.Answer, error) {
	d, err := p.Do(s.within(), do, "")
	return d.Answer, err
}

// end lets the workers give back what they hold, looks for what they have left
// behind, closes them, and returns what the history says.
func (s *story) end() []history.Violation {
	s.t.Helper()
	var last []*worker.Pending
	for _, p := range s.workers {
		last = append(last, s.begin(p, worker.Unlock))
	}
	for _, pending := range last {
		// That it holds nothing, or has lost it, is an answer.
		if d, err := pending.Wait(s.within()); d.Order == 0 {
			require.NoError(s.t, err)
		}
	}
	// While their sessions live: the end of one takes along what was forgotten.
	s.leftovers(s.path)
	for _, path := range s.also {
		s.leftovers(path)
	}
	for _, p := range s.workers {
		require.NoError(s.t, p.Close(), p.Name())
	}
	return history.Check(s.log.Events(), s.grace())
}

// grace is for how long a fault that was healed may still have effects.
func (s *story) grace() time.Duration { return s.timeout + s.ens.SyncTime() }

// ended ends a story that has to break no rule.
func (s *story) ended() {
	s.t.Helper()
	require.Empty(s.t, s.end())
}

// leftovers notes what is on a path when nobody wants it any more. What belongs to
// a session that nobody keeps alive has the session's time to go.
func (s *story) leftovers(path string) {
	s.t.Helper()
	conn := s.operator()
	var left []string
	var err error
	deadline := time.Now().Add(s.timeout + 5*time.Second)
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		left, _, err = conn.Children(path)
		if errors.Is(err, zk.ErrNoNode) {
			left, err = nil, nil // an empty container goes by itself
		}
		if err == nil && len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			break
		}
		<-ticker.C
	}
	require.NoError(s.t, err)
	for _, node := range left {
		s.log.Add(history.Event{At: worker.Now(), Kind: history.Leftover, Path: path, Node: node})
	}
}

// operator is a client with no part in the story, until its end.
func (s *story) operator() *zk.Conn {
	s.t.Helper()
	conn, _, err := zk.Connect(s.ens.Addrs(), 10*time.Second, zk.WithLogInfo(false), zk.WithLogger(quiet{}))
	require.NoError(s.t, err)
	s.t.Cleanup(conn.Close)
	return conn
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// count is how many events of a kind the history has of a worker, or of all.
func (s *story) count(name string, kind history.Kind) (n int) {
	for _, e := range s.log.Events() {
		if e.Kind == kind && (name == "" || e.Worker == name) {
			n++
		}
	}
	return n
}

func (s *story) String() string {
	return fmt.Sprintf("%d events: %d granted, %d lost, %d accepted", s.log.Len(),
		s.count("", history.Granted), s.count("", history.Lost), s.count("", history.Accepted))
}

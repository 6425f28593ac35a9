package fencetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkfence/zkfence/fencing"
)

const (
	// operationTime bounds each call of the guard.
	operationTime = 30 * time.Second
	// grace is how long a command gets to overtake one that is stopped between
	// check and write, before the suite takes it that the guard does not let it.
	grace = 250 * time.Millisecond
	// tries bounds how often a command is sent again after an error that is no
	// refusal.
	tries = 20
)

// scene is one property's store, names and random numbers.
type scene struct {
	TB
	subject Subject
	store   Store
	run     string // differs from run to run
	names   atomic.Int64
}

func newScene(t TB, s Subject) *scene {
	return &scene{TB: t, subject: s, store: s.New(t), run: fmt.Sprintf("%08x", rand.Uint32())}
}

// rand is the generator number n of this seed.
func (s *scene) rand(n uint64) *rand.Rand { return rand.New(rand.NewPCG(s.subject.Seed, n)) }

// resource returns a name that was not used before.
func (s *scene) resource() string {
	return fmt.Sprintf("fencetest-%s-%d", s.run, s.names.Add(1))
}

// open opens a guard until the end of the property, or until close is called.
func (s *scene) open() (g Guard, closeIt func()) {
	s.Helper()
	ctx, cancel := s.bounded()
	defer cancel()
	g, err := s.store.Open(ctx)
	if err != nil {
		s.Fatalf("Open: %v", err)
	}
	closeIt = sync.OnceFunc(func() {
		if err := g.Close(); err != nil {
			s.Errorf("Close: %v", err)
		}
	})
	s.Cleanup(closeIt)
	return g, closeIt
}

func (s *scene) bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeout(s.Context(), operationTime)
}

// guard is a Guard opened for the whole property.
func (s *scene) guard() Guard {
	s.Helper()
	g, _ := s.open()
	return g
}

// do sends c, again if the guard has an error of its own, and returns its answer.
func (s *scene) do(g Guard, c Command) (outcome string, err error) {
	s.Helper()
	ctx, cancel := s.bounded()
	defer cancel()
	for range tries {
		outcome, err = g.Do(ctx, c)
		if err == nil || c.Fail && !errors.Is(err, fencing.ErrUnknownOutcome) || isRefusal(err) || isBadInput(err) || ctx.Err() != nil {
			return outcome, err
		}
		s.Logf("%s %s: again after: %v", c.Resource, c.Stamp, err)
	}
	return outcome, err
}

func isBadInput(err error) bool {
	return errors.Is(err, fencing.ErrBadResource) || errors.Is(err, fencing.ErrBadOpID)
}

func (s *scene) raise(g Guard, resource string, t fencing.Token) error {
	s.Helper()
	ctx, cancel := s.bounded()
	defer cancel()
	var err error
	for range tries {
		if err = g.Raise(ctx, resource, t); err == nil || isRefusal(err) || isBadInput(err) || ctx.Err() != nil {
			return err
		}
		s.Logf("%s raise %s: again after: %v", resource, t, err)
	}
	return err
}

func (s *scene) read(g Guard, resource string) (entries []string, last fencing.Stamp) {
	s.Helper()
	ctx, cancel := s.bounded()
	defer cancel()
	entries, last, err := g.Read(ctx, resource)
	if err != nil {
		s.Fatalf("Read(%q): %v", resource, err)
	}
	return entries, last
}

// wait waits for done, bounded.
func (s *scene) wait(what string, done <-chan struct{}) {
	s.Helper()
	ctx, cancel := s.bounded()
	defer cancel()
	select {
	case <-done:
	case <-ctx.Done():
		s.Fatalf("%s: no answer within %s", what, operationTime)
	}
}

// token makes a Token of a number that is one.
func token(n uint64) fencing.Token {
	if n == 0 {
		return fencing.Token{}
	}
	t, err := fencing.FromUint64(n)
	if err != nil {
		panic(err) // a mistake in this package
	}
	return t
}

func stamp(n, seq uint64) fencing.Stamp { return fencing.Stamp{Token: token(n), Seq: seq} }

// command appends an entry that tells its Stamp.
func command(resource string, st fencing.Stamp) Command {
	return Command{Resource: resource, Stamp: st, Entry: st.String()}
}

func failingCommand(resource string, st fencing.Stamp) Command {
	c := command(resource, st)
	c.Fail = true
	return c
}

// model is what a guard must remember of one resource and have in it.
type model struct {
	s        *scene
	resource string
	last     fencing.Stamp
	entries  []string
	story    []string // what was done, for the report
}

func (s *scene) model() *model { return &model{s: s, resource: s.resource()} }

// do sends one command and compares the answer.
func (m *model) do(g Guard, c Command) {
	m.s.Helper()
	floor, want := fencing.Check(m.last, c.Stamp)
	_, err := m.s.do(g, c)
	m.story = append(m.story, fmt.Sprintf("%s fail=%t: %v", c.Stamp, c.Fail, err))
	m.last = floor
	switch {
	case want != nil:
		m.refused("command", c.Stamp, want, err)
	case c.Fail:
		if err == nil || isRefusal(err) {
			m.errorf("command %s was to run and fail, and was answered with: %v", c.Stamp, err)
		}
	default:
		if err != nil {
			m.errorf("command %s was to run and succeed: %v", c.Stamp, err)
		}
		m.last = c.Stamp
		m.entries = append(m.entries, c.Entry)
	}
}

// send is do for a command that appends its Stamp.
func (m *model) send(g Guard, n, seq uint64) {
	m.s.Helper()
	m.do(g, command(m.resource, stamp(n, seq)))
}

func (m *model) fail(g Guard, n, seq uint64) {
	m.s.Helper()
	m.do(g, failingCommand(m.resource, stamp(n, seq)))
}

func (m *model) raise(g Guard, n uint64) {
	m.s.Helper()
	floor, want := fencing.CheckRaise(m.last, token(n))
	err := m.s.raise(g, m.resource, token(n))
	m.story = append(m.story, fmt.Sprintf("raise %s: %v", token(n), err))
	m.last = floor
	if want != nil {
		m.refused("raise", fencing.Stamp{Token: token(n)}, want, err)
	} else if err != nil {
		m.errorf("raise %s: %v", token(n), err)
	}
}

// refused compares a refusal: the one kind, both Stamps, the resource.
func (m *model) refused(what string, st fencing.Stamp, want, got error) {
	m.s.Helper()
	for _, sentinel := range refusals() {
		if errors.Is(got, sentinel) != errors.Is(want, sentinel) {
			m.errorf("%s %s: got %v, want %v", what, st, got, want)
			return
		}
	}
	var wanted, stale *fencing.StaleError
	if !errors.As(want, &wanted) {
		return
	}
	switch {
	case !errors.As(got, &stale):
		m.errorf("%s %s: %v is no *StaleError", what, st, got)
	case stale.Presented != wanted.Presented || stale.Highest != wanted.Highest || stale.Resource != m.resource:
		m.errorf("%s %s: the refusal names %q, presented %s, remembered %s; want %q, %s, %s", what, st,
			stale.Resource, stale.Presented, stale.Highest, m.resource, wanted.Presented, wanted.Highest)
	}
}

// compare reads the resource.
func (m *model) compare(g Guard) {
	m.s.Helper()
	entries, last := m.s.read(g, m.resource)
	if last != m.last {
		m.errorf("remembers %s, want %s", last, m.last)
	}
	if !slices.Equal(entries, m.entries) {
		m.errorf("has %q, want %q", entries, m.entries)
	}
}

// errorf reports with the end of the story.
func (m *model) errorf(format string, args ...any) {
	m.s.Helper()
	m.s.Errorf("resource %q: %s\nlast steps: %q", m.resource, fmt.Sprintf(format, args...), m.story[max(0, len(m.story)-6):])
}

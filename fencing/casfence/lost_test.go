package casfence

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/fencetest"
)

var errLost = errors.New("the answer was lost")

// lossy is a store on the other side of a bad network.
type lossy struct {
	Memory
	mu   sync.Mutex
	fate func(key string) fate // nil: all is well
	late []func()              // puts under way
}

type fate int

const (
	well     fate = iota
	lostAsk       // it never arrives
	lostTell      // it is done, and nobody hears of it
	delayed       // it is done later, when land is called
)

func (l *lossy) Put(ctx context.Context, key string, value []byte, version string) (string, error) {
	l.mu.Lock()
	what := well
	if l.fate != nil {
		what = l.fate(key)
	}
	if what == delayed {
		l.late = append(l.late, func() { _, _ = l.Memory.Put(context.WithoutCancel(ctx), key, value, version) })
	}
	l.mu.Unlock()
	if what == lostAsk || what == delayed {
		return "", errLost
	}
	v, err := l.Memory.Put(ctx, key, value, version)
	if what == lostTell {
		return "", errLost
	}
	return v, err
}

// land lets what is under way arrive.
func (l *lossy) land() {
	l.mu.Lock()
	late := l.late
	l.late = nil
	l.mu.Unlock()
	for _, put := range late {
		put()
	}
}

// pointers has the nth write of a pointer suffer what, all others pass.
func pointers(nth int, what fate, then func()) func(string) fate {
	return func(key string) fate {
		if !strings.HasPrefix(key, "pointers/") {
			return well
		}
		if nth--; nth == 0 {
			return what
		}
		if nth == -1 && then != nil {
			then()
		}
		return well
	}
}

// One of ten requests is not heard of again, in each of three ways. The guard looks,
// and knows.
func TestKeepsTheRuleThoughAnswersAreLost(t *testing.T) {
	fencetest.Run(t, fencetest.Subject{New: func(fencetest.TB) fencetest.Store {
		r := rand.New(rand.NewPCG(1, 2))
		l := new(lossy)
		l.fate = func(string) fate {
			if r.IntN(10) > 0 {
				return well
			}
			return fate(1 + r.IntN(2))
		}
		return shared(l)
	}})
}

// losing is a store whose Guards lose answers when told to.
type losing struct {
	fencetest.Store
	l *lossy
}

func (s losing) Open(ctx context.Context) (fencetest.Guard, error) {
	g, err := s.Store.Open(ctx)
	return loser{g, s.l}, err
}

type loser struct {
	fencetest.Guard
	l *lossy
}

// LoseNextAnswer is of the next write of a pointer.
func (g loser) LoseNextAnswer() {
	g.l.mu.Lock()
	defer g.l.mu.Unlock()
	g.l.fate = pointers(1, lostTell, nil)
}

func TestALostAnswerIsNoFailure(t *testing.T) {
	fencetest.Run(t, fencetest.Subject{LosesAnswers: true, NoOverride: true, New: func(fencetest.TB) fencetest.Store {
		l := new(lossy)
		return losing{shared(l), l}
	}})
}

func TestALostAnswerIsLookedFor(t *testing.T) {
	for name, what := range map[string]fate{"AskedAndNotDone": lostAsk, "DoneAndNotTold": lostTell, "DoneLater": delayed} {
		t.Run(name, func(t *testing.T) {
			l := new(lossy)
			g := guardOf(t, l)
			require.NoError(t, g.Publish(t.Context(), "r", stamp(t, "0x1:1"), text("first")))
			l.fate = pointers(1, what, nil)
			require.NoError(t, g.Publish(t.Context(), "r", stamp(t, "0x1:2"), text("second")))
			l.land()
			content, last, err := g.Get(t.Context(), "r")
			require.NoError(t, err)
			require.Equal(t, "second", string(content))
			require.Equal(t, stamp(t, "0x1:2"), last)
			require.ErrorIs(t, g.Publish(t.Context(), "r", stamp(t, "0x1:2"), text("again")), fencing.ErrDuplicate)
		})
	}
}

// The first try is under way for long. It must not arrive after a newer owner has
// written and undo that; nor may its own repetition be applied beside it.
func TestAWriteThatArrivesLateFindsItsVersionGone(t *testing.T) {
	l := new(lossy)
	g := guardOf(t, l)
	require.NoError(t, g.Publish(t.Context(), "r", stamp(t, "0x1:1"), text("first")))
	ctx, cancel := context.WithCancel(t.Context())
	l.fate = pointers(1, delayed, nil)
	err := g.Publish(ctx, "r", stamp(t, "0x1:2"), func(context.Context) ([]byte, error) {
		defer cancel() // its owner is gone while it is under way
		return []byte("second"), nil
	})
	require.Error(t, err)

	l.fate = nil
	require.NoError(t, g.Raise(t.Context(), "r", stamp(t, "0x2:0").Token))
	l.land()
	content, last, err := g.Get(t.Context(), "r")
	require.NoError(t, err)
	require.Equal(t, "first", string(content))
	require.Equal(t, stamp(t, "0x2:0"), last)
}

// Applied, and overtaken before it could look: what was applied is said to be.
func TestAWriteOvertakenBeforeTheLookIsStillKnown(t *testing.T) {
	for _, others := range []int{1, 10, kept - 1, kept} {
		l := new(lossy)
		g, other := guardOf(t, l), guardOf(t, &l.Memory)
		require.NoError(t, g.Publish(t.Context(), "r", stamp(t, "0x1:1"), text("first")))
		l.fate = pointers(1, lostTell, nil)
		late := afterPut{Store: l, then: func() {
			for n := range others {
				s := fencing.Stamp{Token: stamp(t, "0x1:0").Token, Seq: uint64(3 + n)}
				require.NoError(t, other.Publish(t.Context(), "r", s, text("others")))
			}
		}}
		g.store = &late
		err := g.Publish(t.Context(), "r", stamp(t, "0x1:2"), text("second"))
		if others < kept {
			require.NoError(t, err, "%d others", others)
		} else {
			require.ErrorIs(t, err, fencing.ErrUnknownOutcome, "%d others", others)
		}
	}
}

// Not applied, and overtaken: it is judged anew, and refused.
func TestAWriteThatWasLostAndOvertakenIsJudgedAnew(t *testing.T) {
	l := new(lossy)
	g, other := guardOf(t, l), guardOf(t, &l.Memory)
	require.NoError(t, g.Publish(t.Context(), "r", stamp(t, "0x1:1"), text("first")))
	l.fate = pointers(1, lostAsk, nil)
	g.store = &afterPut{Store: l, then: func() {
		require.NoError(t, other.Publish(t.Context(), "r", stamp(t, "0x2:1"), text("other")))
	}}
	err := g.Publish(t.Context(), "r", stamp(t, "0x1:2"), text("second"))
	require.ErrorIs(t, err, fencing.ErrStale)
	require.NotErrorIs(t, err, fencing.ErrUnknownOutcome)
}

// afterPut calls then after the first Put of a pointer.
type afterPut struct {
	Store
	then func()
}

func (a *afterPut) Put(ctx context.Context, key string, value []byte, version string) (string, error) {
	v, err := a.Store.Put(ctx, key, value, version)
	if then := a.then; then != nil && strings.HasPrefix(key, "pointers/") {
		a.then = nil
		then()
	}
	return v, err
}

// gone answers no look.
type gone struct {
	*lossy
	down bool
}

func (s *gone) Put(ctx context.Context, key string, value []byte, version string) (string, error) {
	v, err := s.lossy.Put(ctx, key, value, version)
	s.down = s.down || errors.Is(err, errLost)
	return v, err
}

func (s *gone) Get(ctx context.Context, key string) ([]byte, string, error) {
	if s.down {
		return nil, "", errors.New("no route")
	}
	return s.lossy.Get(ctx, key)
}

func TestWhatCannotBeLookedForIsUnknownAndARetryTells(t *testing.T) {
	for what, want := range map[fate]error{lostTell: fencing.ErrDuplicate, lostAsk: nil} {
		s := &gone{lossy: new(lossy)}
		g := guardOf(t, s)
		require.NoError(t, g.Publish(t.Context(), "r", stamp(t, "0x1:1"), text("first")))
		s.fate = pointers(1, what, nil)
		err := g.Publish(t.Context(), "r", stamp(t, "0x1:2"), text("second"))
		require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
		require.ErrorIs(t, err, errLost)
		require.ErrorContains(t, err, `"r"`)
		s.down = false
		require.ErrorIs(t, g.Publish(t.Context(), "r", stamp(t, "0x1:2"), text("second")), want)
		content, _, err := g.Get(t.Context(), "r")
		require.NoError(t, err)
		require.Equal(t, "second", string(content))
	}
}

// The content's own write: nothing names it, so nothing was published.
func TestAContentThatIsNotWrittenIsNotPublished(t *testing.T) {
	for _, what := range []fate{lostAsk, lostTell} {
		l := new(lossy)
		g := guardOf(t, l)
		require.NoError(t, g.Publish(t.Context(), "r", stamp(t, "0x1:1"), text("first")))
		l.fate = func(key string) fate {
			if strings.HasPrefix(key, "objects/") {
				return what
			}
			return well
		}
		err := g.Publish(t.Context(), "r", stamp(t, "0x1:2"), text("second"))
		require.ErrorIs(t, err, errLost)
		require.NotErrorIs(t, err, fencing.ErrUnknownOutcome)
		content, last, err := g.Get(t.Context(), "r")
		require.NoError(t, err)
		require.Equal(t, "first", string(content))
		require.Equal(t, stamp(t, "0x1:1"), last)
	}
}

// Each request may be under way still: that it cannot be seen yet proves nothing.
func TestAWriteThatIsNeverHeardOfIsUnknown(t *testing.T) {
	l := new(lossy)
	g := guardOf(t, l)
	require.NoError(t, g.Publish(t.Context(), "r", stamp(t, "0x1:1"), text("first")))
	l.fate = func(key string) fate {
		if strings.HasPrefix(key, "pointers/") {
			return delayed
		}
		return well
	}
	require.ErrorIs(t, g.Publish(t.Context(), "r", stamp(t, "0x1:2"), text("second")), fencing.ErrUnknownOutcome)
	l.fate = nil
	l.land()
	require.ErrorIs(t, g.Publish(t.Context(), "r", stamp(t, "0x1:2"), text("again")), fencing.ErrDuplicate)
	content, _, err := g.Get(t.Context(), "r")
	require.NoError(t, err)
	require.Equal(t, "second", string(content))
}

// What a store refuses for good is no unknown outcome, unless an earlier try of the
// same write was not heard of.
func TestWhatIsRejectedIsNotUnknown(t *testing.T) {
	for _, lostBefore := range []bool{false, true} {
		s := &rejecting{lossy: new(lossy)}
		g := guardOf(t, s)
		require.NoError(t, g.Publish(t.Context(), "r", stamp(t, "0x1:1"), text("first")))
		s.on = true
		if lostBefore {
			s.fate = pointers(1, delayed, nil)
		}
		err := g.Publish(t.Context(), "r", stamp(t, "0x1:2"), text("second"))
		require.ErrorIs(t, err, ErrNotWritten)
		require.Equal(t, lostBefore, errors.Is(err, fencing.ErrUnknownOutcome))
	}
}

// rejecting refuses what does not get lost.
type rejecting struct {
	*lossy
	on bool
}

func (r *rejecting) Put(ctx context.Context, key string, value []byte, version string) (string, error) {
	if !r.on || !strings.HasPrefix(key, "pointers/") {
		return r.lossy.Put(ctx, key, value, version)
	}
	if r.fate != nil && r.fate(key) != well {
		return "", errLost
	}
	return "", ErrNotWritten
}

// A store that says "conflict" of a key that is not there must not be believed: the
// pointer would name nothing, and what it named before would be lost.
func TestAContentIsThereBeforeThePointerNamesIt(t *testing.T) {
	for name, found := range map[string]string{"Nothing": "", "AnotherContent": "another"} {
		t.Run(name, func(t *testing.T) {
			s := &contrary{Memory: new(Memory)}
			g := guardOf(t, s)
			require.NoError(t, g.Publish(t.Context(), "r", stamp(t, "0x1:1"), text("first")))
			s.on, s.found = true, found
			require.ErrorIs(t, g.Publish(t.Context(), "r", stamp(t, "0x1:2"), text("second")), ErrConflict)
			content, _, err := g.Get(t.Context(), "r")
			require.NoError(t, err)
			require.Equal(t, "first", string(content))
		})
	}
	t.Run("OurOwnDeliveredTwice", func(t *testing.T) {
		s := &contrary{Memory: new(Memory), on: true, found: "first"}
		g := guardOf(t, s)
		require.NoError(t, g.Publish(t.Context(), "r", stamp(t, "0x1:1"), text("first")))
	})
}

// contrary says "conflict" of contents, and has found at their keys.
type contrary struct {
	*Memory
	on    bool
	found string
}

func (s *contrary) Put(ctx context.Context, key string, value []byte, version string) (string, error) {
	if !s.on || !strings.HasPrefix(key, "objects/") {
		return s.Memory.Put(ctx, key, value, version)
	}
	if s.found != "" {
		_, _ = s.Memory.Put(ctx, key, []byte(s.found), "")
	}
	return "", ErrConflict
}

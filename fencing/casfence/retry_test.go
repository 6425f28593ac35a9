package casfence

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
)

var errPaid = errors.New("paid already")

// underWay leaves the pointer's write of 0x1:2 on its way, to arrive by land; its
// caller has given up.
func underWay(t *testing.T) *lossy {
	t.Helper()
	l := new(lossy)
	g := guardOf(t, l)
	require.NoError(t, g.Publish(t.Context(), "r", stamp(t, "0x1:1"), text("first")))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := pointers(1, delayed, nil)
	l.fate = func(key string) fate {
		what := first(key)
		if what == delayed {
			cancel()
		}
		return what
	}
	require.ErrorIs(t, g.Publish(ctx, "r", stamp(t, "0x1:2"), text("second")), fencing.ErrUnknownOutcome)
	require.Len(t, l.late, 1)
	l.fate = nil
	published(t, l, "first")
	return l
}

func published(t *testing.T, s Store, want string) {
	t.Helper()
	content, _, err := guardOf(t, s).Get(t.Context(), "r")
	require.NoError(t, err)
	require.Equal(t, want, string(content))
}

// failing calls between, then fails.
func failing(between func()) func(context.Context) ([]byte, error) {
	return func(context.Context) ([]byte, error) { between(); return nil, errPaid }
}

// An owner pays; the pointer's write is on its way, and its answer lost. Its retry
// reads the pointer, then the first write lands, and the retry's build finds the bill
// paid and fails. "Nothing has been published", said of that Stamp, was wrong: somebody
// else would have paid again.
func TestARetryThatFailsBecauseTheFirstTryWasAppliedIsADuplicate(t *testing.T) {
	l := underWay(t)
	err := guardOf(t, l).Publish(t.Context(), "r", stamp(t, "0x1:2"), failing(l.land))
	require.ErrorIs(t, err, fencing.ErrDuplicate)
	require.NotErrorIs(t, err, errPaid)
	published(t, l, "second")
}

// The same, and the first write lands after the retry has been told that nothing was
// published: it must find its version gone.
func TestAFirstTryCannotBeAppliedAfterItsRetryHasFailed(t *testing.T) {
	l := underWay(t)
	g := guardOf(t, l)
	err := g.Publish(t.Context(), "r", stamp(t, "0x1:2"), failing(func() {}))
	require.Equal(t, errPaid, err)
	l.land()
	published(t, l, "first")
	require.NoError(t, g.Publish(t.Context(), "r", stamp(t, "0x1:2"), text("second")))
	published(t, l, "second")
}

// A content that cannot be written fails a retry as its build does.
func TestARetryWhoseContentIsNotWrittenIsToldOfTheFirstTry(t *testing.T) {
	l := underWay(t)
	s := &contrary{Memory: &l.Memory, on: true}
	err := guardOf(t, s).Publish(t.Context(), "r", stamp(t, "0x1:2"), func(context.Context) ([]byte, error) {
		l.land()
		return []byte("second"), nil
	})
	require.ErrorIs(t, err, fencing.ErrDuplicate)
	require.NotErrorIs(t, err, ErrConflict)
	published(t, l, "second")
}

// A newer owner comes while build runs, which fails by what it sees: its owner must
// hear that it has lost, whether it was admitted by what is there or what was recalled.
func TestAFailedBuildDoesNotHideARefusal(t *testing.T) {
	for name, recalled := range map[string]bool{"Read": false, "Recalled": true} {
		t.Run(name, func(t *testing.T) {
			m := new(Memory)
			g, newer := guardOf(t, m), guardOf(t, m)
			require.NoError(t, g.Publish(t.Context(), "r", stamp(t, "0x1:1"), text("first")))
			if !recalled {
				g = guardOf(t, m)
			}
			err := g.Publish(t.Context(), "r", stamp(t, "0x1:2"), failing(func() {
				require.NoError(t, newer.Raise(t.Context(), "r", stamp(t, "0x2:0").Token))
			}))
			require.ErrorIs(t, err, fencing.ErrStale)
			require.NotErrorIs(t, err, errPaid)
		})
	}
}

// If the store does not answer, nobody has looked what became of an earlier try.
func TestAFailedBuildIsUnknownIfNobodyCouldLook(t *testing.T) {
	s := &gone{lossy: new(lossy)}
	g := guardOf(t, s)
	require.NoError(t, g.Publish(t.Context(), "r", stamp(t, "0x1:1"), text("first")))
	s.fate = pointers(1, lostAsk, nil)
	err := g.Publish(t.Context(), "r", stamp(t, "0x1:2"), failing(func() {}))
	require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
	require.ErrorIs(t, err, errPaid)
}

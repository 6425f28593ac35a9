package fencing_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
)

var errWrite = errors.New("write failed")

func succeed() error { return nil }
func fail() error    { return errWrite }

func mustNotRun(t *testing.T) func() error {
	return func() error {
		t.Error("a command that was not admitted ran")
		return nil
	}
}

func TestGateRemembers(t *testing.T) {
	t.Run("WhatItWasMadeWith", func(t *testing.T) {
		g := fencing.NewGate(stamp(t, 20, 5))
		require.Equal(t, stamp(t, 20, 5), g.Last())
		require.ErrorIs(t, g.Admit(t.Context(), stamp(t, 20, 5), mustNotRun(t)), fencing.ErrDuplicate)
		require.ErrorIs(t, g.Admit(t.Context(), stamp(t, 19, 9), mustNotRun(t)), fencing.ErrStale)
	})
	t.Run("ACommandThatSucceeded", func(t *testing.T) {
		g := fencing.NewGate(fencing.Stamp{})
		require.NoError(t, g.Admit(t.Context(), stamp(t, 7, 1), succeed))
		require.Equal(t, stamp(t, 7, 1), g.Last())
	})
	t.Run("OnlyTheTokenOfACommandThatFailed", func(t *testing.T) {
		g := fencing.NewGate(stamp(t, 6, 9))
		require.Equal(t, errWrite, g.Admit(t.Context(), stamp(t, 7, 1), fail))
		require.Equal(t, stamp(t, 7, 0), g.Last())
		require.NoError(t, g.Admit(t.Context(), stamp(t, 7, 1), succeed), "its retry runs")
	})
	t.Run("NoRefusal", func(t *testing.T) {
		g := fencing.NewGate(stamp(t, 7, 3))
		for _, s := range []fencing.Stamp{{}, stamp(t, 0, 4), stamp(t, 7, 0), stamp(t, 7, 2), stamp(t, 7, 3), stamp(t, 6, 4)} {
			require.Error(t, g.Admit(t.Context(), s, mustNotRun(t)))
			require.Equal(t, stamp(t, 7, 3), g.Last(), "after %s", s)
		}
	})
	t.Run("ARunningCommandOnlyOnceItHasSucceeded", func(t *testing.T) {
		g := fencing.NewGate(stamp(t, 6, 9))
		require.NoError(t, g.Admit(t.Context(), stamp(t, 7, 1), func() error {
			require.Equal(t, stamp(t, 7, 0), g.Last(), "and Last does not wait for it")
			return nil
		}))
	})
}

func TestGateRaise(t *testing.T) {
	t.Run("RefusesTheOlderOwnerFromThenOn", func(t *testing.T) {
		g := fencing.NewGate(fencing.Stamp{})
		require.NoError(t, g.Admit(t.Context(), stamp(t, 10, 1), succeed))
		require.NoError(t, g.Raise(token(t, 12)))
		require.Equal(t, stamp(t, 12, 0), g.Last())
		requireRefusal(t, g.Admit(t.Context(), stamp(t, 10, 2), mustNotRun(t)), fencing.ErrStale, stamp(t, 10, 2), stamp(t, 12, 0))
		require.NoError(t, g.Admit(t.Context(), stamp(t, 12, 1), succeed))
	})
	t.Run("AgainForgetsNoCommand", func(t *testing.T) {
		g := fencing.NewGate(stamp(t, 12, 4))
		require.NoError(t, g.Raise(token(t, 12)))
		require.Equal(t, stamp(t, 12, 4), g.Last())
	})
	t.Run("OfAnOlderOwnerIsRefused", func(t *testing.T) {
		g := fencing.NewGate(stamp(t, 12, 4))
		requireRefusal(t, g.Raise(token(t, 10)), fencing.ErrStale, stamp(t, 10, 0), stamp(t, 12, 4))
		require.Equal(t, stamp(t, 12, 4), g.Last())
	})
	t.Run("OfNobodyIsRefused", func(t *testing.T) {
		g := fencing.NewGate(stamp(t, 12, 4))
		require.ErrorIs(t, g.Raise(fencing.Token{}), fencing.ErrZeroToken)
	})
	// Had it returned earlier, the new owner would read, and the command still
	// running would land after that: the very write it raised the floor against.
	t.Run("WaitsForTheCommandThatIsRunning", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := fencing.NewGate(fencing.Stamp{})
			writing, admitted, raised := make(chan struct{}), make(chan error, 1), make(chan error, 1)
			var report, seen string
			go func() {
				admitted <- g.Admit(t.Context(), stamp(t, 10, 1), func() error {
					<-writing
					report = "old owner's"
					return nil
				})
			}()
			synctest.Wait()
			go func() {
				err := g.Raise(token(t, 12))
				seen = report
				raised <- err
			}()
			synctest.Wait()
			require.Empty(t, raised, "raised beside a running command")
			close(writing)
			require.NoError(t, <-raised)
			require.Equal(t, "old owner's", seen)
			require.NoError(t, <-admitted)
			require.Equal(t, stamp(t, 12, 0), g.Last())
		})
	})
}

// A Gate without a name cannot be overridden: its record would name nothing. One that
// was not made by NewGate, or whose turn does not come in time, stays as it is.
func TestGateThatCannotBeOverriddenStaysAsItIs(t *testing.T) {
	g := fencing.NewGate(stamp(t, 7, 1))
	require.ErrorIs(t, g.Override(t.Context(), stamp(t, 3, 0), "operator", "rebuilt"), fencing.ErrBadResource)
	g.Resource = "r"
	var zero fencing.Gate
	zero.Resource = "r"
	require.ErrorContains(t, zero.Override(t.Context(), stamp(t, 3, 0), "operator", "rebuilt"), "NewGate")
	require.NoError(t, g.Admit(t.Context(), stamp(t, 7, 2), func() error {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, g.Override(ctx, stamp(t, 3, 0), "operator", "rebuilt"), context.Canceled)
		return nil
	}))
	require.Equal(t, stamp(t, 7, 2), g.Last())
	require.Empty(t, g.Overrides())
	require.Empty(t, zero.Overrides())
}

func TestGateNamesItsResource(t *testing.T) {
	g := fencing.NewGate(stamp(t, 12, 1))
	g.Resource = "reports/2026-07.csv"

	err := g.Admit(t.Context(), stamp(t, 10, 2), mustNotRun(t))
	requireRefusal(t, err, fencing.ErrStale, stamp(t, 10, 2), stamp(t, 12, 1))
	var stale *fencing.StaleError
	require.ErrorAs(t, err, &stale)
	require.Equal(t, "reports/2026-07.csv", stale.Resource)
	require.ErrorContains(t, err, `"reports/2026-07.csv"`)

	for _, s := range []fencing.Stamp{{}, stamp(t, 12, 0)} {
		require.ErrorContains(t, g.Admit(t.Context(), s, mustNotRun(t)), `"reports/2026-07.csv"`)
	}
	require.ErrorContains(t, g.Raise(token(t, 10)), `"reports/2026-07.csv"`)
	require.NoError(t, g.Raise(token(t, 12)))
	require.Equal(t, errWrite, g.Admit(t.Context(), stamp(t, 12, 2), fail), "a command's own error is not touched")
}

func TestGateGivesUpItsTurn(t *testing.T) {
	t.Run("WhenACommandPanics", func(t *testing.T) {
		g := fencing.NewGate(stamp(t, 6, 9))
		require.PanicsWithValue(t, "boom", func() {
			_ = g.Admit(t.Context(), stamp(t, 7, 1), func() error { panic("boom") })
		})
		require.Equal(t, stamp(t, 7, 0), g.Last(), "seen, and nothing of it applied")
		require.NoError(t, g.Admit(t.Context(), stamp(t, 7, 1), succeed))
	})
	t.Run("WhenACommandEndsItsGoroutine", func(t *testing.T) {
		g := fencing.NewGate(stamp(t, 6, 9))
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = g.Admit(t.Context(), stamp(t, 7, 1), func() error { runtime.Goexit(); return nil })
		}()
		<-done
		require.Equal(t, stamp(t, 7, 0), g.Last())
		require.NoError(t, g.Admit(t.Context(), stamp(t, 7, 1), succeed))
	})
}

func TestGateAndContext(t *testing.T) {
	errCause := errors.New("the caller has gone home")

	t.Run("EndingInTheQueueRunsNothing", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := fencing.NewGate(fencing.Stamp{})
			g.Resource = "r"
			writing, first := make(chan struct{}), make(chan error, 1)
			go func() { first <- g.Admit(t.Context(), stamp(t, 7, 1), func() error { <-writing; return nil }) }()
			synctest.Wait()

			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errCause)
			defer cancel()
			require.ErrorIs(t, g.Admit(ctx, stamp(t, 9, 1), mustNotRun(t)), errCause)
			close(writing)
			require.NoError(t, <-first)
			require.Equal(t, stamp(t, 7, 1), g.Last(), "nothing was looked at")
		})
	})
	t.Run("EndedBeforeRunsNothingThoughTheGateIsFree", func(t *testing.T) {
		g := fencing.NewGate(fencing.Stamp{})
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errCause)
		for range 100 { // select tosses a coin
			require.ErrorIs(t, g.Admit(ctx, stamp(t, 9, 1), mustNotRun(t)), errCause)
		}
		require.Equal(t, fencing.Stamp{}, g.Last())
		require.NoError(t, g.Admit(t.Context(), stamp(t, 9, 1), succeed), "no turn was kept")
	})
	t.Run("EndingWhileItRunsDoesNotUndoIt", func(t *testing.T) {
		g := fencing.NewGate(fencing.Stamp{})
		ctx, cancel := context.WithCancel(t.Context())
		require.NoError(t, g.Admit(ctx, stamp(t, 9, 1), func() error { cancel(); return nil }))
		require.Equal(t, stamp(t, 9, 1), g.Last())
	})
}

func TestGateMisused(t *testing.T) {
	t.Run("WithoutAFunction", func(t *testing.T) {
		g := fencing.NewGate(stamp(t, 6, 9))
		require.Error(t, g.Admit(t.Context(), stamp(t, 7, 1), nil))
		require.Equal(t, stamp(t, 6, 9), g.Last())
	})
	// On a nil channel it would wait for ever, and Raise takes no context.
	t.Run("TheZeroGateRefusesAtOnce", func(t *testing.T) {
		var g fencing.Gate
		require.ErrorContains(t, g.Admit(t.Context(), stamp(t, 7, 1), mustNotRun(t)), "NewGate")
		require.ErrorContains(t, g.Raise(token(t, 7)), "NewGate")
		require.Equal(t, fencing.Stamp{}, g.Last())
	})
}

// Case 25: the guard is asked, its owner is paused, and the write comes when another
// owner has written. With the gate there is no such moment: the other waits.
func TestGateJudgesAndWritesInOneStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := fencing.NewGate(fencing.Stamp{})
		var report []string
		write := func(what string) func() error {
			return func() error { report = append(report, what); return nil }
		}
		resume, a, b := make(chan struct{}), make(chan error, 1), make(chan error, 1)
		go func() {
			a <- g.Admit(t.Context(), stamp(t, 10, 1), func() error {
				<-resume // paused between the check and the write
				return write("A")()
			})
		}()
		synctest.Wait()
		go func() { b <- g.Admit(t.Context(), stamp(t, 12, 1), write("B")) }()
		synctest.Wait()
		require.Empty(t, b, "B wrote between A's check and A's write")

		close(resume)
		require.NoError(t, <-a)
		require.NoError(t, <-b)
		require.Equal(t, []string{"A", "B"}, report)

		err := g.Admit(t.Context(), stamp(t, 10, 2), write("A"))
		requireRefusal(t, err, fencing.ErrStale, stamp(t, 10, 2), stamp(t, 12, 1))
		require.Equal(t, []string{"A", "B"}, report)
	})
}

// Case 25: 64 owners and their retries at one gate at once. The resource's own state
// is unguarded on purpose: the race detector is a part of this test.
func TestGateUnderManyGoroutines(t *testing.T) {
	const owners, commands = 64, 20
	g := fencing.NewGate(fencing.Stamp{})
	var applied []fencing.Stamp

	var wg sync.WaitGroup
	for owner := range uint64(owners) {
		wg.Go(func() {
			tok := token(t, 100+owner)
			if owner%2 == 0 {
				if err := g.Raise(tok); err != nil && !errors.Is(err, fencing.ErrStale) {
					t.Error(err)
				}
			}
			q := fencing.NewSequencer(tok)
			for range commands {
				s := q.Next()
				failed := false
				for range 3 {
					err := g.Admit(t.Context(), s, func() error {
						if s.Seq%3 == 0 && !failed {
							failed = true
							return errWrite
						}
						applied = append(applied, s)
						return nil
					})
					var stale *fencing.StaleError
					switch {
					case err == nil, errors.Is(err, errWrite):
					case errors.Is(err, fencing.ErrDuplicate): // its own repetition below
					case errors.Is(err, fencing.ErrStale) && errors.As(err, &stale):
						if stale.Presented != s || stale.Highest.Token.Compare(tok) <= 0 {
							t.Errorf("%s was refused by %v", s, err)
						}
					default:
						t.Errorf("%s: %v", s, err)
					}
				}
			}
		})
	}
	wg.Wait()

	require.NotEmpty(t, applied)
	for i := range applied[1:] {
		require.Negative(t, applied[i].Compare(applied[i+1]), "%s was applied before %s", applied[i], applied[i+1])
	}
	require.Equal(t, stamp(t, 100+owners-1, commands), g.Last(), "the newest owner is never refused")
	require.Equal(t, g.Last(), applied[len(applied)-1])
}

// Cases 26 and 45: two owners, and two commands of one owner, that come in any order.
func TestGateTakesConcurrentCommandsInEitherOrder(t *testing.T) {
	for _, c := range []struct {
		name        string
		first, then fencing.Stamp
		late        error
	}{
		{"OlderOwnerSecond", stamp(t, 8, 1), stamp(t, 7, 1), fencing.ErrStale},
		{"OlderOwnerFirst", stamp(t, 7, 1), stamp(t, 8, 1), nil},
		{"SecondCommandBeforeTheFirst", stamp(t, 9, 2), stamp(t, 9, 1), fencing.ErrSuperseded},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := fencing.NewGate(fencing.Stamp{})
				admit := func(s fencing.Stamp) <-chan error {
					done := make(chan error, 1)
					go func() { done <- g.Admit(t.Context(), s, func() error { time.Sleep(time.Second); return nil }) }()
					synctest.Wait()
					return done
				}
				first, then := admit(c.first), admit(c.then)
				require.NoError(t, <-first)
				require.ErrorIs(t, <-then, c.late)
				require.Equal(t, max(c.first.Seq, c.then.Seq), g.Last().Seq)
			})
		})
	}
}

// Case 45: a command fails, the holder's next one is applied, and only then the first
// is tried again. To say "already applied" would report a write that never was;
// to apply it would undo the later one.
func TestGateNeitherRunsNorConfirmsARetryThatWasOvertaken(t *testing.T) {
	holder := fencing.NewSequencer(token(t, 7))
	first, second := holder.Next(), holder.Next()
	g := fencing.NewGate(fencing.Stamp{})
	require.Equal(t, errWrite, g.Admit(t.Context(), first, fail))
	require.NoError(t, g.Admit(t.Context(), second, succeed))
	for range 2 {
		err := g.Admit(t.Context(), first, mustNotRun(t))
		requireRefusal(t, err, fencing.ErrSuperseded, first, second)
		require.NotErrorIs(t, err, fencing.ErrDuplicate)
	}
	require.ErrorIs(t, g.Admit(t.Context(), second, mustNotRun(t)), fencing.ErrDuplicate, "this one was applied")
}

// Case: an ensemble rebuilt from nothing gives out small tokens. They are refused
// until an operator acts; both ways out lead on.
func TestGateAfterARebuiltEnsemble(t *testing.T) {
	old, rebuilt := stamp(t, 0x500000009, 3), stamp(t, 0x100000004, 1)
	g := fencing.NewGate(old)
	err := g.Admit(t.Context(), rebuilt, mustNotRun(t))
	requireRefusal(t, err, fencing.ErrStale, rebuilt, old)
	require.ErrorContains(t, err, "older than remembered")

	t.Run("EpochRaisedAboveTheOldOne", func(t *testing.T) {
		require.NoError(t, fencing.NewGate(old).Admit(t.Context(), stamp(t, 0x700000001, 1), succeed))
	})
	t.Run("MemoryResetByAnOverride", func(t *testing.T) {
		g := fencing.NewGate(fencing.Stamp{})
		require.NoError(t, g.Admit(t.Context(), rebuilt, succeed))
		require.Equal(t, fmt.Sprint(rebuilt), g.Last().String())
	})
}

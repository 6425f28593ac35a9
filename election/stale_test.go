package election_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/election"
	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/internal/stage"
	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
)

// overtaken is what a lead does about a command that was refused: within bounds how
// long word of a later term can be on its way.
func overtaken(ctx context.Context, refused error, within time.Duration) error {
	if !errors.Is(refused, fencing.ErrStale) {
		return refused
	}
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return refused // of a Token that this ensemble has not given
	}
}

// The resource knows of the next term before its leader does. The leader waits to
// be told, and stands again; and the floor that a term begins with needs no command.
func TestAStaleLeadThatWaitsForItsEndStandsAgain(t *testing.T) {
	for claim, fault := range map[string]func(s *scene, of *zktest.Target, node string){
		"WordIsLate": func(s *scene, of *zktest.Target, node string) {
			of.Freeze(zktest.ToClient)
			time.AfterFunc(s.Timeout/8, of.Unfreeze)
			require.NoError(s.T, s.Operator.Delete(node))
		},
		"WordNeverComes": func(s *scene, of *zktest.Target, node string) {
			of.Freeze(zktest.ToClient)
			time.AfterFunc(2*s.Timeout, of.Unfreeze)
			require.NoError(s.T, s.Operator.Delete(node))
		},
	} {
		t.Run(claim, func(t *testing.T) {
			virtually(t, func(s *scene) {
				ledger := stage.NewLedger()
				a, e := s.candidate("a")
				_, other := s.candidate("b")
				var told journal[error]
				var refused time.Time
				done := make(chan error, 1)
				go func() {
					done <- e.Run(s.Ctx, func(ctx context.Context, t *election.Term) error {
						if err := ledger.Raise(t.Token()); err != nil {
							return overtaken(ctx, err, s.Timeout)
						}
						if !refused.IsZero() {
							return ledger.Write(ctx, t.Next())
						}
						fault(s, s.Of(a), s.Path+"/"+s.Nodes()[0])
						next := s.lead(other)
						require.NoError(s.T, ledger.Raise(next.Token()))
						refused = time.Now()
						require.NoError(s.T, ctx.Err(), "it has not been told")
						err := ledger.Write(ctx, t.Next())
						require.ErrorIs(s.T, err, fencing.ErrStale)
						err = overtaken(ctx, err, s.Timeout)
						require.LessOrEqual(s.T, time.Since(refused), s.Timeout)
						told.write(err)
						require.NoError(s.T, next.Resign(s.Ctx))
						return err
					})
				}()
				select {
				case err := <-done:
					require.NoError(s.T, err, "led again, and was let through")
				case <-time.After(4 * s.Timeout):
					require.FailNow(s.T, "never led again")
				}
				require.Len(s.T, told.read(), 1)
				require.ErrorIs(s.T, told.read()[0], zklock.ErrLost)
				require.Len(s.T, ledger.Admitted(), 1)
				require.NoError(s.T, ledger.Broken())
			})
		})
	}
}

// The resource remembers a Token from elsewhere. No word comes, and to stand again
// would not help: Run returns the refusal.
func TestAStaleLeadThatNobodyOvertookEndsItsRun(t *testing.T) {
	virtually(t, func(s *scene) {
		_, e := s.candidate("a")
		ledger := stage.NewLedger()
		foreign, err := fencing.FromUint64(1 << 40)
		require.NoError(s.T, err)
		require.NoError(s.T, ledger.Raise(foreign))
		began := time.Now()
		err = e.Run(s.Ctx, func(ctx context.Context, t *election.Term) error {
			return overtaken(ctx, ledger.Raise(t.Token()), s.Timeout)
		})
		require.ErrorIs(s.T, err, fencing.ErrStale)
		require.WithinDuration(s.T, began.Add(s.Timeout), time.Now(), time.Second)
	})
}

// What a resource elsewhere does with the floor of a new term.
func TestTheFloorOfATermIsAStampWithoutACommand(t *testing.T) {
	virtually(t, func(s *scene) {
		_, e := s.candidate("a")
		old := s.lead(e)
		late := old.Next()
		require.NoError(s.T, old.Resign(s.Ctx))
		term := s.lead(e)
		floor, err := fencing.Check(late, fencing.Stamp{Token: term.Token()})
		require.ErrorIs(s.T, err, fencing.ErrZeroSeq)
		require.Equal(s.T, fencing.Stamp{Token: term.Token()}, floor)
		_, err = fencing.Check(floor, old.Next())
		require.ErrorIs(s.T, err, fencing.ErrStale)
		_, err = fencing.Check(floor, term.Next())
		require.NoError(s.T, err)
		require.NoError(s.T, term.Resign(s.Ctx))
	})
}

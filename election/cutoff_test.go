package election_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/election"
	"github.com/zkfence/zkfence/internal/stage"
	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zktest"
)

// phases is in how many places between two proofs, two relays and two ticks the
// fault is made to fall. The lock, whose trust a term's is, has more.
const phases = 40

// A follower cut off from its quorum, and a leader that its followers have left
// without its noticing, both go on answering the clients that they have while
// what stands for these clients is given away by others.
func TestInEveryPhaseATermEndsBeforeItsSuccessorBegins(t *testing.T) {
	for claim, fault := range map[string]func(q *stage.Quorum) (on *zktest.Server, strike func()){
		"OnAFollowerCutOffFromItsQuorum": func(q *stage.Quorum) (*zktest.Server, func()) {
			f := q.Except(q.Leader())[0]
			return f, func() { q.Ensemble.Isolate(f) }
		},
		"OnALeaderDeposedWithoutKnowing": func(q *stage.Quorum) (*zktest.Server, func()) {
			return q.Leader(), func() { q.Ensemble.Depose() }
		},
	} {
		t.Run(claim, func(t *testing.T) {
			stage.InEveryPhase(t, phases, func(t *testing.T, q *stage.Quorum, wait func(*zkconn.Client)) {
				on, strike := fault(q)
				others := q.Except(on)
				ca, cb := q.Dial("a", on), q.Dial("b", others[0], others[1])
				a, err := election.New(ca, q.Path, "a")
				require.NoError(t, err)
				b, err := election.New(cb, q.Path, "b")
				require.NoError(t, err)
				ledger := stage.NewLedger()
				ctx, cancel := context.WithCancel(q.Ctx)
				defer cancel()

				var first *election.Term
				var end *stage.Ending
				began := make(chan struct{})
				over := make(chan error, 2)
				go func() {
					over <- a.Run(ctx, func(ctx context.Context, term *election.Term) error {
						if first != nil {
							return context.Cause(ctx) // it may come back, and lead in its turn
						}
						first = term
						end = q.Watch(ctx, q.Path+"/"+q.Leader().Children(q.Path)[0])
						close(began)
						for ctx.Err() == nil {
							if err := ledger.Write(ctx, term.Next()); err != nil {
								return err
							}
							time.Sleep(10 * time.Millisecond)
						}
						return context.Cause(ctx)
					})
				}()
				q.Until(began, "the first term")
				led := make(chan time.Time, 1)
				go func() {
					over <- b.Run(ctx, func(ctx context.Context, term *election.Term) error {
						led <- time.Now()
						if err := ledger.Write(ctx, term.Next()); err != nil {
							return err
						}
						if err := ledger.Write(ctx, first.Next()); err == nil {
							t.Error("the late leader's command was let in")
						}
						<-ctx.Done()
						return nil
					})
				}()
				q.Eventually(func() bool { return len(q.Leader().Children(q.Path)) == 2 }, "the second candidate")
				wait(ca)
				strike()
				select {
				case at := <-led:
					q.Until(end.Done, "the end of the first term")
					require.True(t, end.At.Before(at), "two leaders at once")
					require.True(t, end.Alive, "the term ended %v before the next began, but after its node was gone", at.Sub(end.At))
				case <-time.After(3 * stage.QuorumTimeout):
					require.FailNow(t, "nobody took over")
				}
				require.NoError(t, ledger.Broken())
				q.Ensemble.Heal()
				cancel()
				for range 2 {
					require.ErrorIs(t, <-over, context.Canceled)
				}
			})
		})
	}
}

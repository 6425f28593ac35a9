package sqlfence_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/fencetest"
)

// The database is killed again and again under owners that write, each of whom is
// replaced by a newer one when refused, and sends what it got no answer to again with
// the same Stamp. What was answered is there, in order, and nothing is there twice.
func TestACrashOfTheDatabaseLosesAndRepeatsNothing(t *testing.T) {
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			d.wanted(t)
			server, err := start(t, d)
			if err != nil {
				t.Skipf("SKIPPED: no server to crash: %v", err)
			}
			p := d.at(t, server.source)
			p.migrate(false)
			crashes(t, server, p)
		})
	}
}

func crashes(t *testing.T, server *server, p *place) {
	const owners, crashes, answersBetween = 4, 6, 25
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var (
		clock, tokens, answered, unanswered atomic.Int64
		over                                atomic.Bool
		mu                                  sync.Mutex
		attempts                            []fencetest.Attempt
		wg                                  sync.WaitGroup
	)
	for i := range owners {
		guard := p.guard(p.db())
		random := rand.New(rand.NewPCG(1, uint64(i)))
		wg.Go(func() {
			var q *fencing.Sequencer
			for !over.Load() && ctx.Err() == nil {
				if q == nil || random.IntN(20) == 0 {
					q = fencing.NewSequencer(token(uint64(100 + tokens.Add(1))))
				}
				s := q.Next()
				for {
					a := fencetest.Attempt{Entry: s.String(), Stamp: s, Began: clock.Add(1)}
					a.Err = guard.Do(ctx, "r", s, appending(ctx, "r", s.String()))
					a.Ended = clock.Add(1)
					mu.Lock()
					attempts = append(attempts, a)
					mu.Unlock()
					if refused(a.Err) {
						q = nil // another owner has come
						break
					}
					if known(a.Err) {
						answered.Add(1)
						break
					}
					unanswered.Add(1)
					select { // it is down; each owner looks for itself
					case <-ctx.Done():
						return
					case <-time.After(time.Duration(random.IntN(20)) * time.Millisecond):
					}
				}
			}
		})
	}
	random := rand.New(rand.NewPCG(2, 0))
	fail := func() error {
		for range crashes {
			for goal := answered.Load() + answersBetween + random.Int64N(50); answered.Load() < goal; {
				select {
				case <-ctx.Done():
					return context.Cause(ctx)
				case <-time.After(time.Millisecond):
				}
			}
			before := unanswered.Load()
			if err := server.crash(ctx); err != nil {
				return err
			}
			if unanswered.Load() == before {
				return errors.New("nobody has noticed the crash")
			}
		}
		return nil
	}()
	over.Store(true)
	wg.Wait()
	require.NoError(t, fail)
	require.NoError(t, ctx.Err())
	require.NoError(t, fencetest.Judge(p.entries(p.db(), "r"), attempts))
	t.Logf("%d crashes, %d tries, %d without an answer, %d owners", crashes, len(attempts), unanswered.Load(), tokens.Load())
}

func refused(err error) bool {
	return errors.Is(err, fencing.ErrStale) || errors.Is(err, fencing.ErrSuperseded)
}

// known reports whether the answer says that the command was applied.
func known(err error) bool { return err == nil || errors.Is(err, fencing.ErrDuplicate) }

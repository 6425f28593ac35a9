package zklock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
)

// The create took effect and its answer was lost. The client looked for the
// node once, that read failed as well, and it gave up: the node lived on for as
// long as the session did, and everybody queued behind a client that had no idea
// it was in line.
func TestALostCreateIsAdoptedHoweverOftenTheSearchForItFails(t *testing.T) {
	many := func(of *zktest.Target, times int) {
		of.DropReply(zktest.OpMulti, times)
		of.DropRequest(zktest.OpMulti, times)
		of.DropReply(zktest.OpGetChildren2, times)
		of.DropRequest(zktest.OpGetChildren2, times)
		of.DropReply(zktest.OpExists, times)
		of.DropRequest(zktest.OpExists, times)
	}
	for _, c := range []struct {
		claim  string
		search func(of *zktest.Target)
		outage bool
	}{
		{claim: "Never", search: func(*zktest.Target) {}},
		{claim: "AtTheProof", search: func(of *zktest.Target) { of.DropReply(zktest.OpMulti, 1) }},
		{claim: "AtTheList", search: func(of *zktest.Target) { of.DropRequest(zktest.OpGetChildren2, 1) }},
		{claim: "AtTheOwner", search: func(of *zktest.Target) { of.DropReply(zktest.OpExists, 1) }},
		{claim: "ManyTimesEverywhere", search: func(of *zktest.Target) { many(of, 3) }},
		{claim: "InAnOutage", outage: true, search: func(of *zktest.Target) {
			of.At(zktest.OpGetChildren2, func(zktest.Request) {
				of.Refuse(true)
				of.Cut()
			})
		}},
	} {
		t.Run(c.claim, func(t *testing.T) {
			everywhere(t, func(s *scene) {
				require.NoError(s.T, s.Operator.Create(s.Path, nil))
				a, b, file := s.Dial("a"), s.Dial("b"), s.protects()
				session, of := s.Session(a), s.Of(a)
				of.DropReply(zktest.OpCreate, 1)
				c.search(of)

				r := s.locking(s.Ctx, s.mutex(a))
				if c.outage {
					s.Pass(s.Timeout / 4)
					require.False(s.T, r.returned())
					of.Refuse(false)
				}
				h := s.granted(r, s.Timeout)
				require.Len(s.T, s.Nodes(), 1)
				require.Equal(s.T, 1, of.Count(zktest.OpCreate), "it was there all the time")
				file.admits(h)

				next := s.locking(s.Ctx, s.mutex(b))
				require.False(s.T, next.returned())
				require.NoError(s.T, h.Unlock(s.Ctx))
				got := s.granted(next, 2*time.Second)
				file.admits(got)
				file.refuses(h)
				require.Equal(s.T, session, s.Session(a), "nothing of this went with a session")
			})
		})
	}
}

// What was lost may as well have been a refusal. Whoever takes every lost answer
// for a node that must be found searches for ever; whoever takes a search
// without a directory for a failed one does the same.
func TestALostRefusalIsNoNode(t *testing.T) {
	everywhere(t, func(s *scene) {
		a := s.Dial("a")
		of := s.Of(a)
		of.DropReply(zktest.OpCreate, 1) // there is no directory yet
		of.DropReply(zktest.OpCreateContainer, 1)
		h := s.lock(s.mutex(a), s.Timeout)
		require.Len(s.T, s.Nodes(), 1)
		require.NoError(s.T, h.Unlock(s.Ctx))
		require.Empty(s.T, s.Nodes())
	})
}

// The caller's context ends somewhere between the lost answer and the end of the
// search. The search ended with it, and nobody was left who knew of the node.
func TestALostCreateThatIsGivenUpLeavesNoOrphan(t *testing.T) {
	for _, when := range []struct {
		claim string
		hook  func(of *zktest.Target, fn func(zktest.Request))
	}{
		{"AtTheLostAnswer", func(of *zktest.Target, fn func(zktest.Request)) { of.AtReply(zktest.OpCreate, fn) }},
		{"AtTheProof", func(of *zktest.Target, fn func(zktest.Request)) { of.At(zktest.OpMulti, fn) }},
		{"AtTheList", func(of *zktest.Target, fn func(zktest.Request)) { of.At(zktest.OpGetChildren2, fn) }},
		{"AtTheOwner", func(of *zktest.Target, fn func(zktest.Request)) { of.AtReply(zktest.OpExists, fn) }},
	} {
		for _, sweep := range []struct {
			claim string
			times int
		}{{"", 0}, {"AndTheSweepFailsOnce", 1}, {"AndTheSweepFailsManyTimes", 4}} {
			t.Run(when.claim+sweep.claim, func(t *testing.T) {
				everywhere(t, func(s *scene) {
					require.NoError(s.T, s.Operator.Create(s.Path, nil))
					a, b, file := s.Dial("a"), s.Dial("b"), s.protects()
					session, of := s.Session(a), s.Of(a)
					m := s.mutex(a)
					ctx, cancel := context.WithCancelCause(s.Ctx)
					defer cancel(nil)
					of.DropReply(zktest.OpCreate, 1)
					when.hook(of, func(zktest.Request) {
						of.Refuse(true)
						of.Cut()
						cancel(errEnough)
					})

					r := s.locking(ctx, m)
					s.Ended(r.done, time.Second, "Lock has not returned")
					require.ErrorIs(s.T, r.err, errEnough)
					require.ErrorContains(s.T, r.err, s.Path)
					require.Nil(s.T, r.hold)
					require.Len(s.T, s.Nodes(), 1, "the orphan")
					next := s.locking(s.Ctx, s.mutex(b))
					require.False(s.T, next.returned())

					of.DropReply(zktest.OpMulti, sweep.times)
					of.DropRequest(zktest.OpGetChildren2, sweep.times)
					of.DropReply(zktest.OpExists, sweep.times)
					of.DropRequest(zktest.OpDelete, sweep.times)
					of.DropReply(zktest.OpDelete, sweep.times)
					s.Pass(s.Timeout / 8)
					require.False(s.T, next.returned())
					of.Refuse(false)
					got := s.granted(next, 2*time.Second)
					require.Equal(s.T, session, s.Session(a), "the node did not go with its session")
					require.Len(s.T, s.Nodes(), 1)
					require.Equal(s.T, 1, of.Count(zktest.OpCreate))
					file.admits(got)

					again := s.locking(s.Ctx, m)
					require.NoError(s.T, got.Unlock(s.Ctx))
					file.admits(s.granted(again, 2*time.Second))
					require.Equal(s.T, zklock.Held, again.hold.State())
				})
			})
		}
	}
}

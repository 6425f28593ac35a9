package zktest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/wire"
	"github.com/zkfence/zkfence/zktest"
)

func TestEnsembleAsAWhole(t *testing.T) {
	t.Run("TraceIsOneTable", func(t *testing.T) {
		inQuorum(t, func(q *quorum) {
			a := q.raw(q.srv[1], "A", long)
			b := q.raw(q.srv[0], "B", long)
			b.must(wire.OpCreate, create("/b", "", 0, open...))
			time.Sleep(time.Millisecond)
			a.must(wire.OpCreate, create("/a", "", 0, open...))
			require.Equal(q, 2, q.ens.Count(zktest.OpCreate))
			lines := strings.Split(strings.TrimSpace(q.ens.Trace(4)), "\n")
			require.Len(q, lines, 5)
			require.Regexp(q, `^2: +\S+  A#1  s1  createSession `, lines[0])
			require.Regexp(q, `^1: +\S+  B#1  s2  createSession `, lines[1])
			require.Regexp(q, `^1: +\S+  B#1  s2  create "/b" `, lines[2])
			require.Regexp(q, `^2: +\S+  A#1  s1  create "/a" `, lines[3])
			require.Regexp(q, `^sessions: s1=0x\w+  s2=0x\w+$`, lines[4])
			require.Equal(q, strings.Join(lines[3:4], "\n"), strings.Split(q.ens.Trace(1), "\n")[0])
			require.Empty(q, q.ens.Trace(0))
			// The session comes to another server and keeps its name.
			a, err := q.back(q.srv[0], "A", a)
			require.NoError(q, err)
			a.must(wire.OpGetData, watched("/a", false))
			require.Regexp(q, `^1: +\S+  A#2  s1  getData `, q.ens.Trace(1))
		})
	})

	t.Run("FollowersAreWhoFollowsTheLeader", func(t *testing.T) {
		follow := func(q *quorum, numbers ...int) {
			q.Helper()
			var want, got []string
			for _, n := range numbers {
				want = append(want, q.srv[n-1].Addr())
			}
			for _, s := range q.ens.Followers() {
				got = append(got, s.Addr())
			}
			require.Equal(q, want, got)
		}
		inQuorum(t, func(q *quorum) {
			follow(q, 1, 2)
			q.ens.Isolate(q.srv[0])
			follow(q, 2)
			q.ens.Heal()
			old := q.ens.Depose()
			require.Equal(q, q.srv[2].Addr(), old.Addr())
			follow(q)
			q.leader()
			q.settle()
			follow(q, 1) // the second leads, the third knows of nothing
		})
	})

	t.Run("HealAllTakesEverythingBack", func(t *testing.T) {
		inQuorum(t, func(q *quorum) {
			q.srv[0].For(7).DropReply(zktest.AnyOp, 2)
			q.srv[0].Refuse(true)
			require.Equal(q, 2, q.ens.Pending())
			q.ens.Isolate(q.srv[2])
			q.ens.Kill(q.srv[1])
			q.srv[0].Stall(true)
			time.Sleep(time.Minute)
			require.Nil(q, q.ens.Leader())
			q.ens.HealAll()
			q.leader()
			time.Sleep(time.Second)
			require.Len(q, q.ens.Followers(), 2)
			require.Zero(q, q.ens.Pending())
			q.raw(q.srv[0], "A", long)
		})
	})

	t.Run("WhatAnOperatorSetsReachesEveryServer", func(t *testing.T) {
		inQuorum(t, func(q *quorum) {
			c := q.raw(q.srv[1], "A", long)
			require.NoError(q, q.srv[0].Create("/n", nil))
			q.settle()
			c.must(wire.OpGetData, watched("/n", true))
			require.NoError(q, q.srv[0].Set("/n", []byte("x")))
			q.settle()
			for _, s := range q.srv {
				data, stat, err := s.Get("/n")
				require.NoError(q, err)
				require.Equal(q, "x", string(data))
				require.EqualValues(q, 1, stat.Version)
			}
			_, events, err := c.call(wire.OpPing, nil)
			require.NoError(q, err)
			require.Equal(q, []string{"event type=3 state=3 path=/n zxid=-1"}, events)
			q.ens.Kill(q.srv[0])
			require.ErrorIs(q, q.srv[0].Set("/n", nil), zktest.ErrNotServing)
		})
	})
}

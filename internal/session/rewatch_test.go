package session

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/wire"
)

// The client library reads its last zxid for setWatches while its receive loop
// writes it: with -race on, one reconnect in a hundred failed a test.
func TestAnswersWaitUntilWatchesAreSetAgain(t *testing.T) {
	type seen struct {
		r           *rewatch
		over, fused chan struct{}
		passed      chan struct{}
	}
	start := func(ops ...wire.Op) seen {
		s := seen{&rewatch{}, make(chan struct{}), make(chan struct{}), make(chan struct{})}
		s.r.expect(time.Second)
		for _, op := range ops {
			s.r.sending(op)
		}
		go func() { s.r.wait(s.over, s.fused); close(s.passed) }()
		synctest.Wait()
		return s
	}
	passed := func(s seen) bool {
		synctest.Wait()
		select {
		case <-s.passed:
			return true
		default:
			return false
		}
	}
	in := func(claim string, play func(t *testing.T)) {
		t.Run(claim, func(t *testing.T) { synctest.Test(t, play) })
	}

	in("AnAnswerWaits", func(t *testing.T) {
		s := start(wire.OpGetData)
		require.False(t, passed(s))
		s.r.sending(wire.OpSetWatches)
		require.True(t, passed(s))
		s.r.sending(wire.OpSetWatches) // more watches than go into one frame
	})
	in("WhatCredentialsBringDoesNot", func(t *testing.T) {
		require.True(t, passed(start(wire.OpSetAuth, wire.OpSetAuth)), "setWatches is not sent before it has come")
	})
	in("NothingWaitsAfterSetWatches", func(t *testing.T) {
		require.True(t, passed(start(wire.OpSetWatches, wire.OpGetData)))
	})
	in("NothingWaitsWithoutWatches", func(t *testing.T) {
		var r rewatch
		r.sending(wire.OpGetData)
		r.wait(nil, nil)
	})
	in("TheEndOfTheConnectionEndsTheWait", func(t *testing.T) {
		s := start(wire.OpGetData)
		close(s.over)
		require.True(t, passed(s))
		s = start(wire.OpGetData)
		close(s.fused)
		require.True(t, passed(s))
	})
	in("AWaitForNothingIsBoundedAndIsTheOnlyOne", func(t *testing.T) {
		begun := time.Now()
		s := start(wire.OpGetData)
		<-s.passed
		s.r.wait(s.over, s.fused)
		require.Equal(t, time.Second, time.Since(begun))
	})
}

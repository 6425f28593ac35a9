package main

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/zkfence/zkfence/examples/internal/cast"
	"github.com/zkfence/zkfence/zktest"
)

// The workers are this program started again, and in a test this program is the
// test.
func TestMain(m *testing.M) {
	if name := os.Getenv(workerEnv); name != "" {
		if err := runWorker(name, os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// The whole story with a shorter session, in both ways to pause. It takes about as
// long as the session.
func TestLateWriteIsRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		freeze bool
	}{
		{"OfAStoppedProcess", false},
		{"OfAProcessCutOffFromTheEnsemble", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !c.freeze && !cast.CanStop {
				t.Skip("this system cannot stop a process")
			}
			t.Parallel()
			var out bytes.Buffer
			tl := cast.NewTimeline(&out)
			s := incident{timeout: 2 * time.Second, freeze: c.freeze, tl: tl}
			err := s.run(t.Context())
			require.NoError(t, err, "%s", out.String())
			require.Contains(t, out.String(), "older than remembered")
			require.Contains(t, out.String(), "zklock: lost")
			require.Contains(t, out.String(), "the store holds W2's report")
		})
	}
}

// A server grants what it thinks right. What was asked for would make the story
// too short for the pause, and its progress a puzzle.
func TestTheStoryGoesByTheTimeoutThatWasGranted(t *testing.T) {
	t.Parallel()
	server := zktest.New(t, zktest.WithSessionTimeouts(2*time.Second, time.Minute))
	var out bytes.Buffer
	s := incident{servers: []string{server.Addr()}, timeout: 500 * time.Millisecond, freeze: !cast.CanStop, tl: cast.NewTimeline(&out)}
	require.NoError(t, s.run(t.Context()), "%s", &out)
	require.Equal(t, 2*time.Second, s.granted)
	require.Contains(t, out.String(), "for 1 s, its session timeout is 2s")
}

func TestATimeoutThatMakesNoStoryIsRefusedByName(t *testing.T) {
	for _, d := range []time.Duration{-time.Second, 0, 499 * time.Millisecond, time.Minute + 1} {
		require.EqualError(t, checkTimeout(d), "-timeout "+d.String()+": must be between 500ms and 1m0s")
	}
	require.NoError(t, checkTimeout(500*time.Millisecond))
	require.NoError(t, checkTimeout(time.Minute))
}

func TestBadTimeoutEndsTheStory(t *testing.T) {
	var out bytes.Buffer
	s := incident{timeout: -time.Second, tl: cast.NewTimeline(&out)}
	require.ErrorContains(t, s.run(t.Context()), "session timeout")
}

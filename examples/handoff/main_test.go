package main

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
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
			if !c.freeze && !canStop {
				t.Skip("this system cannot stop a process")
			}
			t.Parallel()
			var out bytes.Buffer
			tl := newTimeline(&out)
			s := incident{timeout: 2 * time.Second, freeze: c.freeze, tl: tl}
			err := s.run(t.Context())
			require.NoError(t, err, "%s", out.String())
			require.Contains(t, out.String(), "older than remembered")
			require.Contains(t, out.String(), "zklock: lost")
			require.Contains(t, out.String(), "the store holds W2's report")
		})
	}
}

func TestBadTimeoutEndsTheStory(t *testing.T) {
	var out bytes.Buffer
	s := incident{timeout: -time.Second, tl: newTimeline(&out)}
	require.ErrorContains(t, s.run(t.Context()), "session timeout")
}

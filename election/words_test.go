package election_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/election"
	"github.com/zkfence/zkfence/zklock"
)

func TestALeaderInALog(t *testing.T) {
	for want, l := range map[string]election.Leader{
		"nobody":                         {},
		`"10.0.0.5:8080" at 0x200000007`: {Info: "10.0.0.5:8080", Epoch: 0x200000007},
		`"" at 0x2`:                      {Epoch: 2},
		`"\x1b[2J\n" at 0x2`:             {Info: "\x1b[2J\n", Epoch: 2}, // another program's node
	} {
		require.Equal(t, want, l.String())
		require.Equal(t, want, fmt.Sprint(l))
	}
}

// Each error says once that it is the election's.
func TestErrorsDoNotStutter(t *testing.T) {
	virtually(t, func(s *scene) {
		_, e := s.candidate("a")
		says := func(err, is error) {
			s.T.Helper()
			require.ErrorIs(s.T, err, is)
			require.True(s.T, strings.HasPrefix(err.Error(), "election: "), "%v", err)
			require.Equal(s.T, 1, strings.Count(err.Error(), "election: "), "%v", err)
		}
		_, err := e.Leader(s.Ctx)
		says(err, election.ErrNoLeader)
		term := s.lead(e)
		_, err = e.Campaign(s.Ctx)
		says(err, election.ErrBusy)
		says(e.Run(s.Ctx, func(context.Context, *election.Term) error { return nil }), election.ErrBusy)
		says(term.Ready(s.Ctx, time.Hour), zklock.ErrTooLong)
		why := errors.New("why")
		ctx, cancel := context.WithCancelCause(s.Ctx)
		cancel(why)
		says(term.Ready(ctx, 0), why)
		for _, info := range []string{"a\tb", strings.Repeat("x", election.MaxInfo+1)} {
			require.ErrorContains(s.T, term.SetInfo(s.Ctx, info), "must be")
		}
		require.NoError(s.T, term.Resign(s.Ctx))
		says(term.Ready(s.Ctx, 0), zklock.ErrReleased)
		says(term.SetInfo(s.Ctx, "b"), zklock.ErrReleased)
	})
}

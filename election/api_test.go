package election_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/election"
	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
)

func TestNewNamesWhatIsWrong(t *testing.T) {
	virtually(t, func(s *scene) {
		c := s.Dial("a")
		for claim, bad := range map[string]struct {
			client     *zkconn.Client
			path, info string
			opts       []zklock.Option
			says       []string
		}{
			"NoClient":      {nil, "/p", "", nil, []string{"client = nil"}},
			"AZeroClient":   {&zkconn.Client{}, "/p", "", nil, []string{"zero zkconn.Client"}},
			"ARelativePath": {c, "p", "", nil, []string{`"p"`}},
			"ANilOption":    {c, "/p", "", []zklock.Option{nil}, []string{"option 0"}},
			"AnInfoTooLong": {c, "/p", strings.Repeat("x", election.MaxInfo+1), nil, []string{"257 bytes", "at most 256"}},
			"AnInfoNotUTF8": {c, "/p", "a\xff", nil, []string{`"a\xff"`, "UTF-8"}},
			"ANewLine":      {c, "/p", "a\nb", nil, []string{`"a\nb"`, "control character"}},
			"AnEscape":      {c, "/p", "\x1b[2J", nil, []string{`"\x1b[2J"`, "control character"}},
			"AnEighthBit":   {c, "/p", "\u009b2J", nil, []string{`"\u009b2J"`, "control character"}},
		} {
			_, err := election.New(bad.client, bad.path, bad.info, bad.opts...)
			require.Error(s.T, err, claim)
			for _, says := range append(bad.says, "election: new: ") {
				require.ErrorContains(s.T, err, says, claim)
			}
		}
		opts := make([]zklock.Option, 1, 2)
		opts[0] = zklock.WithMaxQueue(3)
		for _, info := range []string{"", strings.Repeat("é", election.MaxInfo/2)} {
			e, err := election.New(c, "/p", info, opts...)
			require.NoError(s.T, err)
			term, err := e.Campaign(s.Ctx)
			require.NoError(s.T, err)
			l, err := e.Leader(s.Ctx)
			require.NoError(s.T, err)
			require.Equal(s.T, info, l.Info)
			require.NoError(s.T, term.Resign(s.Ctx))
		}
		require.Nil(s.T, opts[:2][1], "the caller's options are left alone")
	})
}

func TestACampaignIsWonFirstComeFirstServed(t *testing.T) {
	everywhere(t, func(s *scene) {
		_, a := s.candidate("a")
		cb, b := s.candidate("b")
		_, err := b.Leader(s.Ctx)
		require.ErrorIs(s.T, err, election.ErrNoLeader)
		require.ErrorContains(s.T, err, s.Path)
		none, err := b.Queue(s.Ctx)
		require.NoError(s.T, err)
		require.Empty(s.T, none)

		first := s.lead(a)
		second := s.stands(s.Ctx, b)
		require.False(s.T, second.returned())
		l, err := b.Leader(s.Ctx)
		require.NoError(s.T, err)
		require.Equal(s.T, election.Leader{Info: "a", Epoch: first.Token().Uint64()}, l)
		line, err := a.Queue(s.Ctx)
		require.NoError(s.T, err)
		require.Len(s.T, line, 2)
		for i, host := range []string{"a", "b"} {
			require.Equal(s.T, host, line[i].Info)
			require.Equal(s.T, i, line[i].Position)
			require.Contains(s.T, s.Nodes(), line[i].Node)
			require.WithinDuration(s.T, time.Now(), line[i].Created, time.Hour)
		}
		require.Equal(s.T, l.Epoch, line[0].Epoch)
		require.Equal(s.T, s.Session(cb), line[1].Session)

		token, ok := fencing.FromContext(first.Context())
		require.True(s.T, ok)
		require.Equal(s.T, first.Token(), token)
		require.Equal(s.T, fencing.Stamp{Token: token, Seq: 1}, first.Next())
		require.Equal(s.T, fencing.Stamp{Token: token, Seq: 2}, first.Next())
		require.Equal(s.T, zklock.Held, first.State())
		require.Positive(s.T, first.Remaining())
		require.NoError(s.T, first.Ready(s.Ctx, 0))
		require.ErrorIs(s.T, first.Ready(s.Ctx, time.Hour), zklock.ErrTooLong)

		require.NoError(s.T, first.Resign(s.Ctx))
		require.ErrorIs(s.T, context.Cause(first.Context()), zklock.ErrReleased)
		require.NoError(s.T, first.Resign(s.Ctx), "again is the same answer")
		require.LessOrEqual(s.T, first.Remaining(), time.Duration(0))
		require.ErrorIs(s.T, first.Ready(s.Ctx, 0), zklock.ErrReleased)
		require.Equal(s.T, fencing.Stamp{Token: token, Seq: 3}, first.Next(), "still the same term's")
		term := s.won(second, s.Timeout)
		require.Positive(s.T, term.Token().Compare(first.Token()))
		require.NoError(s.T, term.Resign(s.Ctx))
		require.Empty(s.T, s.Nodes())
	})
}

// One Election is one candidate: a second campaign would wait for the first one's
// end, which only the caller who waits can bring about.
func TestAnElectionThatCampaignsOrLeadsIsBusy(t *testing.T) {
	virtually(t, func(s *scene) {
		_, a := s.candidate("a")
		_, b := s.candidate("b")
		busy := func() {
			s.T.Helper()
			_, err := a.Campaign(s.Ctx)
			require.ErrorIs(s.T, err, election.ErrBusy)
			require.ErrorContains(s.T, err, s.Path)
			err = a.Run(s.Ctx, func(context.Context, *election.Term) error { return nil })
			require.ErrorIs(s.T, err, election.ErrBusy)
		}
		other := s.lead(b)
		waiting := s.stands(s.Ctx, a)
		busy()
		require.NoError(s.T, other.Resign(s.Ctx))
		term := s.won(waiting, s.Timeout)
		busy()
		require.NoError(s.T, term.Resign(s.Ctx))

		// A campaign that fails is over.
		other = s.lead(b)
		ctx, cancel := context.WithCancelCause(s.Ctx)
		waiting = s.stands(ctx, a)
		why := errors.New("why")
		cancel(why)
		s.Ended(waiting.done, time.Second, "Campaign heeds its context")
		require.ErrorIs(s.T, waiting.err, why)
		s.settle()
		require.Len(s.T, s.Nodes(), 1)
		require.NoError(s.T, other.Resign(s.Ctx))

		// A lost term is too, resigned or not.
		term = s.lead(a)
		require.NoError(s.T, s.Operator.Delete(s.Path+"/"+s.Nodes()[0]))
		s.lost(term, s.Timeout)
		next := s.lead(a)
		require.ErrorIs(s.T, term.Resign(s.Ctx), zklock.ErrLost)
		require.NoError(s.T, next.Context().Err(), "what is done to a term that has ended touches no other")
		require.NoError(s.T, next.Resign(s.Ctx))
	})
}

func TestTheContextOfACampaignIsNotTheTerms(t *testing.T) {
	virtually(t, func(s *scene) {
		_, a := s.candidate("a")
		type key struct{}
		ctx, cancel := context.WithTimeout(context.WithValue(s.Ctx, key{}, "v"), time.Second)
		term, err := a.Campaign(ctx)
		require.NoError(s.T, err)
		cancel()
		s.Pass(3 * s.Timeout)
		require.NoError(s.T, term.Context().Err())
		require.Equal(s.T, "v", term.Context().Value(key{}))
		require.NoError(s.T, term.Resign(s.Ctx))
	})
}

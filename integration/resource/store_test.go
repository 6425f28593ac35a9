package resource_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/integration/history"
	"github.com/zkfence/zkfence/integration/resource"
)

func stamp(t *testing.T, token, seq uint64) fencing.Stamp {
	t.Helper()
	tok, err := fencing.FromUint64(token)
	require.NoError(t, err)
	return fencing.Stamp{Token: tok, Seq: seq}
}

// step is one command and what is said to it; the store after it follows.
type step struct {
	command history.Command
	want    history.Answer
	value   string
}

func serve(t *testing.T, guarded bool) (*resource.Store, *[]fencing.Stamp) {
	t.Helper()
	var mu sync.Mutex
	accepted := new([]fencing.Stamp)
	return resource.Serve(t, guarded, func(s fencing.Stamp) {
		mu.Lock()
		defer mu.Unlock()
		*accepted = append(*accepted, s)
	}), accepted
}

func play(t *testing.T, s *resource.Store, steps []step) {
	t.Helper()
	client := resource.NewClient(s.URL())
	for i, st := range steps {
		a, err := client.Do(t.Context(), st.command)
		require.NoError(t, err)
		require.Equal(t, st.want, a, "step %d: %+v", i, st.command)
		value, last := s.Value()
		require.Equal(t, st.value, value, "step %d", i)
		require.Equal(t, st.want.Last, last, "step %d", i)
	}
}

func raise(s fencing.Stamp) history.Command {
	return history.Command{Call: history.Raise, Stamp: s}
}

func writing(s fencing.Stamp, value string) history.Command {
	return history.Command{Call: history.Write, Stamp: s, Value: value}
}

var read = history.Command{Call: history.Read}

func done(last fencing.Stamp, value ...string) history.Answer {
	return history.Answer{OK: true, Last: last, Value: strings.Join(value, "")}
}

func refused(why history.Refusal, last fencing.Stamp) history.Answer {
	return history.Answer{Refused: why, Last: last}
}

// The rule over HTTP: what a stamp may do, what a refusal says and leaves behind.
func TestAGuardedStoreIsTheRule(t *testing.T) {
	at := func(token, seq uint64) fencing.Stamp { return stamp(t, token, seq) }
	s, accepted := serve(t, true)
	play(t, s, []step{
		{read, done(fencing.Stamp{}), ""},
		{writing(fencing.Stamp{}, "x"), refused(history.Zero, fencing.Stamp{}), ""},
		{raise(at(7, 0)), done(at(7, 0)), ""},
		{raise(at(7, 0)), done(at(7, 0)), ""},
		{writing(at(7, 0), "x"), refused(history.Zero, at(7, 0)), ""},
		{writing(at(7, 1), "a"), done(at(7, 1)), "a"},
		{writing(at(7, 1), "a"), refused(history.Duplicate, at(7, 1)), "a"},
		{writing(at(7, 3), "b"), done(at(7, 3)), "b"},
		{writing(at(7, 2), "x"), refused(history.Superseded, at(7, 3)), "b"},
		{raise(at(7, 0)), done(at(7, 3)), "b"}, // a holder's second look takes nothing back
		{read, done(at(7, 3), "b"), "b"},
		{raise(at(9, 0)), done(at(9, 0)), "b"},
		{writing(at(7, 4), "x"), refused(history.Stale, at(9, 0)), "b"},
		{raise(at(7, 0)), refused(history.Stale, at(9, 0)), "b"},
		// A newer token raises the floor even where its command is refused.
		{writing(at(10, 0), "x"), refused(history.Zero, at(10, 0)), "b"},
		{writing(at(9, 1), "x"), refused(history.Stale, at(10, 0)), "b"},
		{writing(at(11, 1), "c"), done(at(11, 1)), "c"},
		{read, done(at(11, 1), "c"), "c"},
	})
	require.Equal(t, []fencing.Stamp{at(7, 1), at(7, 3), at(11, 1)}, *accepted)
}

// Without its guard the store takes what comes, and tells of it: that is what the
// checker of histories must then find.
func TestAStoreWithoutAGuardAcceptsALateOwner(t *testing.T) {
	s, accepted := serve(t, false)
	newer, older := stamp(t, 9, 1), stamp(t, 7, 1)
	play(t, s, []step{
		{writing(newer, "new"), done(newer), "new"},
		{raise(fencing.Stamp{Token: older.Token}), done(newer), "new"},
		{writing(older, "late"), done(older), "late"},
	})
	require.Equal(t, []fencing.Stamp{newer, older}, *accepted)
}

// What is no command is refused as that, changes nothing, and is no answer to a
// worker.
func TestWhatIsNoCommandIsABadRequest(t *testing.T) {
	s, accepted := serve(t, true)
	client := resource.NewClient(s.URL())
	_, err := client.Do(t.Context(), writing(stamp(t, 7, 1), "a"))
	require.NoError(t, err)
	for name, body := range map[string]string{
		"Nothing":         "",
		"NoJSON":          "write",
		"CutShort":        `{"Call":"write","Stamp":"8:2","Va`,
		"NoCall":          `{}`,
		"AnUnknownCall":   `{"Call":"erase","Stamp":"8:2"}`,
		"AStampOfNoForm":  `{"Call":"write","Stamp":"8","Value":"x"}`,
		"ANegativeNumber": `{"Call":"write","Stamp":"8:-2","Value":"x"}`,
	} {
		t.Run(name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL(), strings.NewReader(body))
			require.NoError(t, err)
			resp, err := new(http.Client).Do(req)
			require.NoError(t, err)
			defer resp.Body.Close()
			said, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.Equal(t, http.StatusBadRequest, resp.StatusCode, "%s", said)
			require.NotEmpty(t, said)
			value, last := s.Value()
			require.Equal(t, "a", value)
			require.Equal(t, stamp(t, 7, 1), last)
		})
	}
	_, err = client.Do(t.Context(), history.Command{Call: "erase"})
	require.ErrorContains(t, err, "400")
	require.Len(t, *accepted, 1)
}

// Whoever has given up waiting knows nothing, and is told so by an error.
func TestAClientWithoutAnAnswerSaysSo(t *testing.T) {
	s, _ := serve(t, true)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := resource.NewClient(s.URL()).Do(ctx, read)
	require.ErrorIs(t, err, context.Canceled)
}

// Comparison and write are one step: of writers that come at once, each of the
// accepted is newer than the one before.
func TestWritersAtOnceAreAcceptedInOrder(t *testing.T) {
	const writers, each = 8, 25
	s, accepted := serve(t, true)
	var wg sync.WaitGroup
	errs := make([]error, writers)
	for w := range writers {
		stamps := make([]fencing.Stamp, each)
		for i := range stamps {
			stamps[i] = stamp(t, uint64(1+i), uint64(1+w))
		}
		wg.Go(func() {
			client := resource.NewClient(s.URL())
			for _, st := range stamps {
				if _, errs[w] = client.Do(t.Context(), writing(st, st.String())); errs[w] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.NotEmpty(t, *accepted)
	for i, st := range (*accepted)[1:] {
		require.Positive(t, st.Compare((*accepted)[i]), "%v after %v", st, (*accepted)[i])
	}
	value, last := s.Value()
	require.Equal(t, last.String(), value)
	require.Equal(t, (*accepted)[len(*accepted)-1], last)
}

package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/examples/internal/fenced"
	"github.com/zkfence/zkfence/fencing"
)

func stamp(t *testing.T, text string) fencing.Stamp {
	t.Helper()
	s, err := fencing.ParseStamp(text)
	require.NoError(t, err)
	return s
}

// The judge must not take the ledger's word: each of these histories says that all
// was well.
func TestProve(t *testing.T) {
	accepted := func(who, s string) decision { return decision{From: who, Stamp: stamp(t, s)} }
	raised := func(s string) decision { return decision{Stamp: stamp(t, s), Raise: true} }
	refused := func(who, s, known string) decision {
		d := decision{From: who, Stamp: stamp(t, s), Known: stamp(t, known)}
		_, d.Reason = fencing.Check(d.Known, d.Stamp)
		require.Error(t, d.Reason)
		return d
	}
	for _, c := range []struct {
		name    string
		history []decision
		want    string // "": went well
	}{
		{"TermsInOrder", []decision{raised("0x5:0"), accepted("C1", "0x5:1"), accepted("C1", "0x5:3"), raised("0x9:0"), accepted("C2", "0x9:1"), refused("C1", "0x5:4", "0x9:1"), accepted("C2", "0x9:2")}, ""},
		{"AnOlderTermsCommandAfterANewer", []decision{accepted("C1", "0x5:1"), accepted("C2", "0x9:1"), accepted("C1", "0x5:2")}, "decision 3: 0x5:2 of C1 was accepted after 0x9:1: BACKWARDS"},
		{"AnOlderTermsCommandAfterTheFloorHasRisen", []decision{accepted("C1", "0x5:1"), raised("0x9:0"), accepted("C1", "0x5:2")}, "decision 3: 0x5:2 of C1 was accepted after 0x9 had come: BACKWARDS"},
		{"AnOlderTermsCommandAfterANewerOneWasRefused", []decision{accepted("C1", "0x5:1"), {From: "C2", Stamp: stamp(t, "0x9:0"), Reason: fencing.ErrZeroSeq}, accepted("C1", "0x5:2")}, "decision 3: 0x5:2 of C1 was accepted after 0x9 had come: BACKWARDS"},
		{"AnOlderCommandOfTheSameTerm", []decision{accepted("C1", "0x5:2"), accepted("C1", "0x5:1")}, "decision 2: 0x5:1 of C1 was accepted after 0x5:2: BACKWARDS"},
		{"TheSameCommandTwice", []decision{accepted("C1", "0x5:1"), accepted("C1", "0x5:1")}, "decision 2: 0x5:1 of C1 was accepted after 0x5:1: BACKWARDS"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := prove(c.history)
			if c.want != "" {
				require.EqualError(t, err, c.want)
				return
			}
			require.NoError(t, err)
			require.NoError(t, p.whole())
			require.Equal(t, 4, p.accepted)
			require.Equal(t, 1, p.refused)
			require.Equal(t, []term{
				{"C1", stamp(t, "0x5:1"), stamp(t, "0x5:3"), 2},
				{"C2", stamp(t, "0x9:1"), stamp(t, "0x9:2"), 2},
			}, p.terms)
		})
	}

	t.Run("WithoutATakeoverItIsNoStory", func(t *testing.T) {
		p, err := prove([]decision{accepted("C1", "0x5:1")})
		require.NoError(t, err)
		require.EqualError(t, p.whole(), "nobody has taken over")
	})
	t.Run("WithoutALateCommandItIsNoStory", func(t *testing.T) {
		// One that came twice is refused as well, and shows nothing.
		p, err := prove([]decision{accepted("C1", "0x5:1"), accepted("C2", "0x9:1"), refused("C2", "0x9:1", "0x9:1")})
		require.NoError(t, err)
		require.EqualError(t, p.whole(), "no late command was refused")
	})
}

func TestLedger(t *testing.T) {
	l := newLedger()
	server := httptest.NewServer(fenced.Authenticated("secret", l.handler()))
	t.Cleanup(server.Close)
	c := fenced.NewClient(server.URL+"/ledger", "secret")
	put := func(s string) error { return c.Put(t.Context(), stamp(t, s), []byte(`{"from":"C1","text":"entry"}`)) }

	require.NoError(t, put("0x5:1"))
	require.ErrorIs(t, put("0x5:1"), fencing.ErrDuplicate)
	require.NoError(t, put("0x5:3"))
	require.ErrorIs(t, put("0x5:2"), fencing.ErrSuperseded)
	// The two levels: a new leader's floor alone refuses every number of an older one.
	require.NoError(t, c.Raise(t.Context(), stamp(t, "0x9:0").Token))
	require.ErrorIs(t, put("0x5:4"), fencing.ErrStale)
	require.ErrorIs(t, c.Raise(t.Context(), stamp(t, "0x5:0").Token), fencing.ErrStale)
	require.NoError(t, put("0x9:1"), "numbers begin anew with each term")
	require.ErrorContains(t, c.Put(t.Context(), stamp(t, "0xb:1"), []byte("no JSON")), "400")
	require.ErrorContains(t, fenced.NewClient(server.URL+"/ledger", "guess").Raise(t.Context(), stamp(t, "0xb:0").Token), http.StatusText(http.StatusUnauthorized))
	require.Equal(t, stamp(t, "0x9:1"), l.last, "what is no command raises no floor")

	p, err := prove(l.decisions())
	require.NoError(t, err)
	require.NoError(t, p.whole())
	require.Equal(t, 3, p.accepted)
	require.Equal(t, 3, p.refused)
}

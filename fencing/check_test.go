package fencing_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
)

// remember is what a resource does with Check's answer.
func remember(last, next fencing.Stamp, succeed bool) (remembered fencing.Stamp, err error) {
	floor, err := fencing.Check(last, next)
	if err == nil && succeed {
		return next, nil
	}
	return floor, err
}

// The rule spelt out: every order of token and of seq, and both ends of the
// command.
func TestCheckInEveryOrder(t *testing.T) {
	last := stamp(t, 20, 5)
	tokens := map[string]uint64{"Older": 10, "Equal": 20, "Newer": 30}
	seqs := map[string]uint64{"Older": 4, "Equal": 5, "Newer": 6}

	for _, c := range []struct {
		token, seq string
		err        error         // nil: may run
		floor      fencing.Stamp // remembered if it may not run, or fails
	}{
		{"Older", "Older", fencing.ErrStale, last},
		{"Older", "Equal", fencing.ErrStale, last},
		{"Older", "Newer", fencing.ErrStale, last},
		{"Equal", "Older", fencing.ErrSuperseded, last},
		{"Equal", "Equal", fencing.ErrDuplicate, last},
		{"Equal", "Newer", nil, last},
		{"Newer", "Older", nil, stamp(t, 30, 0)},
		{"Newer", "Equal", nil, stamp(t, 30, 0)},
		{"Newer", "Newer", nil, stamp(t, 30, 0)},
	} {
		for _, succeed := range []bool{true, false} {
			t.Run(fmt.Sprintf("%sToken%sSeqSucceeding=%t", c.token, c.seq, succeed), func(t *testing.T) {
				next := stamp(t, tokens[c.token], seqs[c.seq])
				remembered, err := remember(last, next, succeed)
				if c.err != nil {
					requireRefusal(t, err, c.err, next, last)
					require.Equal(t, c.floor, remembered)
					return
				}
				require.NoError(t, err)
				if succeed {
					require.Equal(t, next, remembered)
				} else {
					require.Equal(t, c.floor, remembered)
				}
			})
		}
	}
}

// requireRefusal wants a StaleError that matches kind and no other sentinel, with
// both stamps in it and in its text.
func requireRefusal(t testing.TB, err, kind error, presented, highest fencing.Stamp) {
	t.Helper()
	for _, sentinel := range []error{fencing.ErrStale, fencing.ErrDuplicate, fencing.ErrSuperseded, fencing.ErrZeroToken, fencing.ErrZeroSeq} {
		require.Equal(t, errors.Is(kind, sentinel), errors.Is(err, sentinel), "%v: %v", err, sentinel)
	}
	var stale *fencing.StaleError
	require.ErrorAs(t, err, &stale)
	require.Equal(t, presented, stale.Presented)
	require.Equal(t, highest, stale.Highest)
	require.ErrorContains(t, err, "presented "+presented.Token.String())
	require.ErrorContains(t, err, "remembered "+highest.Token.String())
}

func TestCheckRefusesZeroes(t *testing.T) {
	for _, last := range []fencing.Stamp{{}, stamp(t, 20, 0), stamp(t, 20, 5)} {
		for _, seq := range []uint64{0, 1, math.MaxUint64} {
			floor, err := fencing.Check(last, stamp(t, 0, seq))
			require.ErrorIs(t, err, fencing.ErrZeroToken)
			require.Equal(t, last, floor)
		}
	}
	t.Run("ZeroSeqOfTheSameToken", func(t *testing.T) {
		for _, lastSeq := range []uint64{0, 5} { // with 0 remembered it must not pass for a duplicate
			floor, err := fencing.Check(stamp(t, 20, lastSeq), stamp(t, 20, 0))
			require.ErrorIs(t, err, fencing.ErrZeroSeq)
			require.NotErrorIs(t, err, fencing.ErrDuplicate)
			require.Equal(t, stamp(t, 20, lastSeq), floor)
		}
	})
	t.Run("ZeroSeqOfANewerTokenIsRefusedAndHasBeenSeen", func(t *testing.T) {
		floor, err := fencing.Check(stamp(t, 20, 5), stamp(t, 30, 0))
		require.ErrorIs(t, err, fencing.ErrZeroSeq)
		require.Equal(t, stamp(t, 30, 0), floor)
	})
	t.Run("ZeroSeqOfAnOlderTokenIsStaleFirst", func(t *testing.T) {
		_, err := fencing.Check(stamp(t, 20, 5), stamp(t, 10, 0))
		require.ErrorIs(t, err, fencing.ErrStale)
	})
}

func TestCheckWithNothingRemembered(t *testing.T) {
	for _, next := range []fencing.Stamp{stamp(t, 1, 1), stamp(t, 1, math.MaxUint64), stamp(t, math.MaxInt64, 1)} {
		floor, err := fencing.Check(fencing.Stamp{}, next)
		require.NoError(t, err)
		require.Equal(t, fencing.Stamp{Token: next.Token}, floor)
	}
}

// What the rule is for, over every sequence of four commands that there is with
// three owners and two commands each, succeeding and failing: accepted writes never
// go back to an older owner, no command is applied twice, and the memory never
// sinks.
func TestCheckNeverGoesBack(t *testing.T) {
	type command struct {
		stamp   fencing.Stamp
		succeed bool
	}
	var commands []command
	for tok := range uint64(4) { // the zero Token among them
		for seq := range uint64(3) {
			commands = append(commands, command{stamp(t, tok, seq), true}, command{stamp(t, tok, seq), false})
		}
	}
	var sequences int
	var walk func(last, seen fencing.Stamp, applied []fencing.Stamp, depth int)
	walk = func(last, seen fencing.Stamp, applied []fencing.Stamp, depth int) {
		if depth == 0 {
			sequences++
			return
		}
		for _, c := range commands {
			next, err := remember(last, c.stamp, c.succeed)
			if next.Compare(last) < 0 {
				t.Fatalf("memory sank from %s to %s by %s", last, next, c.stamp)
			}
			newest := seen
			if c.stamp.Token.Compare(newest.Token) > 0 {
				newest = c.stamp
			}
			if next.Token != newest.Token {
				t.Fatalf("saw %s and remembers %s", newest.Token, next.Token)
			}
			if err != nil || !c.succeed {
				walk(next, newest, applied, depth-1)
				continue
			}
			for _, a := range applied {
				if a.Compare(c.stamp) >= 0 {
					t.Fatalf("applied %s after %s", c.stamp, a)
				}
			}
			if c.stamp.Token.Compare(seen.Token) < 0 {
				t.Fatalf("applied %s after %s was seen", c.stamp, seen.Token)
			}
			walk(next, newest, append(applied[:len(applied):len(applied)], c.stamp), depth-1)
		}
	}
	walk(fencing.Stamp{}, fencing.Stamp{}, nil, 4)
	require.Equal(t, 24*24*24*24, sequences)
}

// Case 26: guards that compare for equality, or start from nothing and let an old
// token in after a new one.
func TestCheckOrdersAndDoesNotMatch(t *testing.T) {
	var last fencing.Stamp
	for i, step := range []struct {
		next fencing.Stamp
		err  error
	}{
		{stamp(t, 5, 1), nil},
		{stamp(t, 5, 1), fencing.ErrDuplicate}, // the same holder again
		{stamp(t, 5, 2), nil},                  // another stamp of it
		{stamp(t, 4, 9), fencing.ErrStale},
		{stamp(t, 6, 1), nil},
		{stamp(t, 5, 3), fencing.ErrStale}, // was current a moment ago
		{stamp(t, 0, 1), fencing.ErrZeroToken},
		{stamp(t, math.MaxInt64, 1), nil},
		{stamp(t, math.MaxInt64-1, 1), fencing.ErrStale},
	} {
		var err error
		last, err = remember(last, step.next, true)
		require.ErrorIs(t, err, step.err, "step %d", i)
	}

	t.Run("AFreshMemoryShownThreeThenTwo", func(t *testing.T) {
		last, err := remember(fencing.Stamp{}, stamp(t, 3, 1), true)
		require.NoError(t, err)
		_, err = remember(last, stamp(t, 2, 1), true)
		require.ErrorIs(t, err, fencing.ErrStale)
	})
}

// Case: a retry that comes after a later command of the same owner. Taken for
// "already applied", it would report a write that never was.
func TestCheckDoesNotCallALateRetryApplied(t *testing.T) {
	last, err := remember(fencing.Stamp{}, stamp(t, 7, 1), false)
	require.NoError(t, err)
	last, err = remember(last, stamp(t, 7, 2), true)
	require.NoError(t, err)
	last, err = remember(last, stamp(t, 7, 1), true)
	requireRefusal(t, err, fencing.ErrSuperseded, stamp(t, 7, 1), stamp(t, 7, 2))
	require.ErrorContains(t, err, "unknown")
	require.Equal(t, stamp(t, 7, 2), last)
}

func TestStaleErrorText(t *testing.T) {
	for _, c := range []struct {
		err  *fencing.StaleError
		want string
	}{
		{
			&fencing.StaleError{Resource: "reports/2026-07.csv", Presented: stamp(t, 0x200000007, 2), Highest: stamp(t, 0x20000000b, 1)},
			`fencing: resource "reports/2026-07.csv": stale token: presented 0x200000007:2 is older than remembered 0x20000000b:1`,
		},
		{
			&fencing.StaleError{Presented: stamp(t, 7, 2), Highest: stamp(t, 7, 2)},
			`fencing: duplicate command: presented 0x7:2, remembered 0x7:2: it has been applied`,
		},
		{
			&fencing.StaleError{Presented: stamp(t, 7, 1), Highest: stamp(t, 7, 2)},
			`fencing: superseded command: presented 0x7:1, remembered 0x7:2: a later one has been applied, whether this one was is unknown`,
		},
		{
			&fencing.StaleError{Presented: stamp(t, 8, 1), Highest: stamp(t, 7, 2)},
			`fencing: refused: presented 0x8:1, remembered 0x7:2`,
		},
	} {
		require.EqualError(t, c.err, c.want)
	}
}

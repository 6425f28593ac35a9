package fencing_test

import (
	"encoding"
	"encoding/json"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
)

var (
	_ encoding.TextMarshaler   = fencing.Stamp{}
	_ encoding.TextUnmarshaler = (*fencing.Stamp)(nil)
	_ json.Unmarshaler         = (*fencing.Stamp)(nil)
)

// stamp is the Stamp {n, seq}; with n 0 its Token is the zero Token.
func stamp(t testing.TB, n, seq uint64) fencing.Stamp {
	t.Helper()
	return fencing.Stamp{Token: memory(t, n), Seq: seq}
}

func TestStampsAreOrderedByTokenThenSeq(t *testing.T) {
	rising := []fencing.Stamp{
		{}, stamp(t, 0, 9), stamp(t, 1, 0), stamp(t, 1, 1), stamp(t, 1, math.MaxUint64), stamp(t, 2, 0), stamp(t, 2, 3), stamp(t, math.MaxInt64, 1),
	}
	for i, a := range rising {
		for j, b := range rising {
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			require.Equal(t, want, a.Compare(b), "%s and %s", a, b)
		}
	}
}

// As for Token: the format is on other people's wires.
func TestStampWireFormatIsFixed(t *testing.T) {
	for _, c := range []struct {
		stamp fencing.Stamp
		text  string
	}{
		{fencing.Stamp{}, "0x0:0"},
		{stamp(t, 0x200000007, 0), "0x200000007:0"},
		{stamp(t, 0x200000007, 3), "0x200000007:3"},
		{stamp(t, 10, 10), "0xa:10"},
		{stamp(t, math.MaxInt64, math.MaxUint64), "0x7fffffffffffffff:18446744073709551615"},
	} {
		require.Equal(t, c.text, c.stamp.String())
		text, err := c.stamp.MarshalText()
		require.NoError(t, err)
		require.Equal(t, c.text, string(text))
		js, err := json.Marshal(c.stamp)
		require.NoError(t, err)
		require.Equal(t, `"`+c.text+`"`, string(js))

		back, err := fencing.ParseStamp(c.text)
		require.NoError(t, err)
		require.Equal(t, c.stamp, back)
		back = fencing.Stamp{}
		require.NoError(t, json.Unmarshal(js, &back))
		require.Equal(t, c.stamp, back)
	}
}

func TestStampHasOneSpelling(t *testing.T) {
	bad := []string{
		"", ":", "0x1", "0x1:", ":1", "0x1:01", "0x1:00", "0x1:+1", "0x1:-1", "0x1:-0", "0x1: 1", "0x1 :1", " 0x1:1", "0x1:1 ", "0x1:1\n",
		"0x1:1:1", "0x1:a", "0x1:0x1", "0x1:1_0", "0x1:1.0", "0x1:1e1", "0x1:١", "0x1:18446744073709551616", "1:1", "0x1;1", "0x1,1",
		"0x1:" + strings.Repeat("9", 1<<16),
	}
	for _, tok := range tokenMisspellings {
		bad = append(bad, tok+":1")
	}
	for _, text := range bad {
		s := stamp(t, 99, 9)
		require.Error(t, s.UnmarshalText([]byte(text)), "%.40q", text)
		require.Equal(t, stamp(t, 99, 9), s, "changed by %.40q", text)
		_, err := fencing.ParseStamp(text)
		require.Error(t, err, "%.40q", text)
		require.Less(t, len(err.Error()), 600)
	}
}

func TestStampJSONIsAStringAndNothingElse(t *testing.T) {
	for _, js := range []string{`null`, `31`, `["0x1f",1]`, `{"Token":"0x1f","Seq":1}`, `"0x1f"`, `"0x1f:01"`} {
		got := struct{ Stamp fencing.Stamp }{stamp(t, 99, 9)}
		require.Error(t, json.Unmarshal([]byte(`{"Stamp":`+js+`}`), &got), js)
		require.Equal(t, stamp(t, 99, 9), got.Stamp, "changed by %s", js)
	}
}

func TestSequencer(t *testing.T) {
	t.Run("CountsFromOne", func(t *testing.T) {
		q := fencing.NewSequencer(token(t, 7))
		require.Equal(t, stamp(t, 7, 1), q.Next())
		require.Equal(t, stamp(t, 7, 2), q.Next())
		require.Equal(t, stamp(t, 7, 3), q.Next())
	})
	t.Run("GivesEachNumberOnceToManyGoroutines", func(t *testing.T) {
		const goroutines, each = 16, 500
		q := fencing.NewSequencer(token(t, 7))
		got := make(chan uint64, goroutines*each)
		var wg sync.WaitGroup
		for range goroutines {
			wg.Go(func() {
				for range each {
					got <- q.Next().Seq
				}
			})
		}
		wg.Wait()
		close(got)
		seen := make(map[uint64]bool)
		for seq := range got {
			require.False(t, seen[seq], "%d twice", seq)
			seen[seq] = true
		}
		require.Len(t, seen, goroutines*each)
		require.Equal(t, uint64(goroutines*each+1), q.Next().Seq)
	})
	t.Run("WithoutATokenStampsNothingThatMayAct", func(t *testing.T) {
		_, err := fencing.Check(fencing.Stamp{}, fencing.NewSequencer(fencing.Token{}).Next())
		require.ErrorIs(t, err, fencing.ErrZeroToken)
	})
}

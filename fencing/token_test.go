package fencing_test

import (
	"database/sql"
	"database/sql/driver"
	"encoding"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
)

var (
	_ encoding.TextMarshaler   = fencing.Token{}
	_ encoding.TextUnmarshaler = (*fencing.Token)(nil)
	_ json.Unmarshaler         = (*fencing.Token)(nil)
	_ driver.Valuer            = fencing.Token{}
	_ sql.Scanner              = (*fencing.Token)(nil)
)

func token(t testing.TB, n uint64) fencing.Token {
	t.Helper()
	tok, err := fencing.FromUint64(n)
	require.NoError(t, err)
	return tok
}

// memory is token, but 0 is the zero Token.
func memory(t testing.TB, n uint64) fencing.Token {
	t.Helper()
	if n == 0 {
		return fencing.Token{}
	}
	return token(t, n)
}

func TestTokenFromANumber(t *testing.T) {
	t.Run("OneToMaxInt64ComesBack", func(t *testing.T) {
		for _, n := range []uint64{1, 7, math.MaxUint32 + 1, 1<<53 + 1, math.MaxInt64} {
			require.Equal(t, n, token(t, n).Uint64())
			require.False(t, token(t, n).IsZero())
		}
	})
	t.Run("ZeroIsRefused", func(t *testing.T) {
		tok, err := fencing.FromUint64(0)
		require.ErrorIs(t, err, fencing.ErrZeroToken)
		require.True(t, tok.IsZero())
	})
	t.Run("AboveMaxInt64IsRefused", func(t *testing.T) {
		for _, n := range []uint64{math.MaxInt64 + 1, math.MaxUint64} {
			tok, err := fencing.FromUint64(n)
			require.ErrorContains(t, err, "9223372036854775807")
			require.True(t, tok.IsZero())
		}
	})
}

func TestTokensAreOrdered(t *testing.T) {
	rising := []fencing.Token{{}, token(t, 1), token(t, 2), token(t, 1<<53), token(t, 1<<53+1), token(t, math.MaxInt64)}
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

// The texts are on other people's wires and disks: a change here is a change of
// the format, never a matter of taste.
func TestTokenWireFormatIsFixed(t *testing.T) {
	for _, c := range []struct {
		n    uint64
		text string
		json string
	}{
		{0, "0x0", `"0x0"`},
		{1, "0x1", `"0x1"`},
		{10, "0xa", `"0xa"`},
		{0x200000007, "0x200000007", `"0x200000007"`},
		{1<<53 + 1, "0x20000000000001", `"0x20000000000001"`},
		{math.MaxInt64, "0x7fffffffffffffff", `"0x7fffffffffffffff"`},
	} {
		tok := memory(t, c.n)
		require.Equal(t, c.text, tok.String())
		text, err := tok.MarshalText()
		require.NoError(t, err)
		require.Equal(t, c.text, string(text))
		js, err := json.Marshal(tok)
		require.NoError(t, err)
		require.Equal(t, c.json, string(js))

		back, err := fencing.ParseToken(c.text)
		require.NoError(t, err)
		require.Equal(t, tok, back)
		back = fencing.Token{}
		require.NoError(t, json.Unmarshal(js, &back))
		require.Equal(t, tok, back)
	}

	t.Run("AsAKeyOfAJSONObject", func(t *testing.T) {
		js, err := json.Marshal(map[fencing.Token]int{token(t, 31): 1})
		require.NoError(t, err)
		require.Equal(t, `{"0x1f":1}`, string(js))
		var back map[fencing.Token]int
		require.NoError(t, json.Unmarshal(js, &back))
		require.Equal(t, map[fencing.Token]int{token(t, 31): 1}, back)
	})
	t.Run("LeftOutWhenZero", func(t *testing.T) {
		js, err := json.Marshal(struct {
			Token fencing.Token `json:"token,omitzero"`
		}{})
		require.NoError(t, err)
		require.Equal(t, `{}`, string(js))
	})
}

// Every spelling that is read but not written makes two names for one owner.
var tokenMisspellings = []string{
	"", "0", "1", "0x", "x1", "1f", "0x01", "0x00", "0X1", "0xA", "0xg", "0x1F", "+0x1", "-0x1", "0x-1", "0x+1",
	" 0x1", "0x1 ", "0x1\n", "0x1_0", "0x_1", "0x1:1", "0x８", "0x8000000000000000", "0xffffffffffffffff",
	"0x10000000000000000", "0x1\x00", "0b1", "0o1", strings.Repeat("f", 1<<16),
}

func TestTokenHasOneSpelling(t *testing.T) {
	for _, text := range tokenMisspellings {
		tok := token(t, 99)
		require.Error(t, tok.UnmarshalText([]byte(text)), "%.40q", text)
		require.Equal(t, token(t, 99), tok, "changed by %.40q", text)
		_, err := fencing.ParseToken(text)
		require.Error(t, err, "%.40q", text)
		require.Less(t, len(err.Error()), 400, "an error must not repeat what a stranger sent at full length")
	}
}

func TestTokenJSONIsAStringAndNothingElse(t *testing.T) {
	for _, c := range []struct{ json, why string }{
		{`31`, "float64"},
		{`3.1e1`, "float64"},
		{`null`, "null"},
		{`true`, "not a string"},
		{`{}`, "not a string"},
		{`["0x1f"]`, "not a string"},
		{`"31"`, "want 0x"},
		{`"0x1F"`, "want 0x"},
	} {
		got := struct{ Token fencing.Token }{token(t, 99)}
		err := json.Unmarshal([]byte(`{"Token":`+c.json+`}`), &got)
		require.ErrorContains(t, err, c.why, c.json)
		require.Equal(t, token(t, 99), got.Token, "changed by %s", c.json)
	}
	t.Run("NullFitsAPointer", func(t *testing.T) {
		got := struct{ Token *fencing.Token }{new(fencing.Token)}
		require.NoError(t, json.Unmarshal([]byte(`{"Token":null}`), &got))
		require.Nil(t, got.Token)
	})
	t.Run("BytesThatAreNoJSONAreErrors", func(t *testing.T) {
		for _, b := range []string{``, `"`, `"0x1f`, `"0x1f"x`} {
			tok := token(t, 99)
			require.Error(t, tok.UnmarshalJSON([]byte(b)), b)
			require.Equal(t, token(t, 99), tok)
		}
	})
}

func TestTokenInSQL(t *testing.T) {
	t.Run("IsABigint", func(t *testing.T) {
		for _, n := range []uint64{1, 0x200000007, math.MaxInt64} {
			v, err := token(t, n).Value()
			require.NoError(t, err)
			require.Equal(t, driver.Value(int64(n)), v)
			require.True(t, driver.IsValue(v))
			var back fencing.Token
			require.NoError(t, back.Scan(v))
			require.Equal(t, token(t, n), back)
		}
	})
	t.Run("DigitsAreABigintToo", func(t *testing.T) {
		for _, src := range []any{[]byte("9223372036854775807"), "9223372036854775807"} {
			var tok fencing.Token
			require.NoError(t, tok.Scan(src))
			require.Equal(t, token(t, math.MaxInt64), tok)
		}
	})
	t.Run("NullAndZeroAreAnEmptyMemory", func(t *testing.T) {
		for _, src := range []any{nil, int64(0), []byte("0"), "0"} {
			tok := token(t, 99)
			require.NoError(t, tok.Scan(src))
			require.True(t, tok.IsZero())
		}
	})
	// With token <= $1 in somebody's statement, a 0 would be let through by an
	// empty row and a NULL by nothing: a forgotten token must not get that far.
	t.Run("TheZeroTokenIsNotStored", func(t *testing.T) {
		v, err := fencing.Token{}.Value()
		require.ErrorIs(t, err, fencing.ErrZeroToken)
		require.Nil(t, v)
	})
	t.Run("EverythingElseIsAnError", func(t *testing.T) {
		for _, src := range []any{
			int64(-1), int64(math.MinInt64), uint64(1), int(1), 1.0, true,
			[]byte{}, []byte("-1"), []byte("+1"), []byte("01"), []byte("1.0"), []byte(" 1"), "0x1f", "1e3", "9223372036854775808",
		} {
			tok := token(t, 99)
			require.Error(t, tok.Scan(src), "%T %v", src, src)
			require.Equal(t, token(t, 99), tok, "changed by %T %v", src, src)
		}
	})
}

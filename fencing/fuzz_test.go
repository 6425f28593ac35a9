package fencing_test

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/zkfence/zkfence/fencing"
)

// One claim for every parser: what is accepted is spelt exactly as it is
// written, and what is refused leaves the value alone.

func FuzzTokenText(f *testing.F) {
	for _, s := range append([]string{"0x0", "0x1", "0x200000007", "0x7fffffffffffffff"}, tokenMisspellings[:len(tokenMisspellings)-1]...) {
		f.Add(s)
	}
	before := token(f, 99)
	f.Fuzz(func(t *testing.T, s string) {
		tok := before
		if err := tok.UnmarshalText([]byte(s)); err != nil {
			if tok != before {
				t.Fatalf("%q: refused, and changed the token to %s", s, tok)
			}
			return
		}
		if tok.String() != s {
			t.Fatalf("%q was read as %s", s, tok)
		}
		if tok.Uint64()>>63 != 0 {
			t.Fatalf("%q: no BIGINT holds it", s)
		}
	})
}

func FuzzTokenJSON(f *testing.F) {
	for _, s := range []string{`"0x1f"`, `"0x0"`, `"\u0030x1f"`, `31`, `null`, `"31"`, `"0x1F"`, ` "0x1f" `, "\"0x1f\"\v", "\u00a0\"0x1f\"", `"0x1f`, `{}`, `[]`, ``} {
		f.Add([]byte(s))
	}
	before := token(f, 99)
	f.Fuzz(func(t *testing.T, b []byte) {
		tok := before
		direct := tok.UnmarshalJSON(b)
		if direct != nil && tok != before {
			t.Fatalf("%q: refused, and changed the token to %s", b, tok)
		}
		if direct == nil {
			var s string
			if err := json.Unmarshal(b, &s); err != nil || s != tok.String() {
				t.Fatalf("%q was read as %s", b, tok)
			}
		}
		var viaJSON fencing.Token
		if err := json.Unmarshal(b, &viaJSON); (err == nil) != (direct == nil) {
			t.Fatalf("%q: %v, but by encoding/json: %v", b, direct, err)
		}
	})
}

func FuzzTokenScan(f *testing.F) {
	for _, s := range []string{"0", "1", "9223372036854775807", "9223372036854775808", "-1", "+1", "01", "", "0x1f"} {
		f.Add([]byte(s), int64(len(s)))
	}
	f.Add([]byte(nil), int64(-1))
	before := token(f, 99)
	f.Fuzz(func(t *testing.T, b []byte, n int64) {
		tok := before
		switch err := tok.Scan(b); {
		case err != nil && tok != before:
			t.Fatalf("%q: refused, and changed the token to %s", b, tok)
		case err == nil && strconv.FormatUint(tok.Uint64(), 10) != string(b):
			t.Fatalf("%q was read as %d", b, tok.Uint64())
		}
		tok = before
		switch err := tok.Scan(n); {
		case (err == nil) != (n >= 0):
			t.Fatalf("%d: %v", n, err)
		case err != nil && tok != before:
			t.Fatalf("%d: refused, and changed the token to %s", n, tok)
		case err == nil && tok.Uint64() != uint64(n):
			t.Fatalf("%d was read as %d", n, tok.Uint64())
		}
	})
}

func FuzzStampText(f *testing.F) {
	for _, s := range []string{
		"0x0:0", "0x200000007:3", "0x7fffffffffffffff:18446744073709551615", "0x1:01", "0x1:+1", "0x1", "0x1:", ":1", "0x1:1:1", "0X1:1", "0x1:18446744073709551616",
	} {
		f.Add(s)
	}
	before := stamp(f, 99, 9)
	f.Fuzz(func(t *testing.T, s string) {
		got := before
		if err := got.UnmarshalText([]byte(s)); err != nil {
			if got != before {
				t.Fatalf("%q: refused, and changed the stamp to %s", s, got)
			}
			return
		}
		if got.String() != s {
			t.Fatalf("%q was read as %s", s, got)
		}
	})
}

func FuzzStampJSON(f *testing.F) {
	for _, s := range []string{`"0x1f:1"`, `"0x0:0"`, `"0x1f\u003a1"`, `31`, `null`, `"0x1f"`, `"0x1f:01"`, `{}`, ``} {
		f.Add([]byte(s))
	}
	before := stamp(f, 99, 9)
	f.Fuzz(func(t *testing.T, b []byte) {
		got := before
		if err := got.UnmarshalJSON(b); err != nil {
			if got != before {
				t.Fatalf("%q: refused, and changed the stamp to %s", b, got)
			}
			return
		}
		var s string
		if err := json.Unmarshal(b, &s); err != nil || s != got.String() {
			t.Fatalf("%q was read as %s", b, got)
		}
	})
}

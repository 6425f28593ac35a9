package zktest

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/zkfence/zkfence/internal/wire"
)

// null is a string of length -1 on the wire. What is not UTF-8 cannot come from
// a client, for text lets nothing else through.
const null = "\xff"

// text reads a string: null for length -1, U+FFFD for what is no character.
func text(d *wire.Decoder) string {
	b := d.Rest()
	s := d.String()
	if len(b) >= 4 && b[0] == 0xff && b[1] == 0xff && b[2] == 0xff && b[3] == 0xff && d.Err() == nil {
		return null
	}
	return decoded(s)
}

// decoded returns s as Java reads it: with U+FFFD for what is no character.
func decoded(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var out strings.Builder
	for s != "" {
		c, n := utf8.DecodeRuneInString(s)
		if c == utf8.RuneError && n == 1 {
			n = malformed(s)
		}
		out.WriteRune(c)
		s = s[n:]
	}
	return out.String()
}

// malformed returns how many bytes at the start of s Java takes for one broken
// character: all that could have begun one, and half a pair of surrogates whole.
func malformed(s string) int {
	follows := func(i int) bool { return i < len(s) && s[i]&0xc0 == 0x80 }
	second := func(from, to byte) bool { return follows(1) && s[1] >= from && s[1] <= to }
	begun := false
	switch lead := s[0]; {
	case lead == 0xe0:
		begun = second(0xa0, 0xbf)
	case lead == 0xf0:
		begun = second(0x90, 0xbf)
	case lead == 0xf4:
		begun = second(0x80, 0x8f)
	case lead > 0xe0 && lead < 0xf4:
		begun = follows(1)
	}
	switch {
	case !begun:
		return 1
	case !follows(2):
		return 2
	}
	return 3
}

// putText writes a string as Java does, char by char: what needs two of them, as
// an emoji does, becomes two characters of three bytes.
func putText(e *wire.Encoder, s string) {
	if s == null {
		e.Int32(-1)
		return
	}
	if strings.IndexFunc(s, func(c rune) bool { return c > 0xffff }) < 0 {
		e.String(s)
		return
	}
	var b []byte
	for _, c := range s {
		if c <= 0xffff {
			b = utf8.AppendRune(b, c)
			continue
		}
		high, low := utf16.EncodeRune(c)
		for _, half := range []rune{high, low} {
			b = append(b, 0xe0|byte(half>>12), 0x80|byte(half>>6)&0x3f, 0x80|byte(half)&0x3f)
		}
	}
	e.Buffer(b)
}

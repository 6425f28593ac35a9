package fencing

import (
	"cmp"
	"fmt"
	"strings"
)

// Stamp is what a command carries to a resource: whose it is, and which of that
// owner's commands. Seq starts at 1; gaps are fine. Seq 0 belongs to no command
// and stands in a memory for "this owner has been seen, nothing of it applied".
type Stamp struct {
	Token Token
	Seq   uint64
}

// Compare returns -1, 0 or 1: by Token first, by Seq among equal Tokens.
func (s Stamp) Compare(u Stamp) int {
	return cmp.Or(s.Token.Compare(u.Token), cmp.Compare(s.Seq, u.Seq))
}

// String returns the text form, "<token hex>:<seq decimal>", such as
// "0x200000007:3". The zero Stamp is "0x0:0".
func (s Stamp) String() string { return fmt.Sprintf("%s:%d", s.Token, s.Seq) }

// ParseStamp reads the text form. It accepts exactly what String returns, zero
// parts included; signs, leading zeros, upper case and blanks are errors. That
// a Stamp has been parsed says nothing about whether it may act.
func ParseStamp(s string) (Stamp, error) {
	hex, dec, ok := strings.Cut(s, ":")
	if ok {
		token, hexOK := parseToken(hex)
		seq, decOK := parseDecimal(dec, 64)
		if hexOK && decOK {
			return Stamp{Token: token, Seq: seq}, nil
		}
	}
	return Stamp{}, fmt.Errorf("fencing: stamp %.80q: want <token>:<seq>, as in 0x200000007:3", s)
}

// MarshalText returns the text form. It never fails.
func (s Stamp) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is ParseStamp. On an error s is left as it was.
func (s *Stamp) UnmarshalText(b []byte) error {
	u, err := ParseStamp(string(b))
	if err == nil {
		*s = u
	}
	return err
}

// UnmarshalJSON reads the text form as a JSON string. Everything else is an
// error, null included, as for a Token; s is then left as it was.
func (s *Stamp) UnmarshalJSON(b []byte) error {
	text, err := jsonString("stamp", b)
	if err != nil {
		return err
	}
	return s.UnmarshalText([]byte(text))
}

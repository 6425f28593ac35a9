package fencing

import (
	"cmp"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Token orders the owners of one lock: a later owner's Token is larger. It comes
// from a Hold or a Term and is the zxid of the transaction that created the
// owner's znode, so a new owner's is larger without anybody counting; nothing
// else in the number has a meaning, and two Tokens of different lock paths have
// no order at all, although they compare.
//
// Tokens are comparable with == and can be map keys. Equality decides nothing
// about authority: that takes the order, see Check. The zero Token belongs to
// no owner.
type Token struct{ n uint64 }

// FromUint64 is the way back from a number that a program stored or sent. It
// mints nothing: a number that did not come from Uint64 is no Token. An error
// for 0 (matching ErrZeroToken) and for anything above math.MaxInt64, which
// neither a zxid nor a BIGINT can be.
func FromUint64(n uint64) (Token, error) {
	if n == 0 {
		return Token{}, fmt.Errorf("%w: 0 is no owner's", ErrZeroToken)
	}
	if n > math.MaxInt64 {
		return Token{}, fmt.Errorf("fencing: token %d is above %d", n, int64(math.MaxInt64))
	}
	return Token{n}, nil
}

// Uint64 returns the number, 0 for the zero Token; at most math.MaxInt64. It
// does not fit a float64: in JSON and in JavaScript use the text.
func (t Token) Uint64() uint64 { return t.n }

// IsZero reports whether t is the zero Token.
func (t Token) IsZero() bool { return t.n == 0 }

// Compare returns -1 if t is older than u, 0 if they are the same, 1 if t is
// newer. Every Token is newer than the zero Token.
func (t Token) Compare(u Token) int { return cmp.Compare(t.n, u.n) }

// String returns the text form, as ZooKeeper prints a zxid: 0x and lower-case
// hex digits without leading zeros. The zero Token is "0x0".
func (t Token) String() string { return "0x" + strconv.FormatUint(t.n, 16) }

// ParseToken reads the text form. It accepts exactly what String returns, "0x0"
// for the zero Token included, and nothing else: one Token with two spellings
// would be two keys in somebody's log or map. Whether a zero Token may act is
// not decided here but where it is presented; it may not.
func ParseToken(s string) (Token, error) {
	t, ok := parseToken(s)
	if !ok {
		return Token{}, fmt.Errorf("fencing: token %.40q: want 0x, then lower-case hex digits without leading zeros, at most 0x7fffffffffffffff", s)
	}
	return t, nil
}

func parseToken(s string) (Token, bool) {
	digits, ok := strings.CutPrefix(s, "0x")
	if !ok {
		return Token{}, false
	}
	n, err := strconv.ParseUint(digits, 16, 63)
	// ParseUint takes upper case, underscores never (base is given) and leading
	// zeros; the way back catches what String would have spelt differently.
	if t := (Token{n}); err == nil && t.String() == s {
		return t, true
	}
	return Token{}, false
}

// MarshalText returns the text form. It never fails.
func (t Token) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText is ParseToken. On an error t is left as it was.
func (t *Token) UnmarshalText(b []byte) error {
	u, err := ParseToken(string(b))
	if err == nil {
		*t = u
	}
	return err
}

// UnmarshalJSON reads the text form as a JSON string, which is how MarshalText
// makes encoding/json write it. A number is an error, since most JSON readers
// round it to a float64 and a zxid does not survive that; null is one too, since
// it would leave in place whatever Token was there before. For a Token that may
// be missing use *Token, or the option omitzero. On an error t is left as it was.
func (t *Token) UnmarshalJSON(b []byte) error {
	s, err := jsonString("token", b)
	if err != nil {
		return err
	}
	return t.UnmarshalText([]byte(s))
}

// Value stores the Token in a BIGINT. The zero Token is an error matching
// ErrZeroToken: as a 0 or a NULL it would reach a guard's comparison, and what
// that makes of it depends on how the comparison is written.
func (t Token) Value() (driver.Value, error) {
	if t.n == 0 {
		return nil, fmt.Errorf("%w: not stored", ErrZeroToken)
	}
	return int64(t.n), nil
}

// Scan reads a BIGINT: int64, or its decimal digits, which is how some drivers
// hand over an integer. NULL and 0 are the zero Token, the memory of a resource
// that has admitted nothing yet. Negative numbers, spellings with signs or
// leading zeros, and all other types are errors, and leave t as it was.
func (t *Token) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*t = Token{}
		return nil
	case int64:
		if v < 0 {
			return fmt.Errorf("fencing: token: BIGINT %d is negative", v)
		}
		*t = Token{uint64(v)}
		return nil
	case []byte:
		return t.scanDigits(string(v))
	case string:
		return t.scanDigits(v)
	}
	return fmt.Errorf("fencing: token: cannot scan a %T, want a BIGINT", src)
}

var errNotBigint = errors.New("want decimal digits without sign or leading zeros, at most 9223372036854775807")

func (t *Token) scanDigits(s string) error {
	n, ok := parseDecimal(s, 63)
	if !ok {
		return fmt.Errorf("fencing: token: BIGINT %.40q: %w", s, errNotBigint)
	}
	*t = Token{n}
	return nil
}

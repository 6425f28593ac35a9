package fencing

import (
	"errors"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// What guards answer besides the refusals of Check.
var (
	// ErrUnknownOutcome: the command may have been applied or not, most often
	// because the answer of the store was lost. Try again with the same Stamp, and
	// before any later one: nil or ErrDuplicate means that it has been applied. What
	// else a later try is answered with is about that try, and leaves the first open;
	// and behind a Door a command that is not Repeatable stays unknown: read instead.
	ErrUnknownOutcome = errors.New("fencing: unknown outcome")

	// ErrBadResource: a resource name that no guard takes, see ValidateResource.
	ErrBadResource = errors.New("fencing: bad resource name")

	// ErrBadOpID: an operation ID that no guard takes, see ValidateOpID.
	ErrBadOpID = errors.New("fencing: bad operation ID")
)

const (
	// MaxResource is how long the name of a resource can be, in bytes.
	MaxResource = 512
	// MaxOpID is how long an operation ID can be, in bytes.
	MaxOpID = 255
)

// CheckRaise is Check for a Raise: what a resource that remembers last has to
// remember when an owner announces itself with t. With a nil error it must be
// remembered, durably, before the Raise is answered. It is last itself when t is
// known already. An older t is refused with a *StaleError matching ErrStale, the
// zero Token with an error matching ErrZeroToken.
func CheckRaise(last Stamp, t Token) (floor Stamp, err error) {
	floor, err = Check(last, Stamp{Token: t})
	if errors.Is(err, ErrZeroSeq) {
		return floor, nil // the token was let through; there is no command to number
	}
	return floor, err
}

// Named returns err as the answer of one resource: a *StaleError gets it as its
// Resource, another error its name in the text. A nil error stays nil; an empty
// resource changes nothing. A *StaleError somewhere within err is not err: who wraps
// it says more, perhaps that the outcome is unknown.
func Named(resource string, err error) error {
	if err == nil || resource == "" {
		return err
	}
	if stale, ok := err.(*StaleError); ok { //nolint:errorlint // see above
		return &StaleError{Resource: resource, Presented: stale.Presented, Highest: stale.Highest}
	}
	return fmt.Errorf("resource %q: %w", resource, err)
}

// ValidateResource returns an error matching ErrBadResource unless every guard can
// keep a memory under this name: 1 to MaxResource bytes of UTF-8 without control
// characters. Guards compare names byte by byte: "a" and "A" are two resources,
// and so are two spellings of one accented letter. A guard may take fewer names
// (a file's cannot lead out of its folder); it never confuses two.
func ValidateResource(name string) error { return validText(ErrBadResource, name, MaxResource) }

// ValidateOpID returns an error matching ErrBadOpID unless id is 1 to MaxOpID
// bytes of UTF-8 without control characters. They too are compared byte by byte.
func ValidateOpID(id string) error { return validText(ErrBadOpID, id, MaxOpID) }

// validText wraps kind; the text itself is quoted and cut, it comes from strangers.
func validText(kind error, s string, limit int) error {
	switch {
	case s == "":
		return fmt.Errorf("%w: it is empty, want 1 to %d bytes", kind, limit)
	case len(s) > limit:
		return fmt.Errorf("%w: %.40q… has %d bytes, want at most %d", kind, s, len(s), limit)
	case !utf8.ValidString(s):
		return fmt.Errorf("%w: %.40q is not UTF-8", kind, s)
	}
	for i, r := range s {
		if unicode.IsControl(r) {
			return fmt.Errorf("%w: %.40q has the control character %U at byte %d", kind, s, r, i)
		}
	}
	return nil
}

package fencing

import (
	"errors"
	"fmt"
	"time"
)

// Override is the record of one reset of a guard's memory by hand, the way out
// after an ensemble was rebuilt: whoever reads the history of a resource must be
// able to see why its Tokens went backwards. A guard keeps it where it keeps the
// memory, in the same atomic step.
type Override struct {
	Resource string    `json:"resource"`
	From     Stamp     `json:"from"` // what was remembered; zero if nothing was
	To       Stamp     `json:"to"`   // what is remembered instead; zero to begin anew
	Who      string    `json:"who"`  // a person, as the caller names it; guards do not verify it
	Why      string    `json:"why"`
	When     time.Time `json:"when"` // by the clock of whoever keeps the record
}

// Validate returns an error unless the record can be kept: a good resource name,
// Who of at most 255 and Why of at most 1024 bytes, both UTF-8 without control
// characters and not empty, and To either the zero Stamp or one with a Token.
// Guards call it before they change anything.
func (o Override) Validate() error {
	if err := ValidateResource(o.Resource); err != nil {
		return err
	}
	if err := validText(errOverrideWho, o.Who, 255); err != nil {
		return err
	}
	if err := validText(errOverrideWhy, o.Why, 1024); err != nil {
		return err
	}
	if o.To.Token.IsZero() && o.To.Seq != 0 {
		return fmt.Errorf("fencing: override of %q to %s: a Seq needs a token; give the zero Stamp to begin anew", o.Resource, o.To)
	}
	return nil
}

var (
	errOverrideWho = errors.New("fencing: override: who")
	errOverrideWhy = errors.New("fencing: override: why")
)

// String is one line for a log.
func (o Override) String() string {
	return fmt.Sprintf("override of %q from %s to %s by %q at %s: %q", o.Resource, o.From, o.To, o.Who, o.When.UTC().Format(time.RFC3339), o.Why)
}

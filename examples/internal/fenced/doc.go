// Package fenced is the HTTP of a protected resource, as the examples speak it:
// commands carry their Stamp in a header, whoever may command is authenticated
// first, and a refusal names both Stamps.
//
// It decides nothing: that is fencing.Check, or a Gate, in the resource itself,
// in one step with the command. It is for the examples alone, and promises
// nothing to anybody else.
package fenced

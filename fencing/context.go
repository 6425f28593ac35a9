package fencing

import "context"

type (
	tokenKey struct{}
	stampKey struct{}
)

// NewContext returns a ctx that carries t, for code far below the lock that
// needs to know on whose authority it runs. The context of a Hold or a Term
// carries its Token. That a ctx carries a Token does not mean that the lock is
// still held, not even while the ctx lives.
func NewContext(ctx context.Context, t Token) context.Context {
	return context.WithValue(ctx, tokenKey{}, t)
}

// FromContext returns the Token that ctx carries. ok is false if there is none;
// a zero Token counts as none.
func FromContext(ctx context.Context) (t Token, ok bool) {
	t, _ = ctx.Value(tokenKey{}).(Token)
	return t, !t.IsZero()
}

// WithStamp returns a ctx that carries s, the Stamp of one command, for a guard
// further down. It says nothing about the Token from NewContext, which stays.
func WithStamp(ctx context.Context, s Stamp) context.Context {
	return context.WithValue(ctx, stampKey{}, s)
}

// StampFromContext returns the Stamp that ctx carries. ok is false if there is
// none; one that could never act, with a zero Token or Seq 0, counts as none.
func StampFromContext(ctx context.Context) (s Stamp, ok bool) {
	s, _ = ctx.Value(stampKey{}).(Stamp)
	return s, !s.Token.IsZero() && s.Seq != 0
}

package fencing

import "sync/atomic"

// Sequencer numbers the commands of one owner. Make it with NewSequencer, one
// per Token: two that share a Token would stamp two commands alike, and the
// second would be taken for a repetition of the first.
type Sequencer struct {
	token Token
	seq   atomic.Uint64
}

// NewSequencer returns a Sequencer whose first Stamp has Seq 1. With a zero
// Token it still counts, and every resource refuses what it stamps.
func NewSequencer(t Token) *Sequencer { return &Sequencer{token: t} }

// Next returns the Stamp of the next command: Seq 1, 2, 3 and so on, each once.
// It is safe for concurrent use. A retry reuses the Stamp of its first try and
// does not call Next. Commands that run at the same time may reach a resource
// in another order than their numbers; the late one is then superseded, so send
// one after the other, or be ready for that.
func (q *Sequencer) Next() Stamp {
	return Stamp{Token: q.token, Seq: q.seq.Add(1)}
}

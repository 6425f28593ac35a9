package fencetest_test

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/fencetest"
)

// flaws are what can be wrong with the guard in memory.
type flaws struct {
	checkThenWrite    bool // looks in one step and writes in another
	equality          bool // asks whether it is the current owner's token
	lowFloor          bool // a newer token is remembered with success alone
	blindToZeroSeq    bool // a newer token on a command with Seq 0 is not remembered
	forgetful         bool // the floor of a Raise or a failure is in the process only
	amnesiac          bool // nothing survives a restart of the store
	idle              bool // says success and writes nothing
	opBeside          bool // the operation ID is recorded before and beside the command
	opPerToken        bool // the operation ID is known to the owner who sent it alone
	opUnlocked        bool // looks for the ID in one step and records it in another
	opForgotten       bool // IDs live in the process
	seqOnFailure      bool // a failed command's Seq counts
	doubles           bool // tokens compared as float64, as in Lua
	ignoresCase       bool // names compared by a collation
	cutsNames         bool // names cut to fit a column
	nakedRefusals     bool // sentinels without Stamps
	supersededAsDone  bool // everything not newer is a duplicate
	halfDone          bool // what a failed command wrote stays
	silentOverride    bool // no record
	deafOverride      bool // a record, and nothing else
	carelessOverride  bool // validates nothing
	carelessNames     bool // takes any name
	hastyRaise        bool // answered while an older command is under way and will be applied
	raiseForgetsSeq   bool // raising the known token resets its Seq
	zeroIsNothing     bool // the zero token passes where nothing is remembered
	ignoresContext    bool
	duplicatesApplied bool // a repetition is applied again
	lostIsFailed      bool // takes a lost answer for a failure
	lostForgotten     bool // a Seq is remembered once its answer has come
}

type record struct {
	last      fencing.Stamp
	entries   []string
	outcomes  map[string]string
	overrides []fencing.Override
}

// turn is a lock on which virtual time knows a wait.
type turn chan struct{}

func (t turn) Lock()   { t <- struct{}{} }
func (t turn) Unlock() { <-t }

func (t turn) TryLock() bool {
	select {
	case t <- struct{}{}:
		return true
	default:
		return false
	}
}

// memory is a store in memory.
type memory struct {
	flaws
	turn    turn // the transaction's lock
	records map[string]*record
}

func newMemory(f flaws) *memory {
	return &memory{flaws: f, turn: make(turn, 1), records: map[string]*record{}}
}

func (m *memory) Open(context.Context) (fencetest.Guard, error) {
	return &guard{memory: m, floors: map[string]fencing.Stamp{}, ops: map[string]string{}}, nil
}

func (m *memory) Restart(context.Context) error {
	if m.amnesiac {
		m.records = map[string]*record{}
	}
	return nil
}

// at is the record of a resource. The caller has the turn.
func (m *memory) at(resource string) *record {
	if m.ignoresCase {
		resource = strings.ToLower(resource)
	}
	if m.cutsNames {
		resource = resource[:min(len(resource), 255)]
	}
	if m.records[resource] == nil {
		m.records[resource] = &record{outcomes: map[string]string{}}
	}
	return m.records[resource]
}

type guard struct {
	*memory
	floors map[string]fencing.Stamp // forgetful's
	ops    map[string]string        // opForgotten's
	losing bool                     // the next answer
}

func (g *guard) LoseNextAnswer() { g.losing = true }

func (g *guard) Close() error { return nil }

func (g *guard) valid(resource string) error {
	if g.carelessNames {
		return nil
	}
	return fencing.ValidateResource(resource)
}

func (g *guard) check(last, next fencing.Stamp) (fencing.Stamp, error) {
	switch {
	case g.zeroIsNothing && last == fencing.Stamp{} && next.Token.IsZero():
		return last, nil
	case g.equality && !last.Token.IsZero() && !next.Token.IsZero() && next.Seq > 0 && next.Token != last.Token:
		return fencing.Stamp{Token: next.Token}, nil // "a new owner"
	case g.doubles && float64(next.Token.Uint64()) == float64(last.Token.Uint64()):
		next.Token = last.Token
	}
	floor, err := fencing.Check(last, next)
	if g.supersededAsDone && errors.Is(err, fencing.ErrSuperseded) {
		return floor, &fencing.StaleError{Presented: last, Highest: last}
	}
	if g.duplicatesApplied && errors.Is(err, fencing.ErrDuplicate) {
		return floor, nil
	}
	return floor, err
}

func (g *guard) refuse(resource string, err error) error {
	var stale *fencing.StaleError
	if g.nakedRefusals && errors.As(err, &stale) {
		return stale.Unwrap()
	}
	return fencing.Named(resource, err)
}

func (g *guard) known(r *record, c fencetest.Command) (string, bool) {
	from := r.outcomes
	if g.opForgotten {
		from = g.ops
	}
	outcome, ok := from[g.opKey(c)]
	return outcome, ok && c.OpID != ""
}

func (g *guard) opKey(c fencetest.Command) string {
	key := c.OpID
	if g.opPerToken {
		key += c.Stamp.Token.String()
	}
	if g.opForgotten {
		key = c.Resource + key
	}
	return key
}

func (g *guard) keepOp(r *record, c fencetest.Command) {
	if c.OpID == "" {
		return
	}
	if g.opForgotten {
		g.ops[g.opKey(c)] = c.Outcome
	} else {
		r.outcomes[g.opKey(c)] = c.Outcome
	}
}

// pause is the body's. Where the guard is broken, others get the turn.
func (g *guard) pause(ctx context.Context, c fencetest.Command) {
	if g.checkThenWrite || g.opUnlocked && c.OpID != "" {
		g.turn.Unlock()
		defer g.turn.Lock()
	}
	fencetest.Pause(ctx)
}

func (g *guard) Do(ctx context.Context, c fencetest.Command) (string, error) {
	if err := g.valid(c.Resource); err != nil {
		return "", err
	}
	if c.OpID != "" {
		if err := fencing.ValidateOpID(c.OpID); err != nil {
			return "", err
		}
	}
	if ctx.Err() != nil && !g.ignoresContext {
		return "", context.Cause(ctx)
	}
	g.turn.Lock()
	defer g.turn.Unlock()
	r := g.at(c.Resource)
	if floor := g.floors[c.Resource]; floor.Compare(r.last) > 0 {
		r.last = floor
	}
	before := r.last
	floor, err := g.check(r.last, c.Stamp)
	switch {
	case g.forgetful:
		g.floors[c.Resource] = floor
	case !g.lowFloor && !(g.blindToZeroSeq && errors.Is(err, fencing.ErrZeroSeq)):
		r.last = floor
	}
	if errors.Is(err, fencing.ErrZeroToken) || errors.Is(err, fencing.ErrZeroSeq) {
		return "", g.refuse(c.Resource, err)
	}
	if outcome, ok := g.known(r, c); ok {
		return outcome, nil
	}
	if err != nil {
		return "", g.refuse(c.Resource, err)
	}
	if g.opBeside {
		g.keepOp(r, c)
	}
	g.pause(ctx, c)
	keep := r.entries
	if !g.idle {
		r.entries = append(r.entries[:len(r.entries):len(r.entries)], c.Entry)
	}
	g.pause(ctx, c)
	if c.Fail {
		if !g.halfDone {
			r.entries = keep
		}
		if g.lowFloor {
			r.last = before
		}
		if g.seqOnFailure {
			r.last = c.Stamp
		}
		return "", fencetest.ErrCommand
	}
	r.last = c.Stamp
	g.keepOp(r, c)
	if g.losing {
		g.losing = false
		return "", g.lost(r, before)
	}
	return c.Outcome, nil
}

// lost is the answer to a command that was applied.
func (g *guard) lost(r *record, before fencing.Stamp) error {
	if g.lostForgotten {
		r.last = before
	}
	if g.lostIsFailed {
		return errors.New("the connection broke")
	}
	return fencing.ErrUnknownOutcome
}

func (g *guard) Raise(ctx context.Context, resource string, t fencing.Token) error {
	if err := g.valid(resource); err != nil {
		return err
	}
	if ctx.Err() != nil && !g.ignoresContext {
		return context.Cause(ctx)
	}
	if g.hastyRaise && !g.turn.TryLock() {
		return nil
	} else if !g.hastyRaise {
		g.turn.Lock()
	}
	defer g.turn.Unlock()
	r := g.at(resource)
	if floor := g.floors[resource]; floor.Compare(r.last) > 0 {
		r.last = floor
	}
	floor, err := fencing.CheckRaise(r.last, t)
	if err == nil && g.raiseForgetsSeq {
		floor.Seq = 0
	}
	if g.forgetful {
		g.floors[resource] = floor
	} else {
		r.last = floor
	}
	return g.refuse(resource, err)
}

func (g *guard) Read(_ context.Context, resource string) ([]string, fencing.Stamp, error) {
	g.turn.Lock()
	defer g.turn.Unlock()
	r := g.at(resource)
	last := r.last
	if floor := g.floors[resource]; floor.Compare(last) > 0 {
		last = floor
	}
	return r.entries, last, nil
}

func (g *guard) Override(_ context.Context, resource string, to fencing.Stamp, who, why string) error {
	g.turn.Lock()
	defer g.turn.Unlock()
	o := fencing.Override{Resource: resource, To: to, Who: who, Why: why, When: time.Now()}
	if err := o.Validate(); err != nil && !g.carelessOverride {
		return err
	}
	r := g.at(resource)
	o.From = r.last
	if !g.deafOverride {
		r.last = to
	}
	if !g.silentOverride {
		r.overrides = append(r.overrides, o)
	}
	return nil
}

func (g *guard) Overrides(_ context.Context, resource string) ([]fencing.Override, error) {
	g.turn.Lock()
	defer g.turn.Unlock()
	return append([]fencing.Override(nil), g.at(resource).overrides...), nil
}

package bubble

import (
	"fmt"
	"os"
	"testing"
)

// How many entries of a server's trace are printed: of a test that has failed, and
// where the bubble had ended well and its test fails later, which may have had
// many bubbles.
const (
	traceTail = 60
	lateTail  = 20
)

// outcome sees to it that a bubble's report comes out however it ends.
type outcome struct {
	outer   *testing.T // Run's
	b       *B         // nil until it has started
	before  bool       // outer had failed before
	told    bool
	cleaned bool   // all cleanups have run
	late    string // what there is to say if outer fails later
}

// tell prints the report if the test has failed.
func (o *outcome) tell() {
	switch {
	case o.told:
	case o.b.T.Failed() || o.outer.Failed() && !o.before:
		o.told = true
		o.b.T.Log(o.b.report(traceTail))
	case o.late == "":
		o.late = o.b.report(lateTail)
	}
}

// end is what run defers: it tells of a failure, or a panic of the test's
// function, before the cleanups add their own requests.
func (o *outcome) end() {
	r := recover()
	if r == nil {
		o.tell()
	} else {
		o.shout()
	}
	o.b.heal()
	if r != nil {
		panic(r)
	}
}

// shout prints the report at once: what has been logged inside a bubble is lost
// when the process ends there.
func (o *outcome) shout() {
	if !o.told {
		o.told = true
		fmt.Fprint(os.Stderr, o.b.report(traceTail))
	}
}

// burst is what Run defers: synctest panics about goroutines that are stuck.
func (o *outcome) burst() {
	r := recover()
	if r == nil {
		return
	}
	if o.b != nil {
		o.shout()
	}
	if o.cleaned {
		fmt.Fprintln(os.Stderr, "bubble: the test has ended and goroutines of it are left: is a client not closed by a Cleanup?")
	}
	panic(r)
}

// tellLate prints the report if the test failed after the bubble.
func (o *outcome) tellLate() {
	if o.outer.Failed() && !o.before && !o.told && o.late != "" {
		o.outer.Log(o.late)
	}
}

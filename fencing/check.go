package fencing

// Check is the whole rule, as arithmetic: may the command stamped next run at a
// resource that remembers last? A zero last means that nothing was admitted yet.
//
// With a nil error the command may run; if it succeeds, the resource remembers
// next. In every other case, a command that fails and a refusal among them, it
// remembers floor. Judging, running and remembering must be one atomic step, or
// a paused owner's command slips in between.
//
//	next.Token is zero      ErrZeroToken             floor is last
//	older than last's       *StaleError, ErrStale    floor is last
//	the same as last's:
//	    next.Seq is 0       ErrZeroSeq               floor is last
//	    larger than last's  may run                  floor is last
//	    equal               *StaleError, ErrDuplicate
//	    smaller             *StaleError, ErrSuperseded
//	newer than last's       may run, or ErrZeroSeq   floor is {next.Token, 0}
//
// A newer Token raises the floor as soon as it is seen, whatever becomes of its
// command. If it rose only with success, the first command of a new owner could
// fail and a late command of the old one would be let in after it.
func Check(last, next Stamp) (floor Stamp, err error) {
	if next.Token.IsZero() {
		return last, ErrZeroToken
	}
	floor = last
	switch next.Token.Compare(last.Token) {
	case -1:
		return floor, &StaleError{Presented: next, Highest: last}
	case 1:
		floor = Stamp{Token: next.Token}
	}
	if next.Seq == 0 {
		return floor, ErrZeroSeq
	}
	if next.Seq <= floor.Seq {
		return floor, &StaleError{Presented: next, Highest: floor}
	}
	return floor, nil
}

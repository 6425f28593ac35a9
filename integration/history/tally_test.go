package history_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/integration/history"
)

// takeover is a history in which A is stopped and loses to B, which accepts, and
// refuses, what it should.
func takeover() []history.Event {
	return []history.Event{
		granted(1*ms, "A", 1, 10), accepted(2*ms, stamp(10, 1)),
		fault(3*ms, history.Fault, "stopped", "A"),
		granted(9*ms, "B", 1, 11), accepted(10*ms, stamp(11, 1)),
		fault(11*ms, history.Healed, "stopped", "A"), of(12*ms, "A", 1, history.Lost),
		command(13*ms, "A", 1, history.Command{Call: history.Write, Stamp: stamp(10, 2)}),
		answer(14*ms, "A", 1, history.Answer{Refused: history.Stale, Last: stamp(11, 1)}),
		command(15*ms, "A", 2, history.Command{Call: history.Raise, Stamp: stamp(10, 0)}),
		answer(16*ms, "A", 2, history.Answer{Refused: history.Stale, Last: stamp(11, 1)}),
	}
}

func TestTheTally(t *testing.T) {
	stopped := history.Row{Injected: 1, Lost: 1, Takeovers: 1, Longest: 6 * ms, Refused: 1}
	for name, c := range map[string]struct {
		events []history.Event
		want   history.Table
	}{
		"NothingHappens":                       {handover(), history.Table{}},
		"AHoldIsLostToAFault":                  {takeover(), history.Table{"stopped": stopped}},
		"AFaultWithoutEffectIsCounted":         {append(handover(), fault(0, history.Fault, "cut", "")), history.Table{"cut": {Injected: 1}}},
		"WithoutAFaultNothingIsBlamed":         {without(takeover(), "A", history.Fault), history.Table{history.None: {Lost: 1, Takeovers: 1, Refused: 1}}},
		"AnothersFaultIsNotBlamed":             {append(takeover(), fault(4*ms, history.Fault, "cut", "B")), history.Table{"stopped": stopped, "cut": {Injected: 1}}},
		"WhatComesAfterTheTakeoverIsNotBlamed": {append(takeover(), fault(10*ms, history.Fault, "cut", "A")), history.Table{"stopped": {Injected: 1, Lost: 1, Takeovers: 1, Longest: 6 * ms}, "cut": {Injected: 1, Refused: 1}}},
		"AFaultOfAllIsNotBlamedBeforeOnesOwn":  {append(takeover(), fault(4*ms, history.Fault, "cut", "")), history.Table{"stopped": stopped, "cut": {Injected: 1}}},
		"AFaultOfAllIsBlamed":                  {append(without(takeover(), "A", history.Fault), fault(3*ms, history.Fault, "cut", "")), history.Table{"cut": stopped}},
		"AHealedFaultIsNotBlamedForEver": {append(takeover(), fault(20*ms, history.Fault, "cut", ""), fault(21*ms, history.Healed, "cut", ""), of(300*ms, "B", 1, history.Lost)),
			history.Table{"stopped": stopped, "cut": {Injected: 1}, history.None: {Lost: 1}}},
		"TheKilledLoseTheirHolds": {[]history.Event{
			granted(1*ms, "A", 1, 10), fault(2*ms, history.Fault, "killed", "A"), fault(3*ms, history.Gone, "", "A"), granted(9*ms, "B", 1, 11),
			of(10*ms, "B", 1, history.Unlocking), fault(11*ms, history.Fault, "killed", "B"), fault(12*ms, history.Gone, "", "B"),
		}, history.Table{"killed": {Injected: 2, Lost: 1, Takeovers: 1, Longest: 7 * ms}}},
		"WhoComesInAgainHasTakenOverFromNobody": {[]history.Event{
			granted(1*ms, "A", 1, 10), fault(2*ms, history.Fault, "cut", "A"), of(3*ms, "A", 1, history.Lost), granted(9*ms, "A", 2, 11), granted(15*ms, "B", 1, 12),
		}, history.Table{"cut": {Injected: 1, Lost: 1}}},
		"AnAcceptedStepBackwards": {append(takeover(), accepted(17*ms, stamp(10, 3))), history.Table{"stopped": {Injected: 1, Lost: 1, Takeovers: 1, Longest: 6 * ms, Refused: 1, Backwards: 1}}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, history.Tally(c.events, grace)) })
	}
}

func TestTheTableAddsUp(t *testing.T) {
	table := history.Table{}
	table.Add(history.Tally(takeover(), grace))
	table.Add(history.Tally(append(takeover(), accepted(17*ms, stamp(10, 3)), fault(0, history.Fault, "cut", "")), grace))
	require.Equal(t, history.Row{Injected: 3, Lost: 2, Takeovers: 2, Longest: 6 * time.Millisecond, Refused: 2, Backwards: 1}, table.Sum())
	require.Regexp(t, `(?m)^ +stopped +2 +2 +2 +10ms +2 +1$`, table.String())
	require.Regexp(t, `(?m)^ +cut +1 +0 +0 +0s +0 +0$`, table.String())
	require.Regexp(t, `(?m)^ +all +3 +2 +2 +10ms +2 +1$`, table.String())
}

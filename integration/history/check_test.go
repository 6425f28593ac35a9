package history_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/integration/history"
)

const grace = 100 * time.Millisecond

func token(n uint64) fencing.Token {
	t, err := fencing.FromUint64(n)
	if err != nil {
		panic(err)
	}
	return t
}

func stamp(n, seq uint64) fencing.Stamp { return fencing.Stamp{Token: token(n), Seq: seq} }

const ms = time.Millisecond

// of is an event of a worker's attempt.
func of(at time.Duration, worker string, attempt uint64, kind history.Kind) history.Event {
	return history.Event{At: at, Worker: worker, Attempt: attempt, Path: "/l", Kind: kind}
}

func enrolled(at time.Duration, worker string, attempt uint64, node string) history.Event {
	e := of(at, worker, attempt, history.Enrolled)
	e.Node = node
	return e
}

func granted(at time.Duration, worker string, attempt, n uint64) history.Event {
	e := of(at, worker, attempt, history.Granted)
	e.Token = token(n)
	return e
}

// anew is a grant at another path.
func anew(at time.Duration, worker string, n uint64) history.Event {
	e := granted(at, worker, 1, n)
	e.Path = "/anew"
	return e
}

func belief(at time.Duration, worker string, attempt uint64, left time.Duration) history.Event {
	e := of(at, worker, attempt, history.Belief)
	e.Remaining = left
	return e
}

func accepted(at time.Duration, s fencing.Stamp) history.Event {
	return history.Event{At: at, Kind: history.Accepted, Stamp: s}
}

// taken adds that a worker's write was sent, and accepted.
func taken(events []history.Event, at time.Duration, worker string, s fencing.Stamp) []history.Event {
	c := history.Command{Call: history.Write, Stamp: s, Value: s.String()}
	return append(events, command(at, worker, uint64(at), c), accepted(at+1, s))
}

func fault(at time.Duration, kind history.Kind, name, worker string) history.Event {
	return history.Event{At: at, Kind: kind, Reason: name, Worker: worker}
}

func command(at time.Duration, worker string, op uint64, c history.Command) history.Event {
	return history.Event{At: at, Kind: history.Sent, Worker: worker, Op: op, Command: c}
}

func answer(at time.Duration, worker string, op uint64, a history.Answer) history.Event {
	return history.Event{At: at, Kind: history.Answered, Worker: worker, Op: op, Answer: a}
}

// stop is a fault that stops the worker's process.
func stop(at time.Duration, worker string) history.Event {
	e := fault(at, history.Fault, "stopped", worker)
	e.Stops = true
	return e
}

// freed is a fault that ends holds.
func freed(at time.Duration, path, node string) history.Event {
	return history.Event{At: at, Kind: history.Fault, Reason: "delete", Path: path, Node: node, Frees: true}
}

// handover is a history that breaks no rule: A holds and lets go, B follows.
func handover() []history.Event {
	return []history.Event{
		of(0, "A", 1, history.Began), enrolled(1*ms, "A", 1, "a-lock-0000000001"), granted(2*ms, "A", 1, 10),
		belief(3*ms, "A", 1, 500*ms),
		of(4*ms, "B", 1, history.Began), enrolled(5*ms, "B", 1, "b-lock-0000000002"),
		command(6*ms, "A", 1, history.Command{Call: history.Write, Stamp: stamp(10, 1), Value: "a"}),
		accepted(7*ms, stamp(10, 1)),
		answer(8*ms, "A", 1, history.Answer{OK: true, Last: stamp(10, 1)}),
		of(9*ms, "A", 1, history.Unlocking), granted(10*ms, "B", 1, 11), of(11*ms, "A", 1, history.Released),
		command(12*ms, "B", 1, history.Command{Call: history.Read}),
		answer(13*ms, "B", 1, history.Answer{OK: true, Last: stamp(10, 1), Value: "a"}),
		of(14*ms, "B", 1, history.Unlocking), of(15*ms, "B", 1, history.Released),
	}
}

// stoppedInTheGrant is a history in which A was granted the lock and stopped before
// it could say so; its session has ended, and B holds, when it goes on.
func stoppedInTheGrant() []history.Event {
	return []history.Event{
		of(0, "A", 1, history.Began), enrolled(1*ms, "A", 1, "a-lock-0000000001"),
		stop(2*ms, "A"),
		of(3*ms, "B", 1, history.Began), enrolled(4*ms, "B", 1, "b-lock-0000000002"),
		granted(20*ms, "B", 1, 11), belief(21*ms, "B", 1, 500*ms),
		granted(30*ms, "A", 1, 10), fault(31*ms, history.Healed, "stopped", "A"), of(32*ms, "A", 1, history.Lost),
		of(40*ms, "B", 1, history.Unlocking), of(41*ms, "B", 1, history.Released),
	}
}

// passedOver is a history in which B is granted the lock past A, who gives up then.
func passedOver(then time.Duration) []history.Event {
	return []history.Event{
		of(0, "A", 1, history.Began), enrolled(1*ms, "A", 1, "a-lock-0000000001"),
		of(0, "B", 1, history.Began), enrolled(2*ms, "B", 1, "b-lock-0000000002"),
		granted(3*ms, "B", 1, 11), of(4*ms, "B", 1, history.Unlocking), of(5*ms, "B", 1, history.Released),
		of(then, "A", 1, history.Failed),
	}
}

func rules(events []history.Event) []history.Rule {
	var rules []history.Rule
	for _, v := range history.Check(events, grace) {
		rules = append(rules, v.Rule)
	}
	return rules
}

func TestAHandoverBreaksNoRule(t *testing.T) {
	require.Empty(t, history.Check(handover(), grace))
	require.Empty(t, history.Check(nil, grace))
}

// without takes out the events of a kind of a worker's.
func without(events []history.Event, worker string, kind history.Kind) (kept []history.Event) {
	for _, e := range events {
		if e.Worker != worker || e.Kind != kind {
			kept = append(kept, e)
		}
	}
	return kept
}

// Each rule is broken by one change to a history that breaks none.
func TestEachRuleIsBrokenByWhatItNames(t *testing.T) {
	for _, c := range []struct {
		name   string
		events []history.Event
		want   []history.Rule
	}{
		{"AnOlderOwnersCommandIsAccepted", taken(taken(handover(), 20*ms, "B", stamp(11, 1)), 21*ms, "A", stamp(10, 2)), []history.Rule{history.Backwards}},
		{"ACommandIsAcceptedTwice", append(handover(), accepted(20*ms, stamp(10, 1))), []history.Rule{history.Backwards}},
		{"ACommandIsAcceptedAfterALaterOne", taken(taken(handover(), 20*ms, "B", stamp(11, 2)), 21*ms, "B", stamp(11, 1)), []history.Rule{history.Backwards}},

		// A's unlock is not to be seen, so its promise of 500 ms stands.
		{"AGrantWithinAnothersTrust", append(without(handover(), "A", history.Unlocking), of(510*ms, "A", 1, history.Unlocking)), []history.Rule{history.Overlap}},
		{"AGrantWithinAnothersTrustThatEndsWithItsProcess", append(without(handover(), "A", history.Unlocking), fault(3500*time.Microsecond, history.Gone, "", "A")), []history.Rule{history.Overlap, history.Causeless}},

		{"AGrantWithinAnothersTrustAfterANodeOfNobodysWasDeleted", append(without(handover(), "A", history.Unlocking),
			history.Event{At: 1500 * time.Microsecond, Kind: history.Fault, Reason: "delete", Node: "x-lock-0000000000", Frees: true}, of(510*ms, "A", 1, history.Unlocking)), []history.Rule{history.Overlap}},
		{"AGrantWithinAnothersTrustAfterAWaitersNodeWasDeleted", append(without(handover(), "A", history.Unlocking),
			history.Event{At: 6 * ms, Kind: history.Fault, Reason: "delete", Node: "c-lock-0000000003", Frees: true}, of(510*ms, "A", 1, history.Unlocking)), []history.Rule{history.Overlap}},
		{"ALossWithoutAFault", append(without(handover(), "B", history.Unlocking), of(14*ms, "B", 1, history.Lost)), []history.Rule{history.Causeless}},
		{"ALossByAnothersFault", append(without(handover(), "B", history.Unlocking), fault(0, history.Fault, "freeze", "A"), of(14*ms, "B", 1, history.Lost)), []history.Rule{history.Causeless}},
		{"ALossAfterAnothersNodeWasDeleted", append(without(handover(), "B", history.Unlocking),
			history.Event{At: 13 * ms, Kind: history.Fault, Reason: "delete", Node: "c-lock-0000000003", Frees: true}, of(14*ms, "B", 1, history.Lost)), []history.Rule{history.Causeless}},
		{"ALossLongAfterTheLastOfTwoFaultsOfAName", append(without(handover(), "B", history.Unlocking), fault(0, history.Fault, "kill", ""), fault(1*ms, history.Fault, "kill", ""), fault(2*ms, history.Healed, "kill", ""), of(114*ms, "B", 1, history.Lost)), []history.Rule{history.Causeless}},
		{"AWaiterLosesItsPlace", append(handover(), enrolled(6*ms, "B", 1, "b-lock-0000000003")), []history.Rule{history.Causeless}},
		{"ATrustAfterTheLoss", append(without(handover(), "B", history.Unlocking), fault(0, history.Fault, "kill", ""), of(12*ms, "B", 1, history.Lost), belief(13*ms, "B", 1, 1*ms)), []history.Rule{history.Revived}},
		{"ACommandIsAcceptedWithATokenOfNobodys", taken(handover(), 20*ms, "B", stamp(12, 1)), []history.Rule{history.Unowned}},
		{"ACommandIsAcceptedWithAnothersToken", taken(handover(), 20*ms, "A", stamp(11, 1)), []history.Rule{history.Unowned}},
		{"ACommandIsAcceptedThatNobodyHasSent", append(handover(), accepted(20*ms, stamp(11, 1))), []history.Rule{history.Unowned}},
		{"ALossLongAfterTheFault", append(without(handover(), "B", history.Unlocking), fault(0, history.Fault, "kill", ""), fault(1*ms, history.Healed, "kill", ""), of(114*ms, "B", 1, history.Lost)), []history.Rule{history.Causeless}},
		{"ALossBeforeTheFault", append(without(handover(), "B", history.Unlocking), of(14*ms, "B", 1, history.Lost), fault(15*ms, history.Fault, "kill", "")), []history.Rule{history.Causeless}},

		{"AGrantPastAnEarlierContender", []history.Event{
			of(0, "A", 1, history.Began), enrolled(1*ms, "A", 1, "a-lock-0000000001"),
			of(0, "B", 1, history.Began), enrolled(2*ms, "B", 1, "b-lock-0000000002"),
			granted(3*ms, "B", 1, 11), of(4*ms, "B", 1, history.Unlocking), of(5*ms, "B", 1, history.Released),
			granted(6*ms, "A", 1, 10), of(7*ms, "A", 1, history.Unlocking), of(8*ms, "A", 1, history.Released),
		}, []history.Rule{history.Unfair}},

		{"AGrantAgainstTheNumbersInLine", []history.Event{
			of(0, "A", 1, history.Began), enrolled(1*ms, "A", 1, "a-lock-0000000001"),
			of(0, "B", 1, history.Began), enrolled(2*ms, "B", 1, "b-lock-0000000002"),
			granted(3*ms, "B", 1, 10), of(4*ms, "B", 1, history.Unlocking), of(5*ms, "B", 1, history.Released),
			granted(6*ms, "A", 1, 11), of(7*ms, "A", 1, history.Unlocking), of(8*ms, "A", 1, history.Released),
		}, []history.Rule{history.Unfair}},
		{"AGrantPastOneThatGivesUp", passedOver(104 * ms), []history.Rule{history.Unfair}},
		{"AGrantPastOneThatGivesUpBesideAnothersFault", append(passedOver(104*ms), fault(0, history.Fault, "cut", "B")), []history.Rule{history.Unfair}},

		{"ANodeIsLeft", append(handover(), history.Event{At: 30 * ms, Kind: history.Leftover, Path: "/l", Node: "x"}), []history.Rule{history.Orphan}},

		{"AWaiterNeverEnds", append(handover(), of(20*ms, "C", 1, history.Began)), []history.Rule{history.Endless}},
		{"AHoldNeverEnds", without(without(handover(), "B", history.Unlocking), "B", history.Released), []history.Rule{history.Endless}},
		{"AReleaseNeverEnds", without(handover(), "B", history.Released), []history.Rule{history.Endless}},

		// It holds both at once, told or not.
		{"AGrantToldAfterAStopThatIsTrusted", append(stoppedInTheGrant(), belief(30*ms, "A", 1, 1*ms)), []history.Rule{history.Unfair, history.Overlap}},
		{"AGrantToldAfterNoStop", append(without(stoppedInTheGrant(), "A", history.Fault), fault(19*ms, history.Fault, "cut", "")), []history.Rule{history.Unfair, history.Overlap}},
		{"AGrantToldAfterALaterStop", append(without(stoppedInTheGrant(), "A", history.Fault), stop(25*ms, "A")), []history.Rule{history.Unfair, history.Overlap}},
		{"AGrantToldAfterAFaultThatStopsNothing", append(without(stoppedInTheGrant(), "A", history.Fault), fault(2*ms, history.Fault, "stopped", "A")), []history.Rule{history.Unfair, history.Overlap}},
		{"AGrantToldLongAfterTheStop", append(without(stoppedInTheGrant(), "A", history.Granted), granted(132*ms, "A", 1, 10)), []history.Rule{history.Unfair}},
		// Its token is the newer one, so it was granted after A, stopped or not.
		{"AGrantWithinAnothersTrustToOneThatIsStopped", append(without(handover(), "A", history.Unlocking), stop(0, "B"), of(510*ms, "A", 1, history.Unlocking)), []history.Rule{history.Overlap}},
		{"AGrantWithinAnothersTrustAfterAllOfAnotherPathWasDeleted", append(without(handover(), "A", history.Unlocking), freed(6*ms, "/other", ""), of(510*ms, "A", 1, history.Unlocking)), []history.Rule{history.Overlap}},
		{"ATrustLongAfterItsNodeWasDeleted", append(handover(), of(20*ms, "A", 2, history.Began), enrolled(21*ms, "A", 2, "a-lock-0000000003"), granted(22*ms, "A", 2, 12), belief(23*ms, "A", 2, 500*ms),
			freed(24*ms, "/l", "a-lock-0000000003"), belief(125*ms, "A", 2, 500*ms), of(126*ms, "A", 2, history.Unlocking), of(127*ms, "A", 2, history.Released)), []history.Rule{history.Revived}},
		{"ATrustAfterTheRelease", append(handover(), belief(16*ms, "B", 1, 1*ms)), []history.Rule{history.Revived}},
		{"ATrustedHoldIsOverWithoutAWord", append(without(handover(), "B", history.Unlocking), belief(11*ms, "B", 1, 1*ms)), []history.Rule{history.Causeless}},
		{"ACommandIsSentBeforeItsTokenIsGranted", append(handover(), command(9*ms, "B", 9, history.Command{Call: history.Write, Stamp: stamp(11, 1)}), accepted(20*ms, stamp(11, 1))), []history.Rule{history.Unowned}},
		{"AWriteThatWasAnsweredIsNotThere", append(handover(), command(20*ms, "B", 9, history.Command{Call: history.Write, Stamp: stamp(11, 1)}), answer(21*ms, "B", 9, history.Answer{OK: true, Last: stamp(11, 1)})), []history.Rule{history.Unkept}},

		{"AReadIsStale", append(handover(),
			command(20*ms, "B", 2, history.Command{Call: history.Read}),
			answer(21*ms, "B", 2, history.Answer{OK: true, Last: stamp(10, 1), Value: "never written"})), []history.Rule{history.NotLinearizable}},
		{"ARefusedWriteTookEffect", append(handover(),
			command(20*ms, "B", 2, history.Command{Call: history.Write, Stamp: stamp(9, 1), Value: "late"}),
			answer(21*ms, "B", 2, history.Answer{Refused: history.Stale, Last: stamp(10, 1)}),
			command(22*ms, "B", 3, history.Command{Call: history.Read}),
			answer(23*ms, "B", 3, history.Answer{OK: true, Last: stamp(10, 1), Value: "late"})), []history.Rule{history.NotLinearizable}},
		{"ACommandOlderThanTheOverrideIsAccepted", taken(append(handover(), anew(19*ms, "C", 4), fault(24*ms, history.Gone, "", "C"),
			history.Event{At: 20 * ms, Kind: history.Override, Worker: "operator", Reason: "rebuilt", Stamp: stamp(5, 0)}),
			22*ms, "C", stamp(4, 1)), []history.Rule{history.Backwards}},
		{"ASupersededWriteIsCalledADuplicate", append(handover(),
			command(20*ms, "A", 2, history.Command{Call: history.Write, Stamp: stamp(10, 3), Value: "c"}),
			accepted(21*ms, stamp(10, 3)), answer(21*ms, "A", 2, history.Answer{OK: true, Last: stamp(10, 3)}),
			command(22*ms, "A", 3, history.Command{Call: history.Write, Stamp: stamp(10, 2), Value: "b"}),
			answer(23*ms, "A", 3, history.Answer{Refused: history.Duplicate, Last: stamp(10, 3)})), []history.Rule{history.NotLinearizable}},
		{"AnOldOwnersWriteIsAcceptedAboveTheFloor", append(handover(),
			command(20*ms, "B", 2, history.Command{Call: history.Raise, Stamp: stamp(11, 0)}),
			answer(21*ms, "B", 2, history.Answer{OK: true, Last: stamp(11, 0)}),
			command(22*ms, "A", 2, history.Command{Call: history.Write, Stamp: stamp(10, 2), Value: "late"}),
			accepted(23*ms, stamp(10, 2)), answer(23*ms, "A", 2, history.Answer{OK: true, Last: stamp(10, 2)})), []history.Rule{history.NotLinearizable}},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, rules(c.events), "%v", history.Check(c.events, grace))
		})
	}
}

// What looks like a violation and is none.
func TestWhatIsAllowed(t *testing.T) {
	for name, events := range map[string][]history.Event{
		"ALossWithinTheGraceOfAFault": append(without(handover(), "B", history.Unlocking), fault(0, history.Fault, "kill", ""), fault(1*ms, history.Healed, "kill", ""), of(90*ms, "B", 1, history.Lost)),
		"ALossByItsOwnFault":          append(without(handover(), "B", history.Unlocking), fault(0, history.Fault, "freeze", "B"), of(114*ms, "B", 1, history.Lost)),
		"AGrantAfterAReportedLoss": append(without(handover(), "A", history.Unlocking), fault(0, history.Fault, "freeze", "A"),
			of(9*ms, "A", 1, history.Lost)),
		"AGrantAfterAnOperatorHasFreedTheLock": append(without(handover(), "A", history.Unlocking),
			history.Event{At: 5 * ms, Kind: history.Fault, Reason: "delete", Frees: true}, of(20*ms, "A", 1, history.Lost)),
		"AGrantThatIsToldAfterItsNodeWasDeleted": append(without(handover(), "A", history.Unlocking),
			history.Event{At: 1500 * time.Microsecond, Kind: history.Fault, Reason: "delete", Node: "a-lock-0000000001", Frees: true}, of(20*ms, "A", 1, history.Lost)),
		"AWaiterLosesItsPlaceByAFault":      append(handover(), fault(5*ms, history.Fault, "cut", "B"), enrolled(6*ms, "B", 1, "b-lock-0000000003")),
		"ANodeThatIsToldTwice":              append(handover(), enrolled(9*ms, "B", 1, "b-lock-0000000002")),
		"AGrantThatIsToldAfterAStop":        stoppedInTheGrant(),
		"AGrantPastOneThatIsLeaving":        passedOver(102 * ms),
		"AGrantPastOneThatWasCutOff":        append(passedOver(104*ms), fault(0, history.Fault, "cut", "A")),
		"AGrantPastOneInAnOutage":           append(passedOver(204*ms), fault(3*ms, history.Fault, "outage", "")),
		"ATrustUntilTheDeletionIsTold":      append(handover(), of(20*ms, "A", 2, history.Began), enrolled(21*ms, "A", 2, "a-lock-0000000003"), granted(22*ms, "A", 2, 12), freed(24*ms, "/l", "a-lock-0000000003"), belief(124*ms, "A", 2, 500*ms), of(125*ms, "A", 2, history.Lost)),
		"AGrantAfterAllOfItsPathWasDeleted": append(without(handover(), "A", history.Unlocking), freed(5*ms, "/l", ""), of(20*ms, "A", 1, history.Lost)),
		"NumbersThatStartAgain": append(handover(),
			of(20*ms, "A", 2, history.Began), enrolled(21*ms, "A", 2, "c-lock-0000000000"), granted(22*ms, "A", 2, 12), of(23*ms, "A", 2, history.Unlocking), of(24*ms, "A", 2, history.Released)),
		"ATrustInTheInstantOfTheLoss": append(without(handover(), "B", history.Unlocking), fault(0, history.Fault, "kill", ""), of(12*ms, "B", 1, history.Lost), belief(12*ms, "B", 1, 1*ms)),
		"AKilledWorkerOwesNothing":    append(without(without(handover(), "B", history.Unlocking), "B", history.Released), fault(20*ms, history.Gone, "", "B")),
		"AnOlderCommandIsAcceptedAfterAnOverride": append(handover(),
			anew(19*ms, "C", 4), fault(24*ms, history.Gone, "", "C"),
			history.Event{At: 20 * ms, Kind: history.Override, Worker: "operator", Reason: "rebuilt", Stamp: stamp(3, 0)},
			command(21*ms, "C", 1, history.Command{Call: history.Write, Stamp: stamp(4, 1), Value: "anew"}),
			accepted(22*ms, stamp(4, 1)),
			answer(23*ms, "C", 1, history.Answer{OK: true, Last: stamp(4, 1)})),
		"CommandsOutOfOrderAreToldApart": append(handover(),
			command(20*ms, "A", 2, history.Command{Call: history.Write, Stamp: stamp(10, 2), Value: "b"}),
			command(20*ms, "A", 3, history.Command{Call: history.Write, Stamp: stamp(10, 3), Value: "c"}),
			command(21*ms, "A", 4, history.Command{Call: history.Write, Stamp: stamp(10, 3), Value: "c"}),
			accepted(22*ms, stamp(10, 3)), answer(22*ms, "A", 4, history.Answer{OK: true, Last: stamp(10, 3)}),
			answer(23*ms, "A", 3, history.Answer{Refused: history.Duplicate, Last: stamp(10, 3)}),
			answer(24*ms, "A", 2, history.Answer{Refused: history.Superseded, Last: stamp(10, 3)})),
		"ACommandWithoutAnAnswerMayHaveTakenEffect": append(handover(),
			command(20*ms, "B", 2, history.Command{Call: history.Write, Stamp: stamp(11, 1), Value: "b"}),
			command(22*ms, "A", 3, history.Command{Call: history.Read}),
			answer(23*ms, "A", 3, history.Answer{OK: true, Last: stamp(11, 1), Value: "b"})),
		"OrNot": append(handover(),
			command(20*ms, "B", 2, history.Command{Call: history.Write, Stamp: stamp(11, 1), Value: "b"}),
			command(22*ms, "A", 3, history.Command{Call: history.Read}),
			answer(23*ms, "A", 3, history.Answer{OK: true, Last: stamp(10, 1), Value: "a"})),
		"AResourceKnowsNothingOfAnother": append(handover(),
			anew(19*ms, "C", 9), fault(24*ms, history.Gone, "", "C"),
			history.Event{At: 20 * ms, Kind: history.Sent, Worker: "C", Resource: "other", Op: 1, Command: history.Command{Call: history.Write, Stamp: stamp(9, 1)}},
			history.Event{At: 21 * ms, Kind: history.Accepted, Resource: "other", Stamp: stamp(9, 1)},
			history.Event{At: 22 * ms, Kind: history.Sent, Worker: "A", Resource: "other", Op: 1, Command: history.Command{Call: history.Read}},
			history.Event{At: 23 * ms, Kind: history.Answered, Worker: "A", Resource: "other", Op: 1, Answer: history.Answer{OK: true, Last: stamp(9, 1)}}),
		"AGrantThatIsGivenBackUnused": append(handover(),
			of(20*ms, "A", 2, history.Began), enrolled(21*ms, "A", 2, "c-lock-0000000003"), granted(22*ms, "A", 2, 12), of(23*ms, "A", 2, history.Released)),
	} {
		t.Run(name, func(t *testing.T) { require.Empty(t, history.Check(events, grace)) })
	}
}

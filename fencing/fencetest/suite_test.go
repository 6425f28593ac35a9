package fencetest_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/zkfence/zkfence/fencing/fencetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func subject(f flaws) fencetest.Subject {
	return fencetest.Subject{New: func(fencetest.TB) fencetest.Store { return newMemory(f) }, OpIDs: true, LosesAnswers: true}
}

func TestAGuardThatKeepsTheRulePasses(t *testing.T) {
	fencetest.Run(t, subject(flaws{}))
}

// With the recorder, as the broken ones below: that they fail is not its doing.
func TestARecorderPassesItToo(t *testing.T) {
	failed, log := judged(t, subject(flaws{}))
	require.Empty(t, failed, "%s", log)
}

// Each flaw is found, by the property that is named for it among others.
func TestABrokenGuardFails(t *testing.T) {
	covered := make(map[string]bool)
	for _, c := range []struct {
		name  string
		flaws flaws
		by    []string
	}{
		{"ChecksThenWrites", flaws{checkThenWrite: true}, []string{"NothingComesBetweenCheckAndWrite", "AfterRaiseNothingOlderComes", "SixtyFourWritersNeverGoBack", "AFailureDoesNotHideThatItsStampWasApplied"}},
		{"ComparesForEquality", flaws{equality: true}, []string{"OrderDecidesAndNotEquality", "EveryOrderOfThreeCommands"}},
		{"RaisesTheFloorWithSuccessAlone", flaws{lowFloor: true}, []string{"ANewerTokenRaisesTheFloorThoughItsCommandFails"}},
		{"DoesNotSeeWhoSendsSeqZero", flaws{blindToZeroSeq: true}, []string{"BadInputIsRefusedAndChangesNothing"}},
		{"KeepsTheFloorInTheProcess", flaws{forgetful: true}, []string{"ARestartedGuardRemembers", "TwoGuardsOnOneResourceAreOne"}},
		{"ForgetsWithItsStore", flaws{amnesiac: true}, []string{"ARestartedStoreRemembers"}},
		{"SaysSuccessAndWritesNothing", flaws{idle: true}, []string{"EveryOrderOfThreeCommands", "SixtyFourWritersNeverGoBack"}},
		{"RecordsTheOperationBesideTheCommand", flaws{opBeside: true}, []string{"AFailedOperationIsNotRecorded"}},
		{"KnowsAnOperationByItsOwnerAlone", flaws{opPerToken: true}, []string{"AnOperationIsAppliedOnceUnderAnyToken"}},
		{"LooksForTheOperationInAStepOfItsOwn", flaws{opUnlocked: true}, []string{"AnOperationSentByTwoOwnersAtOnceIsAppliedOnce"}},
		{"KeepsOperationsInTheProcess", flaws{opForgotten: true}, []string{"AnOperationIsRememberedOverARestart"}},
		{"CountsFailedCommands", flaws{seqOnFailure: true}, []string{"AReplayAfterFailureRuns"}},
		{"RoundsTokens", flaws{doubles: true}, []string{"LargeNumbersAreNotRounded"}},
		{"IgnoresCase", flaws{ignoresCase: true}, []string{"ResourcesAreApart"}},
		{"CutsNames", flaws{cutsNames: true}, []string{"ResourcesAreApart"}},
		{"TellsNoStamps", flaws{nakedRefusals: true}, []string{"RefusalsNameTheResourceAndBothStamps"}},
		{"CallsTheSupersededApplied", flaws{supersededAsDone: true}, []string{"ALateRetryIsSupersededAndNeverADuplicate"}},
		{"LeavesHalfOfAFailedCommand", flaws{halfDone: true}, []string{"AFailedCommandLeavesNothing"}},
		{"OverridesInSilence", flaws{silentOverride: true}, []string{"AnOverrideLetsASmallerTokenInAndIsRecorded"}},
		{"OverridesInNameOnly", flaws{deafOverride: true}, []string{"AnOverrideLetsASmallerTokenInAndIsRecorded"}},
		{"OverridesForNobody", flaws{carelessOverride: true}, []string{"ABadOverrideChangesNothing"}},
		{"TakesAnyName", flaws{carelessNames: true}, []string{"BadInputIsRefusedAndChangesNothing"}},
		{"AnswersARaiseTooSoon", flaws{hastyRaise: true}, []string{"AfterRaiseNothingOlderComes"}},
		{"ForgetsTheSeqAtARaise", flaws{raiseForgetsSeq: true}, []string{"AFloorOnceRaisedRefusesTheOlder"}},
		{"TakesZeroForNothing", flaws{zeroIsNothing: true}, []string{"BadInputIsRefusedAndChangesNothing"}},
		{"IgnoresTheContext", flaws{ignoresContext: true}, []string{"AnEndedContextRunsNothing"}},
		{"AppliesARepetition", flaws{duplicatesApplied: true}, []string{"AReplayAfterSuccessIsADuplicate"}},
		{"TakesALostAnswerForAFailure", flaws{lostIsFailed: true}, []string{"ALostAnswerIsNoFailureAndItsRetryRunsNothing"}},
		{"RemembersWhatWasAnsweredAlone", flaws{lostForgotten: true}, []string{"ALostAnswerIsNoFailureAndItsRetryRunsNothing"}},
	} {
		v := reflect.ValueOf(c.flaws)
		for i := range v.NumField() {
			if v.Field(i).Bool() {
				covered[v.Type().Field(i).Name] = true
			}
		}
		t.Run(c.name, func(t *testing.T) {
			failed, log := judged(t, subject(c.flaws))
			for _, name := range c.by {
				if !slices.Contains(failed, name) {
					t.Errorf("not found by %s, but by %q:\n%s", name, failed, log)
				}
			}
			t.Logf("found by %q", failed)
		})
	}
	for i, all := 0, reflect.TypeFor[flaws](); i < all.NumField(); i++ {
		name := all.Field(i).Name
		require.True(t, covered[name], "no test breaks the guard by %s", name)
	}
}

// What a Subject says its guard cannot do is not asked for, and that is told.
func TestWhatASubjectExcludesIsTold(t *testing.T) {
	s := fencetest.Subject{
		New: func(fencetest.TB) fencetest.Store {
			return newMemory(flaws{seqOnFailure: true, amnesiac: true, silentOverride: true})
		},
		NoFailures: true, NoOverride: true, NoRestart: true,
	}
	failed, log := judged(t, s)
	require.Empty(t, failed, "%s", log)
	for _, name := range []string{"AFailedCommandLeavesNothing", "ARestartedStoreRemembers", "ABadOverrideChangesNothing", "AFailedOperationIsNotRecorded", "ALostAnswerIsNoFailureAndItsRetryRunsNothing"} {
		require.Contains(t, log, "not judged, by the Subject's own word: "+name)
	}

	t.Run("NoOverrideIsNotGuessed", func(t *testing.T) {
		s := subject(flaws{})
		s.New = func(fencetest.TB) fencetest.Store { return bare{newMemory(flaws{})} }
		failed, log := judged(t, s)
		slices.Sort(failed)
		require.Equal(t, []string{"ABadOverrideChangesNothing", "ALostAnswerIsNoFailureAndItsRetryRunsNothing", "AnOverrideLetsASmallerTokenInAndIsRecorded"}, failed, "%s", log)
		require.Contains(t, log, "NoOverride")
		require.Contains(t, log, "LosesAnswers")
	})
}

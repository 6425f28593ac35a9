package fencetest

// property is one claim.
type property struct {
	name  string
	check func(*scene)
	asks  func(Subject) bool // nil: of every guard
}

func properties() []property {
	return []property{
		{"EveryOrderOfThreeCommands", everyOrder, nil},
		{"EveryPairOfCommandsFailuresAndRaises", everyPair, nil},
		{"ARandomWalkIsAnsweredAsCheckSays", randomWalk, nil},
		{"OrderDecidesAndNotEquality", orderNotEquality, nil},
		{"ANewerTokenRaisesTheFloorThoughItsCommandFails", floorOnSight, failing},
		{"AFloorOnceRaisedRefusesTheOlder", raised, nil},
		{"AReplayAfterSuccessIsADuplicate", replayAfterSuccess, nil},
		{"AReplayAfterFailureRuns", replayAfterFailure, failing},
		{"AFailedCommandLeavesNothing", failureLeavesNothing, failing},
		{"ALateRetryIsSupersededAndNeverADuplicate", lateRetry, nil},
		{"RefusalsNameTheResourceAndBothStamps", refusalsName, nil},
		{"LargeNumbersAreNotRounded", largeNumbers, nil},
		{"BadInputIsRefusedAndChangesNothing", badInput, nil},
		{"ResourcesAreApart", resourcesApart, nil},
		{"AnEndedContextRunsNothing", endedContext, nil},
		{"TwoGuardsOnOneResourceAreOne", twoGuards, nil},
		{"ARestartedGuardRemembers", restartGuard, restarting},
		{"ARestartedStoreRemembers", restartStore, restarting},
		{"NothingComesBetweenCheckAndWrite", nothingBetween, nil},
		{"AfterRaiseNothingOlderComes", raiseSettles, nil},
		{"AFailureDoesNotHideThatItsStampWasApplied", failureTells, failing},
		{"SixtyFourWritersNeverGoBack", manyWriters, nil},
		{"AnOperationIsAppliedOnceUnderAnyToken", opOnce, operating},
		{"AFailedOperationIsNotRecorded", opFails, func(s Subject) bool { return operating(s) && failing(s) }},
		{"AnOperationSentByTwoOwnersAtOnceIsAppliedOnce", opRace, operating},
		{"AnOperationIsRememberedOverARestart", opRestart, func(s Subject) bool { return operating(s) && restarting(s) }},
		{"ALostAnswerIsNoFailureAndItsRetryRunsNothing", lostAnswer, func(s Subject) bool { return s.LosesAnswers }},
		{"AnOverrideLetsASmallerTokenInAndIsRecorded", override, overriding},
		{"ABadOverrideChangesNothing", badOverride, overriding},
	}
}

func failing(s Subject) bool    { return !s.NoFailures }
func restarting(s Subject) bool { return !s.NoRestart }
func overriding(s Subject) bool { return !s.NoOverride }
func operating(s Subject) bool  { return s.OpIDs }

// Run judges the guard, one subtest for each property. It needs seconds with a
// guard that answers within a millisecond: some 1,500 commands.
func Run[T Runner[T]](t T, s Subject) {
	t.Helper()
	if s.New == nil {
		t.Fatalf("fencetest: Subject.New is nil")
	}
	if s.Seed == 0 {
		s.Seed = 1
	}
	for _, p := range properties() {
		if p.asks != nil && !p.asks(s) {
			t.Logf("fencetest: not judged, by the Subject's own word: %s", p.name)
			continue
		}
		t.Run(p.name, func(t T) {
			sc := newScene(t, s)
			p.check(sc)
			if t.Failed() {
				t.Logf("fencetest: Subject.Seed was %d", s.Seed)
			}
		})
	}
}

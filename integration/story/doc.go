// Package story has no code of its own. Its tests let worker processes hold locks
// of a real ensemble, stand for election, and write to a resource for each; break
// something meanwhile; and have the history judged: what the resources have accepted
// and what the workers were told, not what the lock says about itself.
//
// A story that ends well proves its own interleaving and no other.
//
// # Sequences
//
//	1-3  a holder pauses after reading, its     TestALateWriteOfAPausedHolderIsRefused
//	     session expires, its write is late     TestWithoutAGuardTheHistoryGoesBackwards
//	4    the acquisition's reply is lost        TestALostAcquisitionReplyLeavesOneNode
//	5    the old release is late                TestALateReleaseHarmsNoLaterHold
//	     ... within one session                 TestALateReleaseHarmsNoLaterHoldOfItsSession
//	6    keeper replies are lost                TestLostKeeperRepliesEndNoHold
//	7    cut from the ensemble alone            TestAHolderCutFromTheEnsembleReachesTheResourceInVain
//	8    cut from the resource alone, commands  TestAHoldersCommandsArriveOutOfOrder
//	     arrive out of order                    TestAnOldOwnersCommandsArriveAboveTheNewFloor
//	9    the leader dies                        TestTheLeaderDiesAroundGrantAndRelease
//	10   all servers restart                    TestAHoldOutlivesARestartOfAllServers
//	     rebuilt from nothing, two ways out     TestARebuiltEnsembleIsRaisedAboveTheOldOne
//	                                            TestARebuiltEnsemblesTokensAreLetInByAnOverride
//	11   a crowd on one key                     TestAReleaseWakesOneOfThreeThousand
//	12   wall clocks step by an hour            TestWallClocksOfWorkersDecideNothing
//	                                            TestWallClocksOfServersDecideNothing
//
// # Cases
//
//	41  a follower cut from its quorum          TestAHolderOnAFollowerCutFromItsQuorumLosesInTime
//	42  a deposed leader                        TestAHolderOnADeposedLeaderLosesInTime
//	43  a stall: lost by our clock alone        TestAfterALeadersStallTheNextHoldsAtOnce
//	                                            TestAfterAMajoritysStallTheNextHoldsAtOnce
//	    a rolling restart                       TestARollingRestartLosesNoHold
//	    an operator deletes nodes               TestAnOperatorDeletesNodes
//	    faults at random                        TestRandomFaults
//
// # Ends of workers
//
//	a holder is killed                          TestAKilledHolderIsSucceededByTheNextInLine
//	a waiter is killed                          TestAKilledWaiterDelaysNobodyBehindIt
//	a leader is killed                          TestAKilledLeaderIsSucceeded
//	a leader is paused                          TestAPausedLeaderIsSucceededAndLeadsAgain
//
// # Other libraries
//
//	four of them share a lock                   TestFourLibrariesShareOneLock
//	other recipes in line with ours             TestOtherRecipesThatShareAPathWithOurs
//	a selector beside our election              TestASelectorBesideOurElection
//	a holder of theirs is killed                TestOursTakesOverFromAKilledNeighbour
//	kazoo as it comes                           TestKazooHasToBeToldOfOurNames
//	kazoo's own names and Curator               TestKazooHasToTakeNamesThatCuratorReads
//	no line of contenders                       TestRecipesThatCannotShareAPathWithOurs
//
// # Running
//
// With -v a run ends with a table of what each kind of fault has done; without it go
// test shows what passes as one line. A run obeys these environment variables:
//
//   - ZKFENCE_ZK_IMAGE: what the servers run, see package ensemble.
//   - ZKFENCE_LONG: not empty, stories that have a long form take it, the random
//     faults five minutes a seed. That wants more than go test's ten minutes:
//     -timeout 40m.
//   - ZKFENCE_SEED: the random faults of this seed alone. What is struck, when and for
//     how long is the seed's; which step of a worker it hits is not.
//   - ZKFENCE_REPORT: the full path of a file for the table.
package story

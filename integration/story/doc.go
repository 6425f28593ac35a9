// Package story has no code of its own. Its tests let worker processes hold one
// lock of a real ensemble and write to one resource, break something meanwhile,
// and have the history judged: what the resource has accepted and what the workers
// were told, not what the lock says about itself.
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
//	12   wall clocks step by an hour            TestWallClocksOfWorkersDecideNothing
//	                                            TestWallClocksOfServersDecideNothing
//
// Sequence 11, a crowd on one key, takes a harness of its own.
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
package story

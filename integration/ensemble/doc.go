// Package ensemble starts real ZooKeeper servers in containers, for tests, and
// breaks them in the ways that users meet.
//
// It is no way to run ZooKeeper: the servers keep nothing beyond the test, do not
// wait for their disks, and listen without any authentication: for this machine on
// 127.0.0.1, and for every container and process that reaches the engine's bridges,
// on the bridges' addresses too.
// What a fault does is done to real processes and real sockets, so it takes the
// time that it takes; nothing here repeats to the instant. Package zktest does.
//
//	ens := ensemble.New(t)               // three servers, or the test is skipped
//	client, err := zkconn.Dial(ctx, ens.Addrs())
//	...
//	leader, err := ens.Leader(ctx)
//	err = leader.Kill(ctx)
//
// In a module of yours, replace github.com/zkfence/zkfence and
// github.com/zkfence/zkfence/integration by a clone of the repository and its
// integration folder. A test binary that is interrupted runs no Cleanup; this has it
// leave nothing all the same:
//
//	func TestMain(m *testing.M) {
//		signals := make(chan os.Signal, 1)
//		signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
//		go func() {
//			<-signals
//			_ = ensemble.CloseAll(context.Background())
//			os.Exit(130)
//		}()
//		os.Exit(m.Run())
//	}
//
// # Networks
//
// Every server has two: one on which its clients reach it, by a port of
// 127.0.0.1 that stays the same for the life of the Ensemble, and an internal one
// for the quorum. The first is an ordinary bridge, from which the servers reach what
// the machine reaches. The second has fixed addresses, a /28 at random out of
// 10.200.0.0 to 10.249.255.255: while it is there, the machine does not reach others
// of the same addresses, in a VPN for instance. So a server can be cut off from the others while its clients
// still reach it (Server.CutQuorum), the leader deposed without noticing it
// (Ensemble.Depose), and one client be cut off from all servers, by a Route of its
// own, while it keeps whatever else it talks to.
//
// # Image
//
// The servers run the image that ZKFENCE_ZK_IMAGE names, or the official
// zookeeper:3.9. Where no registry can be reached, image/build.sh of this module
// makes one from a Debian machine's packages and prints its name.
//
// # Clean-up
//
// Containers and networks carry the label zkfence.ensemble, with the id of their
// Ensemble; Close removes what carries its own, and CloseAll, for a signal's sake, what
// carries this process's, by the label zkfence.owner. What a killed test binary left
// behind, the next Start on the same machine removes.
//
// testcontainers' own reaper is a container of an image of its own, which a
// machine without a registry cannot have: unless TESTCONTAINERS_RYUK_DISABLED is
// set, Start sets it to true for this process, and likewise
// TESTCONTAINERS_HOST_OVERRIDE to 127.0.0.1, so that nothing dials a gateway where
// the process looks like one inside a container.
package ensemble

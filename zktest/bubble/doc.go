// Package bubble runs one test in virtual time against a ZooKeeper in memory.
//
// It is testing/synctest with what such a test needs every time: a zktest.Server,
// a zktest.Network in front of it, the order in which things must be taken down,
// and a watchdog. It promises nothing about interleavings within one instant:
// in a bubble two things hardly ever happen at once, so a race between them
// needs a test on the real clock.
//
//	func TestLoss(t *testing.T) {
//		bubble.Run(t, func(b *bubble.B) {
//			conn, _, err := zk.Connect(b.Servers(), 30*time.Second, zk.WithDialer(b.Dialer("a")))
//			require.NoError(b.T, err)
//			b.Cleanup(conn.Close)
//			b.Net.Partition("a", b.Server.Addr())
//			time.Sleep(time.Minute) // takes no time
//		})
//	}
//
// Every client must dial with b.Dialer, by zk.WithDialer say: servers listen on
// the network of the bubble alone, at 192.0.2.1:2181 and on, addresses that no
// machine has. A client without it dials for real, and in vain.
//
// What a bubble uses is made inside it: clients, channels and timers from
// outside would block for real. A mutex held while its goroutine waits for
// something stops the clock for everybody else.
//
// # One seed, one trace
//
// The same test with the same seed sees the same requests, events and faults at
// the same instants, to the nanosecond, in every process and with any number of
// processors, if it keeps to what follows. Server and network see to their part,
// and B.Dialer to some of the client's: what the goroutines of one client send, or
// dial, in one instant is sent in an order that follows from the seed. A client
// must match replies by their numbers for that; b.Net.Dialer leaves the order
// alone.
//
// The rest is the test's:
//
//   - Every client has a host of its own, or connects at an instant of its own.
//   - In an ensemble every client is given one address, b.Servers()[i:i+1], or a
//     HostProvider that does not shuffle: go-zookeeper shuffles its servers, by a
//     generator that no seed reaches.
//   - WithSeededCrypto, where crypto/rand matters, as it does for GUIDs; that two
//     goroutines draw from it in one instant is chance again. So are math/rand, the
//     order of maps and that of ready cases of a select.
//   - Goroutines that do something in one instant and share more than a client,
//     or take what one of its calls returns to the next in that instant, do it in
//     whatever order they run. Give them instants of their own.
//   - A go-zookeeper Conn tosses coins in the instant of a disconnection: after a
//     call that failed, or a watch that came, let an instant pass (time.Sleep(1))
//     before the next call, and close no Conn that is just reconnecting.
//
// # The end
//
// When the function returns, or fails, partitions are healed and the server's
// faults taken back; then cleanups run, last one first; then the network and
// the server close. A goroutine that is left after that makes synctest panic,
// "main bubble goroutine has exited but blocked goroutines remain", so every test
// is a test for leaks. It is nearly always a client: one must be closed, and have
// ended, by its cleanup.
//
// A test that fails prints its seed, how to run it again and the end of the
// server's trace: when a check of b.T or of Run's own t fails, be it after Run, when
// fn panics, and before synctest does. For a panic on a goroutine that fn has
// started there is no such moment.
//
// A stuck test does not stand still, since some ticker always moves the clock.
// So there is a limit of virtual time: at it the test fails with every
// goroutine's stack, and the network closes, to set free who waits for it. If
// that does not end the test the process panics. A limit of real time catches
// what keeps the virtual clock from moving at all; it can only panic.
//
// The package knows no client and imports none.
package bubble

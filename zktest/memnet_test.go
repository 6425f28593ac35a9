package zktest_test

import (
	"fmt"
	"io"
	"math"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zktest"
)

// inBubble runs a test in virtual time.
func inBubble(t *testing.T, name string, f func(t *testing.T, n *zktest.Network)) {
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			n := zktest.NewNetwork(1)
			defer n.Close()
			f(t, n)
		})
	})
}

// arrival returns how long after now one byte written on from arrives at to.
func arrival(t *testing.T, from, to net.Conn) time.Duration {
	t.Helper()
	start := time.Now()
	_, err := from.Write([]byte("x"))
	require.NoError(t, err)
	_, err = io.ReadFull(to, make([]byte, 1))
	require.NoError(t, err)
	return time.Since(start)
}

func TestNetworkLatency(t *testing.T) {
	inBubble(t, "EachDirectionHasItsOwn", func(t *testing.T, n *zktest.Network) {
		a, b := pair(t, n)
		n.SetLatency("a", serverAddr, 100*time.Millisecond, 110*time.Millisecond)
		n.SetLatency("192.0.2.1", "a", time.Second, time.Second)
		require.InDelta(t, 105*time.Millisecond, arrival(t, a, b), float64(6*time.Millisecond))
		require.InDelta(t, time.Second, arrival(t, b, a), float64(5*time.Microsecond))
	})

	inBubble(t, "ADialIsARoundTrip", func(t *testing.T, n *zktest.Network) {
		_, err := n.Listen(serverAddr)
		require.NoError(t, err)
		n.SetDefaultLatency(time.Second, time.Second)
		start := time.Now()
		_, err = n.Dialer("a")("tcp", serverAddr, 3*time.Second)
		require.NoError(t, err)
		require.InDelta(t, 2*time.Second, time.Since(start), float64(10*time.Microsecond))
	})

	inBubble(t, "AFasterByteDoesNotOvertakeAndArrivesAtItsOwnInstant", func(t *testing.T, n *zktest.Network) {
		a, b := pair(t, n)
		n.SetLatency("a", "192.0.2.1", time.Second, time.Second)
		_, err := a.Write([]byte("1"))
		require.NoError(t, err)
		n.SetLatency("a", "192.0.2.1", 0, 0)
		_, err = a.Write([]byte("2"))
		require.NoError(t, err)
		var at [2]time.Time
		for i, want := range []string{"1", "2"} {
			got := make([]byte, 2)
			m, err := b.Read(got)
			require.NoError(t, err)
			require.Equal(t, want, string(got[:m]))
			at[i] = time.Now()
		}
		require.Greater(t, at[1].Sub(at[0]), time.Duration(0))
	})

	t.Run("NonsenseIsRefused", func(t *testing.T) {
		n := zktest.NewNetwork(1)
		defer n.Close()
		require.Panics(t, func() { n.SetLatency("a", "b", 2, 1) })
		require.Panics(t, func() { n.SetDefaultLatency(-1, 1) })
		require.Panics(t, func() { n.SetDefaultLatency(0, math.MaxInt64) })
	})
}

func TestNetworkPartition(t *testing.T) {
	inBubble(t, "BytesAndTheEndOfAStreamWaitForTheHealInOrder", func(t *testing.T, n *zktest.Network) {
		a, b := pair(t, n)
		_, err := a.Write([]byte("on the way,"))
		require.NoError(t, err)
		n.Partition("a", serverAddr)
		_, err = a.Write([]byte("behind it"))
		require.NoError(t, err)
		require.NoError(t, a.Close())
		require.NoError(t, b.SetReadDeadline(time.Now().Add(time.Hour)))
		_, err = b.Read(make([]byte, 1))
		timedOut(t, err)
		require.NoError(t, b.SetReadDeadline(time.Time{}))
		n.Heal("a", serverAddr)
		got, err := io.ReadAll(b)
		require.NoError(t, err)
		require.Equal(t, "on the way,behind it", string(got))
	})

	inBubble(t, "OneWayLeavesTheOtherAlone", func(t *testing.T, n *zktest.Network) {
		a, b := pair(t, n)
		n.PartitionOneWay("a", "192.0.2.1")
		arrival(t, b, a)
		_, err := a.Write([]byte("x"))
		require.NoError(t, err)
		require.NoError(t, b.SetReadDeadline(time.Now().Add(time.Minute)))
		_, err = b.Read(make([]byte, 1))
		timedOut(t, err)
		n.HealAll()
		require.NoError(t, b.SetReadDeadline(time.Now().Add(time.Minute)))
		_, err = b.Read(make([]byte, 1))
		require.NoError(t, err)
	})

	inBubble(t, "OtherHostsGoOn", func(t *testing.T, n *zktest.Network) {
		pair(t, n)
		l, err := n.Listen("192.0.2.2:2181")
		require.NoError(t, err)
		n.Partition("a", "192.0.2.1")
		c, err := n.Dialer("a")("tcp", "192.0.2.2:2181", 0)
		require.NoError(t, err)
		s, err := l.Accept()
		require.NoError(t, err)
		arrival(t, c, s)
		_, err = n.Dialer("b")("tcp", serverAddr, time.Second)
		require.NoError(t, err)
	})

	inBubble(t, "ADialHangsUntilItsTimeout", func(t *testing.T, n *zktest.Network) {
		l, err := n.Listen(serverAddr)
		require.NoError(t, err)
		for _, from := range []string{"a", "192.0.2.1"} {
			to := map[string]string{"a": "192.0.2.1", "192.0.2.1": "a"}[from]
			n.PartitionOneWay(from, to)
			start := time.Now()
			_, err = n.Dialer("a")("tcp", serverAddr, 5*time.Second)
			timedOut(t, err)
			require.Equal(t, 5*time.Second, time.Since(start))
			n.HealAll()
		}
		// The way back was cut: the server saw a connection, and sees its end.
		c, err := l.Accept()
		require.NoError(t, err)
		_, err = c.Read(make([]byte, 1))
		require.ErrorIs(t, err, syscall.ECONNRESET)
	})

	inBubble(t, "ADialSucceedsIfTheHealComesFirst", func(t *testing.T, n *zktest.Network) {
		_, err := n.Listen(serverAddr)
		require.NoError(t, err)
		n.Partition("a", serverAddr)
		time.AfterFunc(time.Second, n.HealAll)
		start := time.Now()
		_, err = n.Dialer("a")("tcp", serverAddr, 5*time.Second)
		require.NoError(t, err)
		require.InDelta(t, time.Second, time.Since(start), float64(time.Millisecond))
	})
}

func TestNetworkReset(t *testing.T) {
	inBubble(t, "BothSidesFailAtOncePartitionOrNot", func(t *testing.T, n *zktest.Network) {
		a, b := pair(t, n)
		n.Partition("a", "192.0.2.1")
		_, err := a.Write([]byte("lost"))
		require.NoError(t, err)
		start := time.Now()
		n.Reset("a", "192.0.2.1")
		for _, c := range []net.Conn{a, b} {
			_, err := c.Read(make([]byte, 1))
			require.ErrorIs(t, err, syscall.ECONNRESET)
			_, err = c.Write([]byte("x"))
			require.ErrorIs(t, err, syscall.ECONNRESET)
		}
		require.Less(t, time.Since(start), 20*time.Microsecond)
	})

	inBubble(t, "OtherLinksAndLaterConnectionsAreSpared", func(t *testing.T, n *zktest.Network) {
		l, err := n.Listen(serverAddr)
		require.NoError(t, err)
		dialled := func(host string) (c, s net.Conn) {
			c, err := n.Dialer(host)("tcp", serverAddr, 0)
			require.NoError(t, err)
			s, err = l.Accept()
			require.NoError(t, err)
			return c, s
		}
		broken, _ := dialled("a")
		c, s := dialled("b")
		n.Reset("a", "192.0.2.1")
		c2, s2 := dialled("a")
		_, err = broken.Read(make([]byte, 1))
		require.ErrorIs(t, err, syscall.ECONNRESET)
		arrival(t, c, s)
		arrival(t, s2, c2)
	})
}

func TestNetworkDial(t *testing.T) {
	inBubble(t, "NobodyListensIsRefused", func(t *testing.T, n *zktest.Network) {
		_, err := n.Dialer("a")("tcp", serverAddr, time.Second)
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		l, err := n.Listen(serverAddr)
		require.NoError(t, err)
		require.NoError(t, l.Close())
		_, err = n.Dialer("a")("tcp", serverAddr, time.Second)
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
	})

	inBubble(t, "NamesAreNotResolved", func(t *testing.T, n *zktest.Network) {
		for _, addr := range []string{"localhost:2181", "192.0.2.1", "192.0.2.1:zk", "192.0.2.1:70000"} {
			_, err := n.Listen(addr)
			require.Error(t, err, addr)
			_, err = n.Dialer("a")("tcp", addr, time.Second)
			require.Error(t, err, addr)
		}
		_, err := n.Dialer("a")("udp", serverAddr, time.Second)
		require.Error(t, err)
	})

	inBubble(t, "AnAddressIsListenedOnOnceAndFreeAgainAfterClose", func(t *testing.T, n *zktest.Network) {
		l, err := n.Listen(serverAddr)
		require.NoError(t, err)
		_, err = n.Listen(serverAddr)
		require.Error(t, err)
		accepted := make(chan error)
		go func() { _, err := l.Accept(); accepted <- err }()
		synctest.Wait()
		require.NoError(t, l.Close())
		require.ErrorIs(t, <-accepted, net.ErrClosed)
		require.ErrorIs(t, l.Close(), net.ErrClosed)
		_, err = n.Listen(serverAddr)
		require.NoError(t, err)
	})

	inBubble(t, "PortZeroIsAFreePort", func(t *testing.T, n *zktest.Network) {
		l1, err := n.Listen("127.0.0.1:0")
		require.NoError(t, err)
		l2, err := n.Listen("127.0.0.1:0")
		require.NoError(t, err)
		require.NotEqual(t, l1.Addr().String(), l2.Addr().String())
		_, err = n.Dialer("a")("tcp", l2.Addr().String(), time.Second)
		require.NoError(t, err)
	})

	inBubble(t, "AConnectionNobodyAcceptedIsResetWhenTheListenerCloses", func(t *testing.T, n *zktest.Network) {
		l, err := n.Listen(serverAddr)
		require.NoError(t, err)
		c, err := n.Dialer("a")("tcp", serverAddr, 0)
		require.NoError(t, err)
		require.NoError(t, l.Close())
		_, err = c.Read(make([]byte, 1))
		require.ErrorIs(t, err, syscall.ECONNRESET)
	})
}

// A bubble that ends with a goroutine left in it fails, so that these tests
// prove the absence of leaks as well.
func TestNetworkClose(t *testing.T) {
	inBothTimes(t, "EndsEveryBlockedCall", func(t *testing.T, n *zktest.Network) {
		a, b := pair(t, n)
		l, err := n.Listen("192.0.2.9:1")
		require.NoError(t, err)
		dial := n.Dialer("a")
		n.Partition("a", "192.0.2.9")
		require.NoError(t, a.SetDeadline(time.Now().Add(time.Hour)))
		errs := make(chan error)
		calls := []func() error{
			func() error { _, err := a.Read(make([]byte, 1)); return err },
			func() error { _, err := b.Write(make([]byte, 2<<20)); return err },
			func() error { _, err := l.Accept(); return err },
			func() error { _, err := dial("tcp", "192.0.2.9:1", 0); return err },
		}
		for _, call := range calls {
			go func() { errs <- call() }()
		}
		n.Close()
		for range calls {
			require.ErrorIs(t, <-errs, net.ErrClosed)
		}
		_, err = n.Listen(serverAddr)
		require.ErrorIs(t, err, net.ErrClosed)
		_, err = dial("tcp", serverAddr, 0)
		require.ErrorIs(t, err, net.ErrClosed)
		n.Close()
	})

	inBothTimes(t, "DropsWhatIsOnItsWay", func(t *testing.T, n *zktest.Network) {
		a, _ := pair(t, n)
		n.SetDefaultLatency(time.Hour, time.Hour)
		_, err := a.Write([]byte("x"))
		require.NoError(t, err)
		n.Close()
	})
}

// history runs 20 clients that write to one server at the same instants, and
// returns every arrival with its time.
func history(t *testing.T, seed uint64) (log []string) {
	synctest.Test(t, func(t *testing.T) {
		n := zktest.NewNetwork(seed)
		defer n.Close()
		// So narrow that without lanes some would arrive in one instant.
		n.SetDefaultLatency(200*time.Microsecond, 201*time.Microsecond)
		l, err := n.Listen(serverAddr)
		require.NoError(t, err)
		start := time.Now()
		for i := range 20 {
			dial := n.Dialer(fmt.Sprint("client-", i))
			go func() {
				for {
					c, err := dial("tcp", serverAddr, time.Second)
					if err != nil {
						return
					}
					for range 30 {
						time.Sleep(10 * time.Millisecond)
						if _, err := c.Write([]byte("x")); err != nil {
							break
						}
					}
					_ = c.Close()
				}
			}()
		}
		time.AfterFunc(500*time.Millisecond, func() { n.Partition("client-3", serverAddr) })
		time.AfterFunc(700*time.Millisecond, func() { n.Reset("client-4", serverAddr) })
		time.AfterFunc(900*time.Millisecond, n.HealAll)
		arrived := make(chan string)
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go func() {
					for {
						m, err := c.Read(make([]byte, 100))
						arrived <- fmt.Sprint(time.Since(start), c.RemoteAddr(), m, err)
						if err != nil {
							return
						}
					}
				}()
			}
		}()
		for end := time.After(1500 * time.Millisecond); ; {
			select {
			case s := <-arrived:
				log = append(log, s)
				continue
			case <-end:
			}
			break
		}
		n.Close()
		for done := time.After(time.Second); ; {
			select {
			case <-arrived:
				continue
			case <-done:
			}
			return
		}
	})
	return log
}

func TestNetworkRepeatsBitForBit(t *testing.T) {
	first := history(t, 7)
	require.Greater(t, len(first), 2000)
	for range 5 {
		require.Equal(t, first, history(t, 7))
	}
	require.NotEqual(t, first, history(t, 8))
}

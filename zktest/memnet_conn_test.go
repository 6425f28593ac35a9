package zktest_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zktest"
)

const serverAddr = "192.0.2.1:2181"

// pair connects host "a" to the server's address.
func pair(t *testing.T, n *zktest.Network) (client, server net.Conn) {
	t.Helper()
	l, err := n.Listen(serverAddr)
	require.NoError(t, err)
	client, err = n.Dialer("a")("tcp", serverAddr, 0)
	require.NoError(t, err)
	server, err = l.Accept()
	require.NoError(t, err)
	return client, server
}

// inBothTimes runs a test in a bubble and on the real clock: a conn that only
// works while time stands still between its steps would be a toy.
func inBothTimes(t *testing.T, name string, f func(t *testing.T, n *zktest.Network)) {
	run := func(t *testing.T) {
		n := zktest.NewNetwork(1)
		defer n.Close()
		f(t, n)
	}
	t.Run(name, func(t *testing.T) {
		t.Run("VirtualTime", func(t *testing.T) { synctest.Test(t, run) })
		t.Run("RealTime", run)
	})
}

func timedOut(t *testing.T, err error) {
	t.Helper()
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	var ne net.Error
	require.ErrorAs(t, err, &ne)
	require.True(t, ne.Timeout())
}

func TestMemConn(t *testing.T) {
	inBothTimes(t, "BytesArriveInOrderBothWays", func(t *testing.T, n *zktest.Network) {
		a, b := pair(t, n)
		want := make([]byte, 3<<20)
		rng := rand.NewChaCha8([32]byte{1})
		_, err := rng.Read(want)
		require.NoError(t, err)

		var wg sync.WaitGroup
		wg.Go(func() { // an echo
			_, _ = io.Copy(b, b)
			_ = b.Close()
		})
		var got bytes.Buffer
		wg.Go(func() { _, _ = io.Copy(&got, a) })
		for rest := want; len(rest) > 0; {
			m := min(len(rest), 1+int(rng.Uint64()%40000))
			k, err := a.Write(rest[:m])
			require.NoError(t, err)
			require.Equal(t, m, k)
			rest = rest[m:]
		}
		require.NoError(t, a.(interface{ CloseWrite() error }).CloseWrite())
		wg.Wait()
		require.True(t, bytes.Equal(want, got.Bytes()))
	})

	inBothTimes(t, "WritesDoNotWaitForAReader", func(t *testing.T, n *zktest.Network) {
		a, b := pair(t, n)
		for range 100 {
			_, err := a.Write(make([]byte, 1000))
			require.NoError(t, err)
		}
		_, err := io.ReadFull(b, make([]byte, 100*1000))
		require.NoError(t, err)
	})

	inBothTimes(t, "AFullWindowBlocksTheWriterUntilTheReaderReads", func(t *testing.T, n *zktest.Network) {
		a, b := pair(t, n)
		sent, err := a.Write(make([]byte, 1<<20))
		require.NoError(t, err)
		require.Equal(t, 1<<20, sent)
		require.NoError(t, a.SetWriteDeadline(time.Now().Add(20*time.Millisecond)))
		sent, err = a.Write([]byte("none of it fits"))
		timedOut(t, err)
		require.Zero(t, sent)
		require.NoError(t, a.SetWriteDeadline(time.Time{}))

		wrote := make(chan error)
		go func() { _, err := a.Write([]byte("behind")); wrote <- err }()
		_, err = io.ReadFull(b, make([]byte, 1<<20))
		require.NoError(t, err)
		require.NoError(t, <-wrote)
		tail := make([]byte, 6)
		_, err = io.ReadFull(b, tail)
		require.NoError(t, err)
		require.Equal(t, "behind", string(tail))
	})

	// All that was sent had arrived, so nothing came behind the end to be refused,
	// and the writer waited for good.
	inBothTimes(t, "AWriterWithoutRoomLearnsThatThePeerHasClosed", func(t *testing.T, n *zktest.Network) {
		a, b := pair(t, n)
		wrote := make(chan error)
		go func() { _, err := a.Write(make([]byte, 2<<20)); wrote <- err }()
		_, err := b.Read(make([]byte, 1000))
		require.NoError(t, err)
		_, err = b.Write([]byte("last words"))
		require.NoError(t, err)
		time.Sleep(10 * time.Millisecond) // a latency at most: everything has arrived
		require.NoError(t, b.Close())
		require.ErrorIs(t, <-wrote, syscall.ECONNRESET)
		said, err := io.ReadAll(a)
		require.Equal(t, "last words", string(said))
		require.ErrorIs(t, err, syscall.ECONNRESET)
	})

	inBothTimes(t, "ConcurrentWritesAreNotTornApart", func(t *testing.T, n *zktest.Network) {
		a, b := pair(t, n)
		const size = 700 << 10 // three of them do not fit in the window
		var wg sync.WaitGroup
		for _, c := range "xyz" {
			wg.Go(func() { _, _ = a.Write(bytes.Repeat([]byte{byte(c)}, size)) })
		}
		got := make([]byte, 3*size)
		_, err := io.ReadFull(b, got)
		require.NoError(t, err)
		wg.Wait()
		for i := range 3 {
			part := got[i*size : (i+1)*size]
			require.Equal(t, size, bytes.Count(part, part[:1]))
		}
	})

	inBothTimes(t, "EndOfStreamComesBehindTheBytes", func(t *testing.T, n *zktest.Network) {
		a, b := pair(t, n)
		_, err := a.Write([]byte("last words"))
		require.NoError(t, err)
		require.NoError(t, a.Close())
		got, err := io.ReadAll(b)
		require.NoError(t, err)
		require.Equal(t, "last words", string(got))
		_, err = b.Read(make([]byte, 1))
		require.Equal(t, io.EOF, err)
	})

	inBothTimes(t, "AHalfClosedConnStillReads", func(t *testing.T, n *zktest.Network) {
		a, b := pair(t, n)
		require.NoError(t, a.(interface{ CloseWrite() error }).CloseWrite())
		_, err := a.Write([]byte("x"))
		require.ErrorIs(t, err, syscall.EPIPE)
		_, err = b.Read(make([]byte, 1))
		require.Equal(t, io.EOF, err)
		_, err = b.Write([]byte("answer"))
		require.NoError(t, err)
		require.NoError(t, b.Close())
		got, err := io.ReadAll(a)
		require.NoError(t, err)
		require.Equal(t, "answer", string(got))
	})

	inBubble(t, "WritingToAPeerThatClosedEndsInAReset", func(t *testing.T, n *zktest.Network) {
		a, b := pair(t, n)
		require.NoError(t, b.Close())
		_, err := a.Read(make([]byte, 1))
		require.Equal(t, io.EOF, err)
		_, err = a.Write([]byte("x"))
		require.NoError(t, err)
		time.Sleep(time.Second)
		_, err = a.Read(make([]byte, 1))
		require.ErrorIs(t, err, syscall.ECONNRESET)
		_, err = a.Write([]byte("x"))
		require.ErrorIs(t, err, syscall.ECONNRESET)
	})

	inBothTimes(t, "CloseWakesWhoeverIsBlocked", func(t *testing.T, n *zktest.Network) {
		a, b := pair(t, n)
		errs := make(chan error, 2)
		go func() { _, err := a.Read(make([]byte, 1)); errs <- err }()
		go func() { _, err := a.Write(make([]byte, 2<<20)); errs <- err }()
		_, err := io.ReadFull(b, make([]byte, 1000)) // the writer is at work
		require.NoError(t, err)
		require.NoError(t, a.Close())
		require.ErrorIs(t, <-errs, net.ErrClosed)
		require.ErrorIs(t, <-errs, net.ErrClosed)

		_, err = a.Read(nil)
		require.ErrorIs(t, err, net.ErrClosed)
		_, err = a.Write(nil)
		require.ErrorIs(t, err, net.ErrClosed)
		require.ErrorIs(t, a.SetDeadline(time.Time{}), net.ErrClosed)
		require.ErrorIs(t, a.Close(), net.ErrClosed)
	})

	inBothTimes(t, "AddressesNameBothEnds", func(t *testing.T, n *zktest.Network) {
		a, b := pair(t, n)
		require.Equal(t, serverAddr, a.RemoteAddr().String())
		require.Equal(t, serverAddr, b.LocalAddr().String())
		require.Equal(t, a.LocalAddr(), b.RemoteAddr())
		host, _, err := net.SplitHostPort(a.LocalAddr().String())
		require.NoError(t, err)
		require.Equal(t, "a", host)
		require.Equal(t, "tcp", a.LocalAddr().Network())
	})
}

func TestMemConnDeadlines(t *testing.T) {
	inBothTimes(t, "AReadEndsAtItsDeadlineAndWorksAgainAfterANewOne", func(t *testing.T, n *zktest.Network) {
		a, b := pair(t, n)
		start := time.Now()
		require.NoError(t, a.SetReadDeadline(start.Add(30*time.Millisecond)))
		_, err := a.Read(make([]byte, 1))
		timedOut(t, err)
		require.GreaterOrEqual(t, time.Since(start), 30*time.Millisecond)
		_, err = b.Write([]byte("x"))
		require.NoError(t, err)
		require.NoError(t, a.SetReadDeadline(time.Time{}))
		_, err = a.Read(make([]byte, 1))
		require.NoError(t, err)
	})

	inBothTimes(t, "APastDeadlineRefusesEvenWhatHasArrived", func(t *testing.T, n *zktest.Network) {
		a, b := pair(t, n)
		_, err := b.Write([]byte("xy"))
		require.NoError(t, err)
		_, err = a.Read(make([]byte, 1))
		require.NoError(t, err)
		require.NoError(t, a.SetDeadline(time.Unix(1, 0)))
		_, err = a.Read(make([]byte, 1))
		timedOut(t, err)
		_, err = a.Write([]byte("x"))
		timedOut(t, err)
	})

	inBothTimes(t, "APastDeadlineWakesABlockedRead", func(t *testing.T, n *zktest.Network) {
		a, b := pair(t, n)
		_, err := b.Write([]byte("go"))
		require.NoError(t, err)
		errs := make(chan error)
		reading := make(chan struct{})
		go func() {
			_, err := io.ReadFull(a, make([]byte, 2))
			close(reading)
			if err == nil {
				_, err = a.Read(make([]byte, 1))
			}
			errs <- err
		}()
		<-reading
		require.NoError(t, a.SetReadDeadline(time.Unix(1, 0)))
		timedOut(t, <-errs)
	})

	inBothTimes(t, "ALaterDeadlineReplacesAnEarlierOne", func(t *testing.T, n *zktest.Network) {
		a, _ := pair(t, n)
		start := time.Now()
		require.NoError(t, a.SetReadDeadline(start.Add(time.Millisecond)))
		require.NoError(t, a.SetReadDeadline(start.Add(40*time.Millisecond)))
		_, err := a.Read(make([]byte, 1))
		timedOut(t, err)
		require.GreaterOrEqual(t, time.Since(start), 40*time.Millisecond)
	})

	inBothTimes(t, "TheTwoDeadlinesAreIndependent", func(t *testing.T, n *zktest.Network) {
		a, b := pair(t, n)
		require.NoError(t, a.SetReadDeadline(time.Unix(1, 0)))
		_, err := a.Write([]byte("x"))
		require.NoError(t, err)
		_, err = b.Read(make([]byte, 1))
		require.NoError(t, err)
		require.NoError(t, a.SetReadDeadline(time.Time{}))
		require.NoError(t, a.SetWriteDeadline(time.Unix(1, 0)))
		_, err = b.Write([]byte("x"))
		require.NoError(t, err)
		_, err = a.Read(make([]byte, 1))
		require.NoError(t, err)
		_, err = a.Write([]byte("x"))
		require.True(t, errors.Is(err, os.ErrDeadlineExceeded))
	})
}

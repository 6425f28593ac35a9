package main

import (
	"fmt"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/zkfence/zkfence/zktest"
)

func TestMain(m *testing.M) {
	if i := slices.Index(os.Args, "-zk"); slices.Contains(os.Args, "-observe") { // spawned by run
		if err := observe(os.Args[i+1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// The measurement leaves nothing behind, and what is over a limit is an error that
// names it.
func TestRun(t *testing.T) {
	s := zktest.New(t)
	require.NoError(t, run(t.Context(), s.Addr(), 1, 1, time.Millisecond, 0, 0))
	require.False(t, s.Exists(dir))
	require.Eventually(t, func() bool { return len(s.Sessions()) == 0 }, 10*time.Second, 10*time.Millisecond)
	require.ErrorContains(t, run(t.Context(), s.Addr(), 1, 1, 0, 1e-9, 0), "bare writes, above the limit of 0.00")
	require.ErrorContains(t, run(t.Context(), s.Addr(), 1, 1, 0, 0, 1e-9), "observers made a takeover take")
	require.Error(t, run(t.Context(), s.Addr(), 0, 1, 0, 0, 0))
}

func TestALinkDelaysEachWayAndEndsBothSides(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	const delay = 20 * time.Millisecond
	k, err := newLink(l.Addr().String(), delay)
	require.NoError(t, err)
	near, err := net.Dial("tcp", k.Addr().String())
	require.NoError(t, err)
	far, err := l.Accept()
	require.NoError(t, err)
	buf := make([]byte, 8)
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		begin := time.Now()
		_, err := way[0].Write([]byte("x"))
		require.NoError(t, err)
		n, err := way[1].Read(buf)
		require.NoError(t, err)
		require.Equal(t, "x", string(buf[:n]))
		require.GreaterOrEqual(t, time.Since(begin), delay)
	}
	require.NoError(t, near.Close())
	_, err = far.Read(buf)
	require.Error(t, err)
	require.NoError(t, far.Close())
	require.NoError(t, k.close())
}

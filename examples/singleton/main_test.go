package main

import (
	"context"
	"log"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/zktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// It is made to be copied: nobody copies a long program.
func TestItIsShort(t *testing.T) {
	text, err := os.ReadFile("main.go")
	require.NoError(t, err)
	require.Less(t, strings.Count(string(text), "\n"), 60)
}

// logged passes on what the workers log.
type logged chan string

func (l logged) Write(line []byte) (int, error) {
	l <- strings.TrimSpace(string(line))
	return len(line), nil
}

// next is the stamp of the next job that is done.
func (l logged) next(t *testing.T) fencing.Stamp {
	t.Helper()
	select {
	case line := <-l:
		_, text, found := strings.Cut(line, "with stamp ")
		require.True(t, found, "%q", line)
		s, err := fencing.ParseStamp(text)
		require.NoError(t, err)
		return s
	case <-time.After(20 * time.Second):
		require.Fail(t, "nobody works")
		return fencing.Stamp{}
	}
}

// Two workers: one works, with numbers that rise. When it is told to end it
// resigns, and the other goes on with a larger token long before a session could
// have timed out. After a loss a worker comes back by itself.
func TestOneAtATimeWorks(t *testing.T) {
	server := zktest.New(t)
	lines := make(logged, 64)
	log.SetOutput(lines)
	log.SetFlags(0)
	defer log.SetOutput(os.Stderr)

	var wg sync.WaitGroup
	defer wg.Wait()
	start := func() (end context.CancelFunc, ended chan error) {
		ctx, end := context.WithCancel(t.Context())
		ended = make(chan error, 1)
		wg.Go(func() { ended <- run(ctx, []string{server.Addr()}) })
		return end, ended
	}
	endFirst, firstEnded := start()
	defer endFirst()
	one := lines.next(t)
	endSecond, secondEnded := start()
	defer endSecond()
	two := lines.next(t)
	require.Equal(t, fencing.Stamp{Token: one.Token, Seq: 2}, two)

	before := time.Now()
	endFirst()
	require.ErrorIs(t, <-firstEnded, context.Canceled)
	three := lines.next(t)
	require.Less(t, time.Since(before), 5*time.Second, "the session times out after 10")
	require.Positive(t, three.Token.Compare(two.Token))
	require.Equal(t, uint64(1), three.Seq)

	server.ExpireAll()
	four := lines.next(t)
	for four.Token == three.Token { // done before the news of the loss
		four = lines.next(t)
	}
	require.Positive(t, four.Token.Compare(three.Token))
	endSecond()
	require.ErrorIs(t, <-secondEnded, context.Canceled)
}

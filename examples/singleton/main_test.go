package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"slices"
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
type logged struct {
	lines chan string
	read  []string
}

func (l *logged) Write(line []byte) (int, error) {
	l.lines <- strings.TrimSpace(string(line))
	return len(line), nil
}

// one reads one line.
func (l *logged) one(t *testing.T, what string) string {
	t.Helper()
	select {
	case line := <-l.lines:
		l.read = append(l.read, line)
		return line
	case <-time.After(20 * time.Second):
		require.Fail(t, "never logged", "%s, after %q", what, l.read)
		return ""
	}
}

// await reads until a line begins with text, if none has done so yet.
func (l *logged) await(t *testing.T, text string) {
	t.Helper()
	begins := func(line string) bool { return strings.HasPrefix(line, text) }
	for !slices.ContainsFunc(l.read, begins) {
		l.one(t, text)
	}
}

// next is the stamp of the next job that is done.
func (l *logged) next(t *testing.T) fencing.Stamp {
	t.Helper()
	for {
		_, text, found := strings.Cut(l.one(t, "a job"), "with stamp ")
		if !found {
			continue
		}
		s, err := fencing.ParseStamp(text)
		require.NoError(t, err)
		return s
	}
}

// Two workers: one works, with numbers that rise. When it is told to end it
// resigns, and the other goes on with a larger token long before a session could
// have timed out. After a loss a worker comes back by itself.
func TestOneAtATimeWorks(t *testing.T) {
	server := zktest.New(t)
	lines := &logged{lines: make(chan string, 256)}
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
	lines.await(t, "a candidate, as _c_")
	lines.await(t, "leading, with token "+one.Token.String())
	endSecond, secondEnded := start()
	defer endSecond()
	two := lines.next(t)
	require.Equal(t, fencing.Stamp{Token: one.Token, Seq: 2}, two)

	before := time.Now()
	endFirst()
	require.NoError(t, <-firstEnded, "it was told to end")
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
	require.NoError(t, <-secondEnded, "it was told to end")
	for _, text := range []string{"waiting: 1 ahead", "resigned", "no longer leading: zklock: lost", "back: a candidate again, as _c_"} {
		lines.await(t, text)
	}
	require.Empty(t, server.Children("/singleton/report"))
}

// Whoever is told to end says what went wrong at it.
func TestTheEndHidesNothing(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	refused, interrupted := errors.New("resign: refused"), errors.New("interrupted")
	require.Equal(t, refused, unless(ctx, refused))
	cancel(interrupted)
	told := errors.Join(interrupted, fmt.Errorf("job: %w", ctx.Err()))
	require.NoError(t, unless(ctx, nil))
	require.NoError(t, unless(ctx, told))
	require.EqualError(t, unless(ctx, errors.Join(told, refused)), refused.Error())

	_, err := dial(ctx, []string{"127.0.0.1:1"})
	require.ErrorIs(t, err, interrupted)
	require.ErrorIs(t, run(ctx, []string{"127.0.0.1:1"}), interrupted, "it never worked")
}

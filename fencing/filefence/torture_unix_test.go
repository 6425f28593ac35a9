//go:build unix

package filefence

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/fencetest"
	"github.com/zkfence/zkfence/fencing/internal/ledger"
)

// ledgerOf is the children's ledger, beside the folder.
func ledgerOf(dir string) string { return dir + ".ledger" }

// writeForEver is an owner that raises the floor and then publishes, one command
// after the other, and goes on though it is refused.
func writeForEver(g *Guard, dir, token string) error {
	book, err := ledger.Open(ledgerOf(dir), token)
	if err != nil {
		return err
	}
	ctx := context.Background() // the child's main
	fmt.Println("ready")
	if err := book.Attempt(token+":0", func() error { return g.Raise(ctx, file, mustStamp(token+":0").Token) }); err != nil {
		return err
	}
	l := lists{g, dir}
	for seq := 1; ; seq++ {
		s := fmt.Sprintf("%s:%d", token, seq)
		for range 1 + seq%2 { // every other is sent twice
			if err := book.Attempt(s, func() error {
				return l.append(ctx, file, mustStamp(s), s, func() error { return nil })
			}); err != nil {
				return err
			}
		}
	}
}

// Writers of rising tokens are killed at random, three at a time, some of them
// after a stop. Whoever opens the file by its name meanwhile sees it whole, and
// it never goes back.
func TestWritersKilledAtRandomNeverGoBack(t *testing.T) {
	kills := 240
	if testing.Short() {
		kills = 80
	}
	dir := filepath.Join(t.TempDir(), "folder")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.WriteFile(ledgerOf(dir), nil, 0o600))

	const slots = 3
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var token, killed atomic.Int64
	var mu sync.Mutex
	var seen []string
	look := func() error {
		mu.Lock()
		defer mu.Unlock()
		b, err := os.ReadFile(filepath.Join(dir, file))
		if errors.Is(err, os.ErrNotExist) && seen == nil {
			return nil
		}
		if err != nil {
			return err
		}
		now := lines(string(b))
		if !strings.HasSuffix(string(b), "\n") || len(now) < len(seen) || !slices.Equal(now[:len(seen)], seen) {
			return fmt.Errorf("%d bytes ending in %q went back behind %d entries", len(b), b[max(0, len(b)-40):], len(seen))
		}
		seen = now
		return nil
	}
	round := func(r *rand.Rand) error {
		cmd, out := start(t, "write", dir, "0x"+strconv.FormatInt(token.Add(1), 16))
		if !out.Scan() {
			return errors.New("a writer did not begin")
		}
		wait := func() { <-time.After(time.Duration(r.Int64N(int64(20 * time.Millisecond)))) }
		wait()
		if r.IntN(4) == 0 {
			if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
				return err
			}
			wait()
			if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
				return err
			}
			wait()
		}
		if err := cmd.Process.Kill(); err != nil {
			return err
		}
		_ = cmd.Wait() // what it says is looked at
		if s := cmd.ProcessState.Sys().(syscall.WaitStatus); !s.Signaled() || s.Signal() != syscall.SIGKILL {
			return fmt.Errorf("a writer ended by itself: %s", cmd.ProcessState)
		}
		killed.Add(1)
		return look()
	}
	var wg sync.WaitGroup
	for slot := range uint64(slots) {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, slot))
			for killed.Load() < int64(kills) && !t.Failed() {
				if err := round(r); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	require.False(t, t.Failed())

	l := lists{open(t, dir), dir}
	entries, remembered, err := l.Read(t.Context(), file)
	require.NoError(t, err)
	require.NoError(t, look())
	attempts, err := ledger.Read(ledgerOf(dir))
	require.NoError(t, err)
	count := make(map[string]int)
	for _, a := range attempts {
		switch {
		case a.Ended == 0:
			count["cut off"]++
		case a.Err != nil:
			count[a.Err.Error()]++
		default:
			count["ok"]++
		}
	}
	t.Logf("%d kills, %d entries, %d attempts: %v", killed.Load(), len(entries), len(attempts), count)
	require.NoError(t, fencetest.Judge(entries, attempts))
	require.NotEmpty(t, entries)
	require.GreaterOrEqual(t, remembered.Compare(stamp(t, entries[len(entries)-1])), 0)
	require.Greater(t, count["cut off"], kills/2, "most kills must fall into an attempt")

	next := fencing.Stamp{Token: stamp(t, fmt.Sprintf("0x%x:0", token.Load()+1)).Token, Seq: 1}
	require.NoError(t, l.Publish(t.Context(), file, next, text("end")))
	require.Empty(t, bodies(t, dir, file), "left by the dead")
}

//go:build unix

package door_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/door"
	"github.com/zkfence/zkfence/fencing/fencetest"
	"github.com/zkfence/zkfence/fencing/internal/ledger"
)

func init() {
	childMain = func() int {
		fmt.Fprintln(os.Stderr, child())
		return 1
	}
}

// child opens the door that its predecessor has left, sends what that was killed at
// once more, as a client that had no answer does, and then commands of its own, for
// ever. A command appends its Stamp to a file that checks nothing.
func child() error {
	what := strings.Split(os.Getenv(childEnv), ",")
	dir, token, last := what[0], what[1], what[2]
	d, err := door.Open(filepath.Join(dir, "door"), door.Options{})
	if err != nil {
		return err
	}
	book, err := ledger.Open(filepath.Join(dir, "ledger"), token)
	if err != nil {
		return err
	}
	data, err := os.OpenFile(filepath.Join(dir, "data"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	ctx := context.Background() // the child's main
	send := func(stamp string) error {
		s, err := fencing.ParseStamp(stamp)
		if err != nil {
			return err
		}
		return book.Attempt(stamp, func() error {
			if s.Seq == 0 {
				return d.Raise(ctx, "r", s.Token)
			}
			_, err := d.Do(ctx, door.Command{Resource: "r", Stamp: s}, func(context.Context) ([]byte, error) {
				return nil, ledger.Append(data, stamp)
			})
			return err
		})
	}
	fmt.Println("ready")
	if last != "" {
		if err := send(last); err != nil {
			return err
		}
	}
	for seq := 0; ; seq++ {
		for range 1 + seq%2 { // every other is sent twice
			if err := send(fmt.Sprintf("%s:%d", token, seq)); err != nil {
				return err
			}
		}
	}
}

// A door's process is killed at random, a few hundred times. Whatever it was at, what
// has been let through never goes back, is never carried out twice, and what was told
// to be done is done.
func TestADoorKilledAtRandomNeverGoesBack(t *testing.T) {
	kills := 200
	if testing.Short() {
		kills = 50
	}
	dir := t.TempDir()
	for _, name := range []string{"ledger", "data"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	var attempts []fencetest.Attempt
	last := ""
	for n := range kills {
		killChild(t, r, fmt.Sprintf("%s,0x%x,%s", dir, n+1, last))
		var err error
		attempts, err = ledger.Read(filepath.Join(dir, "ledger"))
		require.NoError(t, err)
		if len(attempts) > 0 {
			last = attempts[len(attempts)-1].Stamp.String()
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "data"))
	require.NoError(t, err)
	entries := strings.Fields(string(data))
	cut, unknown := 0, 0
	for _, a := range attempts {
		switch {
		case a.Ended == 0:
			cut++
		case a.Err == fencing.ErrUnknownOutcome:
			unknown++
		}
	}
	t.Logf("%d kills, %d entries, %d attempts, %d of them cut off, %d of unknown outcome", kills, len(entries), len(attempts), cut, unknown)
	require.NoError(t, fencetest.Judge(entries, attempts))
	require.Greater(t, len(entries), kills/2)
	require.Greater(t, cut, kills/2, "most kills must fall into an attempt")
	require.Positive(t, unknown, "some must fall into a command that may have been carried out")

	d, err := door.Open(filepath.Join(dir, "door"), door.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	newest, err := fencing.ParseStamp(entries[len(entries)-1])
	require.NoError(t, err)
	require.GreaterOrEqual(t, d.Last("r").Token.Compare(newest.Token), 0)
}

// killChild runs one and kills it soon after it has begun.
func killChild(t *testing.T, r *rand.Rand, what string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+what)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	if ready := bufio.NewScanner(out).Scan(); ready {
		<-time.After(time.Duration(r.Int64N(int64(20 * time.Millisecond)))) // the phase of the kill, which is the test
	}
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait() // what it says is looked at
	s := cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, s.Signaled() && s.Signal() == syscall.SIGKILL, "a door's process ended by itself: %s", cmd.ProcessState)
}

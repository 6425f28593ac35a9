package repeat_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	// seedsVar is how many seeds of every scenario TestPrint plays, and asks for
	// it to print them.
	seedsVar = "REPEAT_SEEDS"
	// dumpVar is a directory into which it writes the traces.
	dumpVar = "REPEAT_DUMP"

	seeds = 20
)

// TestPrint prints a hash of every trace. It is what the processes run that
// TestASeedRepeats compares; run it with and without -race to compare those.
func TestPrint(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv(seedsVar))
	if err != nil {
		t.Skip("run by TestASeedRepeats, in processes of its own, or with " + seedsVar)
	}
	for _, kind := range slices.Sorted(maps.Keys(scenarios())) {
		for seed := range n {
			trace := []byte(play(t, kind, uint64(seed)))
			require.Greater(t, bytes.Count(trace, []byte("\n")), 100)
			name := fmt.Sprintf("%s-%d", kind, seed)
			fmt.Printf("trace %s %x\n", name, sha256.Sum256(trace))
			if dir := os.Getenv(dumpVar); dir != "" {
				require.NoError(t, os.WriteFile(filepath.Join(dir, name), trace, 0o600))
			}
		}
	}
}

// process plays everything in a process of its own and returns its hashes.
func process(ctx context.Context, procs int, dir string) (hashes []string, err error) {
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestPrint$")
	cmd.Env = append(os.Environ(), fmt.Sprint("GOMAXPROCS=", procs), fmt.Sprint(seedsVar, "=", seeds), dumpVar+"="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "trace ") {
			hashes = append(hashes, line)
		}
	}
	return hashes, nil
}

// A seed is one trace: every request, reply, event, fault, connection and session,
// to the nanosecond, whatever the process and the number of processors.
func TestASeedRepeats(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	procs := []int{1, 2, 4}
	dirs, hashes, errs := make([]string, len(procs)), make([][]string, len(procs)), make([]error, len(procs))
	var all sync.WaitGroup
	for i, n := range procs {
		dirs[i] = t.TempDir()
		all.Go(func() { hashes[i], errs[i] = process(ctx, n, dirs[i]) })
	}
	all.Wait()
	require.NoError(t, errors.Join(errs...))
	require.Len(t, hashes[0], seeds*len(scenarios()))
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(hashes[0]))), seeds*len(scenarios()))
	for i := range procs[1:] {
		for j, want := range hashes[0] {
			if got := hashes[i+1][j]; got != want {
				name := strings.Fields(want)[1]
				t.Errorf("%s differs between GOMAXPROCS=%d and %d:\n%s", name, procs[0], procs[i+1],
					firstDifference(t, filepath.Join(dirs[0], name), filepath.Join(dirs[i+1], name)))
			}
		}
	}
}

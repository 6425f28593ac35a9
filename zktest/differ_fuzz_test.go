package zktest_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zktest"
)

var (
	differSeed   = flag.Uint64("differ.seed", 1, "first seed of TestFuzzDiffer")
	differSeeds  = flag.Int("differ.seeds", 10, "how many seeds TestFuzzDiffer plays; defaults to ZKFENCE_DIFFER_SEEDS where that is set")
	differSteps  = flag.Int("differ.steps", 250, "how many steps a script has")
	differScript = flag.String("differ.script", "", "a file with a step on each line, played in place of the seeds")
)

// timeToShrink is how long it may take to find a shorter script. A script with a
// server that falls silent takes long each time.
const timeToShrink = 2 * time.Minute

// likeCI makes a server with the settings of the real one that .ci/zookeeper
// starts.
func likeCI(t *testing.T) *zktest.Server {
	return zktest.New(t, zktest.WithTick(200*time.Millisecond), zktest.WithSessionTimeouts(400*time.Millisecond, time.Minute),
		zktest.WithContainerInterval(time.Second))
}

// versus plays one script against the real server and against one of ours, and
// tells at which step they differ, 0 if they do not.
func versus(t *testing.T, real string, exact bool, script []step) (at int, want, got []string) {
	t.Helper()
	var wg sync.WaitGroup
	var wantErr, gotErr error
	wg.Go(func() { want, wantErr = perform(real, exact, script) })
	ours := likeCI(t)
	wg.Go(func() { got, gotErr = perform(ours.Addr(), exact, script) })
	wg.Wait()
	ours.Close()
	require.NoError(t, wantErr, "the real server cannot be used")
	if gotErr != nil {
		got = append(got, fmt.Sprintf("%d %v", len(script), gotErr))
	}
	return firstDifference(want, got), want, got
}

// firstDifference returns the step at which two transcripts part, or 0.
func firstDifference(want, got []string) int {
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(want):
			return stepOf(got[i])
		case i >= len(got):
			return stepOf(want[i])
		case want[i] != got[i]:
			return min(stepOf(want[i]), stepOf(got[i]))
		}
	}
	return 0
}

func stepOf(line string) int {
	number, _, _ := strings.Cut(line, " ")
	n, err := strconv.Atoi(number)
	if err != nil {
		panic(err)
	}
	return n
}

// TestFuzzDiffer plays random scripts against the real server and ours: not a
// byte of what they answer may differ but for what canon says.
//
// Where ZKFENCE_DIFFER_SEEDS is set the real server is this test's alone, and
// zxids are compared to the last one; otherwise others may write meanwhile, and
// only the order of the script's own zxids counts.
func TestFuzzDiffer(t *testing.T) {
	real := os.Getenv("ZKFENCE_ZK")
	if real == "" {
		t.Skip("ZKFENCE_ZK is not set: nothing to compare with but what was recorded")
	}
	real, _, _ = strings.Cut(real, ",")
	seeds, exact := *differSeeds, false
	if text := os.Getenv("ZKFENCE_DIFFER_SEEDS"); text != "" {
		n, err := strconv.Atoi(text)
		require.NoError(t, err, "ZKFENCE_DIFFER_SEEDS")
		seeds, exact = n, true
	}
	if *differScript != "" {
		script, _ := readScript(t, *differScript)
		at, want, got := versus(t, real, exact, script)
		require.Zero(t, at, "%s", report(script, want, got))
		return
	}
	began := time.Now()
	lines := 0
	for seed := *differSeed; seed < *differSeed+uint64(seeds); seed++ {
		script := generate(seed, *differSteps)
		at, want, _ := versus(t, real, exact, script)
		lines += len(want)
		if at == 0 {
			continue
		}
		enough := time.Now().Add(timeToShrink)
		script = shrink(script, func(s []step) int {
			if time.Now().After(enough) {
				return 0
			}
			at, _, _ := versus(t, real, exact, s)
			return at
		}, 500)
		_, want, got := versus(t, real, exact, script)
		t.Fatalf("seed %d, step %d: a real server and zktest differ. Again: -run %s -differ.seed=%d -differ.seeds=1 -differ.steps=%d\nor, from a file, -differ.script=FILE with\n%s",
			seed, at, t.Name(), seed, *differSteps, report(script, want, got))
	}
	t.Logf("%d seeds, %d lines compared in %s", seeds, lines, time.Since(began).Round(time.Millisecond))
}

// TestFuzzTranscripts plays scripts of the fuzzer's, and those that once showed
// a difference, and compares with what a real ZooKeeper 3.8 answered when it was
// recorded.
func TestFuzzTranscripts(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "differ", "*.txt"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			script, want := readScript(t, file)
			got, err := perform(likeCI(t).Addr(), true, script)
			require.NoError(t, err)
			require.NotEmpty(t, got)
			require.Zero(t, firstDifference(want, got), "%s", report(script, want, got))
		})
	}
}

// TestRecordFuzzTranscripts plays them against the real server, which nobody
// else may use meanwhile, and writes down what it answers.
func TestRecordFuzzTranscripts(t *testing.T) {
	if !*record {
		t.Skip("only with -record and ZKFENCE_ZK")
	}
	files, err := filepath.Glob(filepath.Join("testdata", "differ", "*.txt"))
	require.NoError(t, err)
	for _, file := range files {
		script, _ := readScript(t, file)
		var seed uint64
		if _, err := fmt.Sscanf(filepath.Base(file), "seed-%d.txt", &seed); err == nil {
			script = generate(seed, 80)
		}
		lines, err := perform(os.Getenv("ZKFENCE_ZK"), true, script)
		require.NoError(t, err)
		var b strings.Builder
		for i, s := range script {
			fmt.Fprintln(&b, s)
			for _, l := range lines {
				if stepOf(l) == i+1 {
					fmt.Fprintln(&b, l)
				}
			}
		}
		require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644))
	}
}

func report(script []step, want, got []string) string {
	var b strings.Builder
	for _, s := range script {
		fmt.Fprintln(&b, s)
	}
	return b.String() + "\n" + sideBySide(want, got)
}

// readScript reads steps, and the lines of a transcript between them if there
// are any.
func readScript(t *testing.T, name string) (script []step, lines []string) {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if !strings.HasPrefix(line, "{") {
			lines = append(lines, line)
			continue
		}
		s, err := parseStep(line)
		require.NoError(t, err, "%s", line)
		script = append(script, s)
	}
	return script, lines
}

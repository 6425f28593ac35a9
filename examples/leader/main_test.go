package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/zkfence/zkfence/examples/internal/cast"
	"github.com/zkfence/zkfence/fencing"
)

// parentEnv makes the test binary play the parent, so that a test can kill it.
const parentEnv = "ZKFENCE_LEADER_TEST_PARENT"

// Candidates are this program started again, and in a test this program is the
// test.
func TestMain(m *testing.M) {
	if name := os.Getenv(candidateEnv); name != "" {
		signal.Ignore(os.Interrupt, syscall.SIGTERM)
		if err := runCandidate(name, os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv(parentEnv) != "" {
		p := play{candidates: 2, timeout: time.Minute, limit: time.Minute, keys: os.Stdin, out: os.Stdout}
		_ = p.run(context.Background()) // it is killed
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// printed keeps what is written to it, and lets a test wait for some of it.
type printed struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{}
}

func newPrinted() *printed { return &printed{changed: make(chan struct{})} }

func (p *printed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.changed)
	p.changed = make(chan struct{})
	return p.text.Write(b)
}

func (p *printed) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// await waits until parts are there, in that order.
func (p *printed) await(t *testing.T, parts ...string) {
	t.Helper()
	late := time.After(30 * time.Second)
	for {
		p.mu.Lock()
		rest, changed := p.text.String(), p.changed
		p.mu.Unlock()
		found := true
		for _, part := range parts {
			_, after, ok := strings.Cut(rest, part)
			rest, found = after, found && ok
		}
		if found {
			return
		}
		select {
		case <-changed:
		case <-late:
			require.Fail(t, "never printed", "%q in\n%s", parts, p)
		}
	}
}

// The whole story with a shorter session, in both ways to pause. It takes a little
// longer than the session.
func TestTheScriptEndsWithARefusedCommand(t *testing.T) {
	for _, c := range []struct {
		name   string
		freeze bool
	}{
		{"OfAStoppedProcess", false},
		{"OfAProcessCutOffFromTheEnsemble", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !c.freeze && !cast.CanStop {
				t.Skip("this system cannot stop a process")
			}
			t.Parallel()
			out := newPrinted()
			p := play{candidates: 3, timeout: 2 * time.Second, limit: time.Minute, freeze: c.freeze, script: true, out: out}
			require.NoError(t, p.run(t.Context()), "%s", out)
			for _, text := range []string{"has taken over", "goes on after", "is older than remembered", "own context: zklock: lost", "came late", "accepted stamps never went backwards"} {
				require.Contains(t, out.String(), text)
			}
			require.NotContains(t, out.String(), "\x1b", "this is no terminal")
			proof, err := prove(p.ledger.decisions())
			require.NoError(t, err)
			require.Len(t, proof.terms, 2)
			require.Len(t, proof.late, 1, "%v", proof.late)
			require.Equal(t, proof.terms[0].from, proof.late[0].From)
			require.GreaterOrEqual(t, proof.terms[1].commands, 2*some, "the new leader goes on after the late command")
		})
	}
}

const observed = " leads\n" // ends the observer's line

// A verdict that could not be otherwise is none: the same story with a ledger that
// takes down what it is told.
func TestTheScriptFailsIfTheLedgerTakesEverything(t *testing.T) {
	t.Parallel()
	out := newPrinted()
	gullible := newLedger()
	gullible.check = func(_, next fencing.Stamp) (fencing.Stamp, error) { return next, nil }
	p := play{candidates: 2, timeout: 2 * time.Second, limit: time.Minute, freeze: !cast.CanStop, script: true, out: out, ledger: gullible}
	require.ErrorContains(t, p.run(t.Context()), "BACKWARDS", "%s", out)
	require.Contains(t, out.String(), "FAILED")
}

// What is typed happens, and at the end everybody is gone, those that are paused
// included.
func TestKeys(t *testing.T) {
	t.Parallel()
	keys, typing := io.Pipe()
	defer func() { _ = typing.Close() }()
	typed := func(line string) {
		_, err := io.WriteString(typing, line+"\n")
		require.NoError(t, err)
	}
	out := newPrinted()
	p := play{candidates: 2, timeout: 2 * time.Second, limit: time.Minute, freeze: !cast.CanStop, keys: keys, out: out}
	ended := make(chan error, 1)
	go func() { ended <- p.run(t.Context()) }()

	out.await(t, "and what follows")
	out.await(t, "stands by")
	out.await(t, observed) // or "k" means nobody yet
	typed("x")
	out.await(t, errKeys.Error())
	typed("k")
	out.await(t, "is killed", "has ended", "floor raised", "and what follows")
	out.await(t, observed, "is killed", observed)
	typed("a")
	out.await(t, "C3", "stands by, 1 ahead")
	typed("p3")
	out.await(t, "C3 is ")
	typed("p 3")
	out.await(t, "already")
	typed("r")
	out.await(t, "C3 goes on after")
	typed("p")
	out.await(t, "is ", ", between its check and its command")
	typed("p 7")
	out.await(t, "there is no candidate 7")
	typed("q")
	require.NoError(t, <-ended, "%s", out)
	require.Contains(t, out.String(), "accepted stamps never went backwards")
	require.Equal(t, 2, strings.Count(out.String(), "resigned, session closed"), "two were alive, one of them paused")
}

func TestItIsBoundedInTime(t *testing.T) {
	t.Parallel()
	out := newPrinted()
	p := play{candidates: 1, timeout: 2 * time.Second, limit: 300 * time.Millisecond, out: out}
	require.NoError(t, p.run(t.Context()), "%s", out)
	p = play{candidates: 2, timeout: 2 * time.Second, limit: 300 * time.Millisecond, out: out, script: true}
	require.ErrorContains(t, p.run(t.Context()), "over after -for 300ms", "%s", out)
}

// However the parent dies, nobody outlives it: a candidate that was stopped at
// that moment would never have seen that its input has ended.
func TestNobodyOutlivesAParentThatIsKilled(t *testing.T) {
	if !cast.Wakes {
		t.Skip("on this system a process that is stopped stays so")
	}
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	parent := exec.CommandContext(ctx, os.Args[0])
	parent.Env = append(os.Environ(), parentEnv+"=1")
	// Every candidate has it open too, so it ends with the last of them.
	alive, inherited, err := os.Pipe()
	require.NoError(t, err)
	defer func() { _ = alive.Close() }()
	parent.Stderr = inherited
	typing, err := parent.StdinPipe()
	require.NoError(t, err)
	out := newPrinted()
	parent.Stdout = out
	parent.WaitDelay = time.Second
	require.NoError(t, parent.Start())
	require.NoError(t, inherited.Close())
	out.await(t, "and what follows")
	out.await(t, observed)
	_, err = io.WriteString(typing, "p\n")
	require.NoError(t, err)
	out.await(t, "is stopped")
	require.NoError(t, parent.Process.Kill())
	require.Error(t, parent.Wait())

	require.NoError(t, alive.SetReadDeadline(time.Now().Add(15*time.Second)))
	_, err = io.Copy(io.Discard, alive)
	require.NoError(t, err, "somebody is still there")
}

func TestWhatMakesNoPlayIsRefusedByName(t *testing.T) {
	good := play{candidates: 3, timeout: time.Second, limit: time.Minute}
	require.NoError(t, good.check(nil))
	for want, change := range map[string]func(*play){
		"-timeout 1ms: must be between 500ms and 1m0s":           func(p *play) { p.timeout = time.Millisecond },
		"-n 10: must be between 1 and 9":                         func(p *play) { p.candidates = 10 },
		"-n 1: with -script somebody must be there to take over": func(p *play) { p.candidates, p.script = 1, true },
		"-for 0s: must be above 0":                               func(p *play) { p.limit = 0 },
	} {
		p := good
		change(&p)
		require.EqualError(t, p.check(nil), want)
	}
	require.EqualError(t, good.check([]string{"x"}), `unexpected argument "x"`)
}

func TestParseKey(t *testing.T) {
	for line, want := range map[string]key{"p 2": {'p', 2}, " k C3 ": {'k', 3}, "r": {'r', 0}, "p2": {'p', 2}, "a": {'a', 0}, "q": {'q', 0}} {
		got, err := parseKey(line)
		require.NoError(t, err, "%q", line)
		require.Equal(t, want, got, "%q", line)
	}
	for _, line := range []string{"x", "p x", "p 0", "p -1", "a 2", "pause"} {
		_, err := parseKey(line)
		require.ErrorIs(t, err, errKeys, "%q", line)
	}
}

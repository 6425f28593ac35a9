package house_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/zktest"
)

// The election that people copy compiles as it is printed, is as short as it is
// said to be, commands with numbers that rise, and resigns at Ctrl-C: the next
// candidate need not wait for a session to time out.
func TestTheReadmesElectionRuns(t *testing.T) {
	program := readmesGo(t, "election.New(")
	_, elect, _ := strings.Cut(program, "\nfunc elect(")
	elect, _, found := strings.Cut(elect, "\n}\n")
	require.True(t, found)
	require.Equal(t, 20, strings.Count(elect, "\n")+2)

	built := filepath.Join(t.TempDir(), "readme")
	build(t, program, built)
	if runtime.GOOS == "windows" {
		t.Skip("no process can be sent a Ctrl-C here")
	}
	const address = "127.0.0.1:2181"
	require.Contains(t, program, address)
	server := zktest.New(t)
	build(t, strings.Replace(program, address, server.Addr(), 1), built)

	cmd := exec.CommandContext(t.Context(), built)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	var log strings.Builder
	cmd.Stderr = &log
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(out)
	for n := 1; n <= 2; n++ {
		require.True(t, lines.Scan(), "%s", &log)
		require.Regexp(t, fmt.Sprintf("^command with 0x[0-9a-f]+:%d$", n), lines.Text())
	}
	began := time.Now()
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	for lines.Scan() { // Wait closes it
	}
	require.NoError(t, cmd.Wait(), "%s", &log)
	require.Less(t, time.Since(began), 10*time.Second, "its session lives for 15")
	require.Contains(t, log.String(), "interrupt")
	require.Empty(t, server.Children("/elections/scheduler"))
}

// The service that people copy refuses exactly what a Gate refuses, floors
// included.
func TestTheReadmesServiceIsTheRule(t *testing.T) {
	service := readmesGo(t, "package ledger")
	ctx := t.Context()
	gate := fencing.NewGate(fencing.Stamp{})
	var calls, want strings.Builder
	for _, s := range story(t) {
		fmt.Fprintf(&calls, "\tapply(&l, %q)\n", s)
		var err error
		ran := false
		if s.Seq == 0 {
			if err = gate.Raise(s.Token); err == nil {
				err = fencing.ErrZeroSeq
			}
		} else {
			err = gate.Admit(ctx, s, func() error { ran = true; return nil })
		}
		fmt.Fprintln(&want, s, ran, err)
	}
	program := `package main

import (
	"fmt"

	"` + module + `/fencing"
	"` + module + `/internal/house/readme/ledger"
)

func apply(l *ledger.Ledger, text string) {
	s, err := fencing.ParseStamp(text)
	if err != nil {
		panic(err)
	}
	ran := false
	err = l.Apply(s, func() error { ran = true; return nil })
	fmt.Println(s, ran, err)
}

func main() {
	var l ledger.Ledger
` + calls.String() + "}\n"
	built := filepath.Join(t.TempDir(), "readme")
	build(t, program, built, map[string]string{"ledger": service})
	out, err := exec.CommandContext(ctx, built).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, want.String(), string(out))
}

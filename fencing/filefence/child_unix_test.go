//go:build unix

package filefence

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
)

// What a child is to do, as "what,dir,argument".
const childEnv = "FILEFENCE_TEST_CHILD"

// file is the one that children write.
const file = "report.txt"

func child() int {
	what := strings.SplitN(os.Getenv(childEnv), ",", 3)
	g, err := New(what[1])
	if err == nil {
		switch what[0] {
		case "die":
			err = dieAtStep(g, what[2])
		case "hold":
			err = holdAtStep(g, what[2])
		case "write":
			err = writeForEver(g, what[1], what[2])
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// start runs the test binary again and returns the lines that it prints.
func start(t testing.TB, what ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+strings.Join(what, ","))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	// Whatever fails, no child is left behind.
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd, bufio.NewScanner(out)
}

func mustStamp(text string) fencing.Stamp {
	s, err := fencing.ParseStamp(text)
	if err != nil {
		panic(err)
	}
	return s
}

// dieAtStep publishes once and is killed before its nth step.
func dieAtStep(g *Guard, nth string) error {
	n, err := strconv.Atoi(nth)
	if err != nil {
		return err
	}
	g.step = func(what string) error {
		if n--; n == 0 {
			fmt.Println(what)
			return errors.Join(syscall.Kill(os.Getpid(), syscall.SIGKILL), errors.New("outlived SIGKILL"))
		}
		return nil
	}
	return g.Publish(context.Background(), file, mustStamp("0x2:1"), text("second")) // main's
}

// holdAtStep publishes once and stops at the step what.
func holdAtStep(g *Guard, what string) error {
	g.step = func(is string) error {
		if is == what {
			fmt.Println("holding")
			<-time.After(time.Minute) // it is killed long before
		}
		return nil
	}
	return g.Publish(context.Background(), file, mustStamp("0x2:1"), text("second")) // main's
}

//go:build linux

package lend

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"github.com/moby/moby/client"
	"github.com/stretchr/testify/require"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/network"
)

// interrupted marks a run of this binary that is there to be interrupted.
const interrupted = "ZKFENCE_LEND_INTERRUPTED"

func TestMain(m *testing.M) {
	var s Shared
	os.Exit(s.Main(m))
}

func owner(pid int) string {
	host, _ := os.Hostname() // is what ensembles are labelled with, if anything is
	return host + "/" + strconv.Itoa(pid)
}

// A run that is interrupted while it has an ensemble, here of a network alone, ends
// with a code of its own and leaves nothing.
func TestAnInterruptedRunLeavesNothing(t *testing.T) {
	if os.Getenv(interrupted) != "" {
		_, err := network.New(t.Context(), network.WithLabels(map[string]string{"zkfence.ensemble": "none", "zkfence.owner": owner(os.Getpid())}))
		require.NoError(t, err)
		fmt.Println("\nready")
		_, _ = io.Copy(io.Discard, os.Stdin) // until the parent ends, at the latest
		return
	}
	t.Setenv("TESTCONTAINERS_RYUK_DISABLED", "true")
	docker, err := testcontainers.NewDockerClientWithOpts(t.Context())
	if err == nil {
		_, err = docker.Ping(t.Context(), client.PingOptions{})
	}
	if err != nil {
		t.Skipf("SKIPPED: no container engine answers: %v", err)
	}
	defer func() { require.NoError(t, docker.Close()) }()
	self, err := os.Executable()
	require.NoError(t, err)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestAnInterruptedRunLeavesNothing$")
			cmd.Env = append(os.Environ(), interrupted+"=1")
			in, err := cmd.StdinPipe()
			require.NoError(t, err)
			defer in.Close()
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			has := func() []string {
				found, err := docker.NetworkList(t.Context(), client.NetworkListOptions{Filters: client.Filters{}.Add("label", "zkfence.owner="+owner(cmd.Process.Pid))})
				require.NoError(t, err)
				var ids []string
				for _, n := range found.Items {
					ids = append(ids, n.ID)
				}
				return ids
			}
			lines := bufio.NewScanner(out)
			for lines.Scan() && lines.Text() != "ready" {
			}
			require.Equal(t, "ready", lines.Text())
			require.Len(t, has(), 1)
			require.NoError(t, cmd.Process.Signal(sig))
			_, _ = io.Copy(io.Discard, out)
			var exit *exec.ExitError
			require.ErrorAs(t, cmd.Wait(), &exit)
			require.Equal(t, 130, exit.ExitCode())
			require.Empty(t, has())
		})
	}
}

//go:build linux

package worker

import (
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/integration/history"
)

// A worker that hangs, or was left stopped, is no reason for its parent to.
func TestAWorkerThatDoesNotEndIsKilled(t *testing.T) {
	p := &Process{name: "W1", log: &history.Log{}, cmd: exec.Command("sleep", "60"), ended: make(chan struct{})}
	var err error
	p.in, err = p.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	go p.read(out)
	began := time.Now()
	err = p.close(100 * time.Millisecond)
	require.ErrorContains(t, err, "has not ended within 100ms")
	require.ErrorContains(t, err, "killed")
	require.Less(t, time.Since(began), 30*time.Second)
}

package zklock_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/internal/stage"
	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
)

const (
	stoppedAt   = "ZKLOCK_TEST_STOPPED_AT" // the server's address
	stopTimeout = 2 * time.Second
)

// look is what a holder reads of its hold, in this order.
type look struct {
	State zklock.State
	Left  time.Duration
	Ready string // its error
	Stamp fencing.Stamp
}

// stoppedProgram holds the lock, and looks at its hold for each line that it is
// sent.
func stoppedProgram(t *testing.T) {
	c := stopClient(t.Context(), t, os.Getenv(stoppedAt))
	m, err := zklock.New(c, path)
	require.NoError(t, err)
	h, err := m.Lock(t.Context())
	require.NoError(t, err)
	for orders := bufio.NewScanner(os.Stdin); orders.Scan(); {
		l := look{State: h.State(), Left: h.Remaining(), Stamp: h.Next()}
		if err := h.Ready(t.Context(), 0); err != nil {
			l.Ready = err.Error()
		}
		text, err := json.Marshal(l)
		require.NoError(t, err)
		stage.Say("%s", text)
	}
}

func stopClient(ctx context.Context, t *testing.T, addr string) *zkconn.Client {
	c, err := zkconn.Dial(ctx, []string{addr}, zkconn.WithSessionTimeout(stopTimeout), zkconn.WithServerTick(100*time.Millisecond))
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close(context.WithoutCancel(ctx)) }) // the test is over
	return c
}

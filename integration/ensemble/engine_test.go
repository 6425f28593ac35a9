package ensemble_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/integration/ensemble"
)

// Servers would be broken on an engine that nobody has named, or tests be skipped for
// a slip of the pen. It is asked in a process of its own, since testcontainers looks
// for an engine once in a process.
func TestAnEngineThatIsNamedAndDoesNotAnswerIsAnError(t *testing.T) {
	const nowhere = "unix:///nonexistent/zkfence.sock"
	if os.Getenv("DOCKER_HOST") == nowhere {
		_, err := ensemble.Start(t.Context())
		fmt.Printf("says %v; to skip: %t\n", err, errors.Is(err, ensemble.ErrNoEngine))
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), "DOCKER_HOST="+nowhere)
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", said)
	require.Contains(t, string(said), `says ensemble: DOCKER_HOST is "`+nowhere+`", and no container engine answers there`)
	require.Contains(t, string(said), "to skip: false")
}

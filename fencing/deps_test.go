package fencing_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A resource written by a team that has never heard of ZooKeeper must be able to
// enforce tokens without taking a client, a logger or a test library with it.
func TestImportsTheStandardLibraryAlone(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, []string{"github.com/zkfence/zkfence/fencing"}, strings.Fields(string(out)))

	out, err = exec.Command("go", "list", "-deps", ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NotContains(t, strings.Fields(string(out)), "testing")
}

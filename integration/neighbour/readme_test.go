//go:build linux

package neighbour

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What people copy from the README is what stands in line with ours here.
func TestTheReadmesKazooIsTheOneThatRuns(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(readme), "\nclass Lock(")
	require.True(t, found)
	class, _, found := strings.Cut(rest, "```")
	require.True(t, found)
	require.Contains(t, kazoo, "\nclass Lock("+class)
}

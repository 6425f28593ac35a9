package house_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A program that people copy from the README compiles, together with the one
// function that it leaves to them.
func TestTheReadmesProgramCompiles(t *testing.T) {
	dir := root(t)
	readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(readme), "```go\n")
	require.True(t, found, "the README has no Go program")
	program, _, found := strings.Cut(rest, "```")
	require.True(t, found)
	program += "\nfunc publish(ctx context.Context, stamp fencing.Stamp, name string) error { return nil }\n"
	program = strings.Replace(program, "import (", "import (\n\t\"github.com/zkfence/zkfence/fencing\"", 1)

	tmp := t.TempDir()
	source := filepath.Join(tmp, "main.go")
	require.NoError(t, os.WriteFile(source, []byte(program), 0o600))
	overlay, err := json.Marshal(map[string]map[string]string{
		"Replace": {filepath.Join(dir, "internal", "house", "readme", "main.go"): source},
	})
	require.NoError(t, err)
	plan := filepath.Join(tmp, "overlay.json")
	require.NoError(t, os.WriteFile(plan, overlay, 0o600))
	cmd := exec.Command("go", "build", "-overlay", plan, "-o", os.DevNull, "./internal/house/readme")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// The quick start is exactly two commands, the ones that a newcomer and CI run.
func TestTheQuickStartIsTwoCommands(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(root(t), "README.md"))
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(readme), "## Quick start\n")
	section, _, _ := strings.Cut(rest, "\n## ")
	var commands []string
	for line := range strings.SplitSeq(section, "\n") {
		if command, ok := strings.CutPrefix(line, "    "); ok {
			commands = append(commands, command)
		}
	}
	require.Equal(t, []string{"go run ./examples/handoff", "go test ./..."}, commands)
}

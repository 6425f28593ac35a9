package house_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zktest"
)

// A program that people copy from the README compiles as it is printed, with
// nothing added, and does what it says once it finds a ZooKeeper.
func TestTheReadmesProgramRuns(t *testing.T) {
	program := readmesGo(t, "zklock.New(")
	built := filepath.Join(t.TempDir(), "readme")
	build(t, program, built)

	const address = "127.0.0.1:2181"
	require.Contains(t, program, address)
	server := zktest.New(t)
	build(t, strings.Replace(program, address, server.Addr(), 1), built)
	out, err := exec.CommandContext(t.Context(), built).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Regexp(t, `^reports/2026-07\.csv: write with 0x[0-9a-f]+:1\n$`, string(out))
}

// readmesGo is the block of Go in which text stands.
func readmesGo(t *testing.T, text string) string {
	t.Helper()
	readme, err := os.ReadFile(filepath.Join(root(t), "README.md"))
	require.NoError(t, err)
	for _, rest := range strings.Split(string(readme), "```go\n")[1:] {
		block, _, found := strings.Cut(rest, "```")
		require.True(t, found)
		if strings.Contains(block, text) {
			return block
		}
	}
	require.Fail(t, "the README has no such Go", "%q", text)
	return ""
}

// build compiles a program as a command of this module, with other packages of
// one file beside it, by their names.
func build(t *testing.T, program, into string, others ...map[string]string) {
	t.Helper()
	dir, tmp := root(t), t.TempDir()
	replace := make(map[string]string)
	add := func(name, text string) {
		source := filepath.Join(tmp, strconv.Itoa(len(replace))+".go")
		require.NoError(t, os.WriteFile(source, []byte(text), 0o600))
		replace[filepath.Join(dir, "internal", "house", "readme", name, "main.go")] = source
	}
	add("", program)
	for _, packages := range others {
		for name, text := range packages {
			add(name, text)
		}
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	require.NoError(t, err)
	plan := filepath.Join(tmp, "overlay.json")
	require.NoError(t, os.WriteFile(plan, overlay, 0o600))
	cmd := exec.Command("go", "build", "-overlay", plan, "-o", into, "./internal/house/readme")
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
	// Without more time than go test gives by itself, the stories of real ensembles end
	// in a panic, which cleans nothing up.
	require.Equal(t, []string{"go run ./examples/handoff", "go test -p 1 -timeout 25m work"}, commands)
	ci, err := os.ReadFile(filepath.Join(root(t), ".ci", "run"))
	require.NoError(t, err)
	for _, command := range commands {
		require.Regexp(t, `(?m)^[^#\n]*\b`+regexp.QuoteMeta(command)+`( |$)`, string(ci))
	}
}

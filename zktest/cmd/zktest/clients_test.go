package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// python is Debian's own, which knows Debian's kazoo.
const python = "/usr/bin/python3"

// jars are those of Debian's libcurator-recipes-java and what it needs to lock.
var jars = []string{"curator-recipes", "curator-framework", "curator-client", "zookeeper", "guava", "slf4j-api", "slf4j-nop"}

// The lock recipes of other languages' clients, under the same faults on this server
// and, where ZKFENCE_ZK names one, on a real one behind the proxy: both times they
// print what stands beside them in testdata. They need Debian's python3-kazoo,
// libcurator-recipes-java and a JDK, and half a minute: ZKFENCE_CLIENTS=1 asks for
// them, and what lacks is then a failure.
func TestOtherClients(t *testing.T) {
	if os.Getenv("ZKFENCE_CLIENTS") == "" {
		t.Skip("SKIPPED: kazoo and Curator are not run; set ZKFENCE_CLIENTS=1 to do so")
	}
	servers := map[string][]string{"InMemory": {"-addr", "127.0.0.1:0"}}
	if real := os.Getenv("ZKFENCE_ZK"); real != "" {
		servers["Real"] = []string{"-proxy", strings.Split(real, ",")[0]}
	}
	classes := make([]string, len(jars))
	for i, jar := range jars {
		classes[i] = "/usr/share/java/" + jar + ".jar"
		require.FileExists(t, classes[i], "install libcurator-recipes-java")
	}
	for _, client := range []struct {
		script  string
		command []string
	}{
		{"kazoo_locks.py", []string{python, "-B"}},
		{"CuratorLocks.java", []string{"java", "-XX:TieredStopAtLevel=1", "-cp", strings.Join(classes, ":")}},
	} {
		script := filepath.Join("testdata", client.script)
		want, err := os.ReadFile(strings.TrimSuffix(script, filepath.Ext(script)) + ".txt")
		require.NoError(t, err)
		for name, flags := range servers {
			t.Run(client.script+"/"+name, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
				defer cancel()
				args := append(append(client.command[1:len(client.command):len(client.command)], script, os.Args[0]), flags...)
				cmd := exec.CommandContext(ctx, client.command[0], args...)
				cmd.Env = append(os.Environ(), programEnv+"=1")
				cmd.WaitDelay = time.Second
				var stdout, stderr bytes.Buffer
				cmd.Stdout, cmd.Stderr = &stdout, &stderr
				err := cmd.Run()
				require.NoError(t, err, "%s%s", &stdout, &stderr)
				require.Equal(t, string(want), stdout.String(), "%s", &stderr)
			})
		}
	}
}

// What people copy from the README, with the program that this test is in place of
// the one that go run makes.
func TestTheReadmesPythonRuns(t *testing.T) {
	if os.Getenv("ZKFENCE_CLIENTS") == "" {
		t.Skip("SKIPPED: kazoo is not run; set ZKFENCE_CLIENTS=1 to do so")
	}
	readme, err := os.ReadFile(filepath.Join("..", "..", "..", "README.md"))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(readme), "```python\n")
	require.True(t, found)
	script, _, _ := strings.Cut(rest, "```")
	cmd := exec.CommandContext(t.Context(), python, "-B", "-c", script, os.Args[0], "-addr", "127.0.0.1:0", "-commands")
	cmd.Env = append(os.Environ(), programEnv+"=1")
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "was it created? True\n", string(out))
}

package fulldisk

import (
	"os"
	"os/exec"
	"strings"
)

const aloneEnv = "ZKFENCE_FULLDISK_ALONE"

// Alone runs f, which calls WithRoom, in a process in which nobody else writes files:
// a copy of this test that runs t alone. go test has its tests keep a log of what they
// open, and fails if that cannot be written.
func Alone(t TB, f func()) {
	t.Helper()
	if os.Getenv(aloneEnv) == t.Name() {
		f()
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.count=1", "-test.v")
	cmd.Env = append(os.Environ(), aloneEnv+"="+t.Name())
	said, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(said), "--- PASS: "+t.Name()+" ") {
		t.Fatalf("%s in a process of its own: %v\n%s", t.Name(), err, said)
	}
}

package house_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
)

// What people copy into their database refuses exactly what fencing.Check
// refuses, from a report that does not exist yet to a late owner's write.
func TestTheReadmesSQLIsTheRule(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil || exec.Command(python, "-c", "import sqlite3").Run() != nil {
		t.Skip("SKIPPED: no python3 with sqlite3 to run the SQL in")
	}
	readme, err := os.ReadFile(filepath.Join(root(t), "README.md"))
	require.NoError(t, err)
	var statements []string
	for _, rest := range strings.Split(string(readme), "```sql\n")[1:] {
		block, _, _ := strings.Cut(rest, "```")
		statements = append(statements, block)
	}
	require.Len(t, statements, 3, "the table, the floor, the write")

	script := "import sqlite3\ndb = sqlite3.connect(':memory:')\ndb.execute('''" + statements[0] + "''')\n"
	var want strings.Builder
	var last fencing.Stamp
	for _, next := range story(t) {
		sql, params := statements[2], fmt.Sprintf("{'1': 'r', '2': 'body', '3': %d, '4': %d}", next.Token.Uint64(), next.Seq)
		if next.Seq == 0 {
			sql, params = statements[1], fmt.Sprintf("{'1': 'r', '2': %d}", next.Token.Uint64())
		}
		script += fmt.Sprintf("n = db.execute('''%s''', %s).rowcount\n", sql, params)
		script += "print(max(n, 0), *db.execute('SELECT token, seq FROM reports').fetchone())\n"

		floor, err := fencing.Check(last, next)
		rows := 0
		switch {
		case next.Seq > 0 && err == nil:
			rows, last = 1, next
		case floor != last:
			rows, last = 1, floor
		}
		fmt.Fprintln(&want, rows, last.Token.Uint64(), last.Seq)
	}
	out, err := exec.CommandContext(t.Context(), python, "-c", script).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, want.String(), string(out))
}

// story is what comes to a resource, in order. Seq 0 is a floor.
func story(t *testing.T) []fencing.Stamp {
	return []fencing.Stamp{
		at(t, 7, 1), at(t, 7, 1), at(t, 7, 3), at(t, 7, 2),
		at(t, 11, 0), at(t, 11, 0), at(t, 7, 4), at(t, 7, 0), at(t, 11, 1), at(t, 11, 1),
		at(t, 12, 1), at(t, 12, 0), at(t, 11, 2),
	}
}

func at(t *testing.T, token, seq uint64) fencing.Stamp {
	t.Helper()
	tok, err := fencing.FromUint64(token)
	require.NoError(t, err)
	return fencing.Stamp{Token: tok, Seq: seq}
}

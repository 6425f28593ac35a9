package sqlfence_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/sqlfence"
	"github.com/zkfence/zkfence/fencing/sqlfence/sqlite"
)

const writerSource = "SQLFENCE_WRITER_SOURCE"

// writeUntilKilled is the writer's process: it says each Seq that was acknowledged.
func writeUntilKilled(source string) {
	ctx := context.Background()
	db, err := sql.Open("sqlite", source)
	if err != nil {
		log.Fatal(err)
	}
	g, err := sqlfence.New(db, sqlite.Dialect())
	if err != nil {
		log.Fatal(err)
	}
	n, err := strconv.ParseUint(os.Getenv("SQLFENCE_WRITER_TOKEN"), 10, 63)
	if err != nil {
		log.Fatal(err)
	}
	for q := fencing.NewSequencer(token(n)); ; {
		s := q.Next()
		if err := g.Do(ctx, "r", s, appending(ctx, "r", s.String())); err != nil {
			log.Fatal(err)
		}
		fmt.Println(s.Seq)
	}
}

// A process is killed somewhere in a command, some in the transaction, some in the
// commit: the Stamp and the write are there together, what was acknowledged is, and
// the next owner goes on (case 25).
func TestAKilledWriterLeavesBothOrNeither(t *testing.T) {
	p := atSQLite(t)
	p.migrate(false)
	db := p.db()
	g := p.guard(db)
	before := 0
	for round := range 10 {
		n := uint64(10 + round)
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), writerSource+"="+p.source(""), fmt.Sprint("SQLFENCE_WRITER_TOKEN=", n))
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		acknowledged := 0
		for lines := bufio.NewScanner(out); acknowledged < 3+7*round && lines.Scan(); {
			acknowledged, err = strconv.Atoi(lines.Text())
			require.NoError(t, err)
		}
		require.NoError(t, cmd.Process.Kill())
		require.Error(t, cmd.Wait()) // killed

		list := p.entries(db, "r")
		last, err := g.Last(t.Context(), "r")
		require.NoError(t, err)
		require.Equal(t, stamp(n, last.Seq), last)
		require.GreaterOrEqual(t, last.Seq, uint64(acknowledged))
		require.Len(t, list, before+int(last.Seq))
		require.Equal(t, last.String(), list[len(list)-1])
		before = len(list)
	}
}

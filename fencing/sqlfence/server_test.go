package sqlfence_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// database is a kind of server.
type database struct {
	name     string // of its tests
	word     string // of .ci/databases
	variable string // that names a server
	at       func(t testing.TB, source string) *place
}

var (
	postgreSQL = database{"PostgreSQL", "postgres", "ZKFENCE_POSTGRES", postgreSQLAt}
	mariaDB    = database{"MariaDB", "mariadb", "ZKFENCE_MARIADB", mariaDBAt}
	databases  = []database{postgreSQL, mariaDB}
)

// wanted skips the test if the variable names no server.
func (d database) wanted(t testing.TB) string {
	source := os.Getenv(d.variable)
	if source == "" {
		t.Skipf("SKIPPED: %s names no %s", d.variable, d.name)
	}
	return source
}

// named is a place of the test's own on the server that the variable names.
func (d database) named(t testing.TB) *place { return d.at(t, d.wanted(t)) }

// server is one of the test's own, to be crashed.
type server struct {
	kind        database
	dir, source string
}

// start starts a server until the end of the test, from what is installed here.
func start(t testing.TB, kind database) (*server, error) {
	s := &server{kind: kind, dir: t.TempDir()}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if _, err := s.script(ctx, "stop"); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	said, err := s.script(ctx, "start", kind.word)
	if err != nil {
		return nil, err
	}
	source, found := strings.CutPrefix(strings.TrimSpace(said), kind.variable+"=")
	if !found {
		return nil, fmt.Errorf(".ci/databases start has said %q", said)
	}
	s.source = source
	return s, nil
}

// crash kills the server where it stands and starts it again.
func (s *server) crash(ctx context.Context) error {
	_, err := s.script(ctx, "crash", s.kind.word)
	return err
}

func (s *server) script(ctx context.Context, verb string, words ...string) (string, error) {
	script := filepath.Join("..", "..", ".ci", "databases")
	out, err := exec.CommandContext(ctx, script, append([]string{verb, s.dir}, words...)...).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return "", fmt.Errorf("%s %s: %w: %s", script, verb, err, exit.Stderr)
	}
	return string(out), err
}

// crashable returns places on a server that can be crashed, if one can be started, and
// else on the one that the variable names.
func (d database) crashable(t testing.TB) func(testing.TB) *place {
	d.wanted(t)
	s, err := start(t, d)
	if err != nil {
		t.Logf("%s is not restarted: %v", d.name, err)
		return d.named
	}
	return func(t testing.TB) *place {
		p := d.at(t, s.source)
		p.restart = s.crash
		return p
	}
}

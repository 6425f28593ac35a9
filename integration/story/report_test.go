//go:build linux

package story_test

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/zkfence/zkfence/integration/history"
)

// reportEnv names a file, by its full path, for what the run prints at its end. go
// test shows what it prints with -v, and if it fails.
const reportEnv = "ZKFENCE_REPORT"

// report is what the faults of all stories have done.
type report struct {
	stories, granted, accepted int
	guarded, unguarded         history.Table
}

// add adds a story that is over, whether it has ended well or not.
func (r *report) add(s *story) {
	if r.guarded == nil {
		r.guarded, r.unguarded = history.Table{}, history.Table{}
	}
	r.stories++
	r.granted += s.count("", history.Granted)
	r.accepted += s.count("", history.Accepted)
	table := r.guarded
	if !s.guarded {
		table = r.unguarded
	}
	table.Add(history.Tally(s.log.Events(), s.grace()))
}

func (r *report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d stories, %d grants, %d accepted writes\n%s", r.stories, r.granted, r.accepted, r.guarded)
	if len(r.unguarded) > 0 {
		fmt.Fprintf(&b, "and where the resource has no guard, for comparison:\n%s", r.unguarded)
	}
	return b.String()
}

// tell prints the report, if there is anything to tell. The error is a step
// backwards that a guarded resource has accepted, whether its story has looked or
// not, or the file's.
func (r *report) tell() error {
	if r.stories == 0 {
		return nil
	}
	fmt.Print(r)
	var err error
	if n := r.guarded.Sum().Backwards; n > 0 {
		err = fmt.Errorf("guarded resources have accepted %d steps backwards", n)
	}
	if name := os.Getenv(reportEnv); name != "" {
		err = errors.Join(err, os.WriteFile(name, []byte(r.String()), 0o644))
	}
	return err
}

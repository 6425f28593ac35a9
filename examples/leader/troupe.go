package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/zkfence/zkfence/election"
	"github.com/zkfence/zkfence/examples/internal/cast"
	"github.com/zkfence/zkfence/fencing"
)

// candidateEnv makes this program run as the candidate it names.
const candidateEnv = "ZKFENCE_LEADER_CANDIDATE"

// most is how many candidates a table of 24 lines has room for.
const most = 9

// troupe is the candidates, as their parent sees them.
type troupe struct {
	servers []string // before a Pauser has its say
	freeze  bool
	job     assignment
	tl      *cast.Timeline
	wg      sync.WaitGroup // one for each process under way

	mu       sync.Mutex
	members  []*member
	leader   election.Leader // as observed
	known    fencing.Stamp   // by the ledger, the highest
	accepted int             // commands
	refused  int
	changed  chan struct{} // closed at every change
}

// member is one candidate. What is below mu is the troupe's to guard.
type member struct {
	name    string
	process *cast.Process
	pauser  *cast.Pauser

	last     report
	heard    time.Time     // when it said that
	timeout  time.Duration // of its session
	paused   time.Time     // since; zero: it is not
	holding  bool          // between check and command
	killed   bool          // by us
	ended    bool
	failed   error
	accepted int // of its commands
	refused  int
}

func newTroupe(tl *cast.Timeline) *troupe { return &troupe{tl: tl, changed: make(chan struct{})} }

// change runs f with all that it may change.
func (t *troupe) change(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f()
	close(t.changed)
	t.changed = make(chan struct{})
}

// await waits until found says so, which is asked after every change.
func (t *troupe) await(ctx context.Context, what string, found func() bool) error {
	for {
		t.mu.Lock()
		yes, changed := found(), t.changed
		t.mu.Unlock()
		if yes {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("waiting until %s: %w", what, context.Cause(ctx))
		}
	}
}

// add starts one more candidate. Its process ends when ctx does, if not before.
func (t *troupe) add(ctx context.Context) error {
	t.mu.Lock()
	n := len(t.members) + 1
	t.mu.Unlock()
	if n > most {
		return fmt.Errorf("%d candidates are enough", most)
	}
	pauser, err := cast.NewPauser(t.freeze, t.servers)
	if err != nil {
		return err
	}
	m := &member{name: fmt.Sprintf("C%d", n), pauser: pauser, heard: time.Now()}
	job := t.job
	job.Servers = pauser.Servers
	listen := func(said iter.Seq[report]) {
		for r := range said {
			t.hear(m, r)
		}
	}
	m.process, err = cast.Start(ctx, candidateEnv, m.name, job, listen)
	if m.process == nil {
		pauser.Close()
		return err
	}
	t.change(func() { t.members = append(t.members, m) })
	t.wg.Go(func() { t.attend(m) })
	return err
}

// attend waits for a candidate's end.
func (t *troupe) attend(m *member) {
	err := m.process.Wait()
	m.pauser.Close()
	t.change(func() {
		m.ended, m.paused = true, time.Time{}
		if m.failed == nil && err != nil && !m.killed {
			m.failed = err
		}
	})
	if err != nil {
		t.tl.Line("parent", "", "", fmt.Sprintf("%s has ended: %v", m.name, err))
	}
}

// goodbye is how long candidates have to resign and to close their sessions.
const goodbye = 5 * time.Second

// dismiss ends all candidates, each once it has resigned, and returns what went
// wrong with any. Those that are still there after goodbye are killed.
func (t *troupe) dismiss(kill context.CancelFunc) error {
	t.mu.Lock()
	members, leader := t.members, t.leader.Info
	t.mu.Unlock()
	late := time.AfterFunc(goodbye, kill)
	defer late.Stop()
	dismiss := func(m *member) {
		// Whoever is paused would not see that its input has ended. Errors are
		// those of processes that have gone already.
		_ = m.pauser.Resume(m.process)
		_ = m.process.Order(orderGo)
		_ = m.process.Dismiss()
	}
	for _, m := range members {
		if m.name != leader {
			dismiss(m)
		}
	}
	// The leader last, or the next one would lead while it is on its way out. All
	// end, late or not.
	_ = t.await(context.Background(), "nobody else is left", func() bool {
		return !slices.ContainsFunc(members, func(m *member) bool { return m.name != leader && !m.ended })
	})
	for _, m := range members {
		if m.name == leader {
			dismiss(m)
		}
	}
	t.wg.Wait()
	var failed []error
	for _, m := range members { // nobody changes them any more
		if m.failed != nil {
			failed = append(failed, fmt.Errorf("%s: %w", m.name, m.failed))
		}
	}
	return errors.Join(failed...)
}

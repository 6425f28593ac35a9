package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// member returns the n-th candidate if it is alive. 0 is the one that leads, as
// the observer has it.
func (t *troupe) member(n int) (*member, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, m := range t.members {
		if i+1 != n && (n != 0 || m.name != t.leader.Info) {
			continue
		}
		if m.ended {
			return nil, fmt.Errorf("%s has ended", m.name)
		}
		return m, nil
	}
	if n == 0 {
		return nil, errors.New("nobody leads")
	}
	return nil, fmt.Errorf("there is no candidate %d", n)
}

// firstPaused is the number of a candidate that is paused; 0: none is.
func (t *troupe) firstPaused() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, m := range t.members {
		if !m.paused.IsZero() {
			return i + 1
		}
	}
	return 0
}

// pause stops a candidate. One that leads is stopped at the worst moment: it has
// checked that it leads, and is about to send a command.
func (t *troupe) pause(ctx context.Context, m *member) error {
	t.mu.Lock()
	twice, leads := !m.paused.IsZero(), !m.last.Token.IsZero()
	t.mu.Unlock()
	if twice {
		return fmt.Errorf("%s is %s already", m.name, m.pauser.What)
	}
	where := "while it does not lead"
	if leads {
		if err := m.process.Order(orderHold); err != nil {
			return err
		}
		where = "between its check and its command"
		waiting, cancel := context.WithTimeout(ctx, 2*time.Second)
		err := t.await(waiting, m.name+" stands still", func() bool { return m.holding || m.ended })
		cancel()
		if err != nil { // it does not trust its term just now, and sends nothing
			where = "wherever it was"
		}
	}
	if err := m.pauser.Pause(m.process); err != nil {
		return fmt.Errorf("pausing %s: %w", m.name, err)
	}
	t.change(func() { m.paused = time.Now() })
	t.tl.Line("parent", "", "", fmt.Sprintf("%s is %s, %s", m.name, m.pauser.What, where))
	return nil
}

// resume lets a candidate go on where it was.
func (t *troupe) resume(m *member) error {
	var since time.Time
	t.change(func() { since, m.paused, m.holding = m.paused, time.Time{}, false })
	if since.IsZero() {
		return fmt.Errorf("%s is not paused", m.name)
	}
	t.tl.Line("parent", "", "", fmt.Sprintf("%s goes on after %.1f s", m.name, time.Since(since).Seconds()))
	if err := m.pauser.Resume(m.process); err != nil {
		return fmt.Errorf("resuming %s: %w", m.name, err)
	}
	return m.process.Order(orderGo)
}

// kill ends a candidate as a crash does: its session lives on until it times out.
func (t *troupe) kill(m *member) error {
	t.change(func() { m.killed = true })
	t.tl.Line("parent", "", "", m.name+" is killed")
	return m.process.OS().Kill()
}

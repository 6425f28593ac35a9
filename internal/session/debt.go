package session

import (
	"context"
	"time"
)

// maxPaying is how many debts are paid at a time; the rest queue.
const maxPaying = 32

// Debt is a node that must go.
type Debt struct {
	pay  func(context.Context) bool
	done chan struct{}
}

// Done is closed when the debt is paid or the session has ended, which frees
// the node as well.
func (d *Debt) Done() <-chan struct{} { return d.done }

// debts is a session's sweeper: what it still has to delete. Under Session.mu
// but for wake.
type debts struct {
	wake    chan struct{} // capacity 1
	queue   []*Debt
	failed  []*Debt
	paying  int
	retries int
}

// Owe has pay called, on library goroutines, at once, after each reconnect and
// after growing pauses, until it returns true or the session ends. ctx ends with
// the session. pay must wait for nothing but its own requests.
func (s *Session) Owe(pay func(ctx context.Context) (paid bool)) *Debt {
	d := &Debt{pay: pay, done: make(chan struct{})}
	s.mu.Lock()
	over := s.reason != 0
	if !over {
		s.debts.queue = append(s.debts.queue, d)
	}
	s.mu.Unlock()
	if over {
		close(d.done)
		return d
	}
	s.payMore()
	return d
}

// Settle is Owe for a library goroutine that has nothing else to do: pay is
// called once on it, and only what that leaves becomes a debt.
func (s *Session) Settle(pay func(ctx context.Context) (paid bool)) *Debt {
	if pay(s.ctx) {
		d := &Debt{done: make(chan struct{})}
		close(d.done)
		return d
	}
	return s.Owe(pay)
}

// payMore starts payers while there is work and room for them.
func (s *Session) payMore() {
	for {
		s.mu.Lock()
		room := len(s.debts.queue) > 0 && s.debts.paying < maxPaying && s.reason == 0
		if room {
			s.debts.paying++
		}
		s.mu.Unlock()
		if !room {
			return
		}
		if !s.client.Go(s.payer) {
			s.mu.Lock()
			s.debts.paying--
			s.mu.Unlock()
			return // closing: the session ends and takes its nodes with it
		}
	}
}

func (s *Session) payer() {
	for {
		s.mu.Lock()
		if len(s.debts.queue) == 0 || s.reason != 0 {
			s.debts.paying--
			s.mu.Unlock()
			return
		}
		d := s.debts.queue[0]
		s.debts.queue = s.debts.queue[1:]
		s.mu.Unlock()

		paid := d.pay(s.ctx)

		s.mu.Lock()
		paid = paid || s.reason != 0
		if !paid {
			s.debts.failed = append(s.debts.failed, d)
		}
		s.mu.Unlock()
		if paid {
			close(d.done)
		} else {
			s.wakeDebts()
		}
	}
}

func (s *Session) wakeDebts() {
	select {
	case s.debts.wake <- struct{}{}:
	default:
	}
}

// sweeper tries failed debts again: at once on a new connection, else after a
// pause that doubles from a 16th of the timeout to four timeouts.
func (s *Session) sweeper() {
	var conn uint64
	timer := time.NewTimer(idle)
	defer timer.Stop()
	waiting := false // the timer runs for a failed debt
	for {
		due := false
		select {
		case <-s.fused:
			return
		case <-timer.C:
			due = true
		case <-s.debts.wake:
		}
		s.mu.Lock()
		if s.conns != conn {
			conn, due, s.debts.retries = s.conns, true, 0
		}
		if due {
			s.debts.queue = append(s.debts.queue, s.debts.failed...)
			s.debts.failed = nil
			s.debts.retries++
		}
		failed := len(s.debts.failed) > 0
		pause := idle
		if failed {
			pause = min(s.timeout/16<<min(s.debts.retries, 6), 4*s.timeout)
		} else if len(s.debts.queue) == 0 && s.debts.paying == 0 {
			s.debts.retries = 0
		}
		s.mu.Unlock()
		// One that fails now is tried with those that wait already: if each began the
		// pause anew, debts that keep failing would put off all others for ever.
		if !failed || !waiting || due {
			timer.Reset(pause)
		}
		waiting = failed
		s.payMore()
	}
}

// sweepEnded closes what the end of the session has paid. The monitor calls it
// once no payer can add to it.
func (s *Session) sweepEnded() {
	s.mu.Lock()
	left := append(s.debts.queue, s.debts.failed...)
	s.debts.queue, s.debts.failed = nil, nil
	s.mu.Unlock()
	for _, d := range left {
		close(d.done)
	}
}

package zktest

import "time"

// alarm is a timer that can be set again and again. fire runs with Network.mu
// held, and never for a setting that was stopped or replaced, even if its timer
// had gone off by then.
type alarm struct {
	n    *Network
	fire func()

	t   *time.Timer
	gen uint64
}

// set lets the alarm go off d from now, unless the network is closed. The
// caller holds Network.mu.
func (a *alarm) set(d time.Duration) {
	a.stop()
	if a.n.closed {
		return
	}
	n, gen := a.n, a.gen
	n.armed.Add(1)
	a.t = time.AfterFunc(d, func() {
		defer n.armed.Done()
		n.mu.Lock()
		defer n.mu.Unlock()
		if a.gen == gen {
			a.fire()
		}
	})
}

// stop makes sure that the present setting does nothing any more. The caller
// holds Network.mu.
func (a *alarm) stop() {
	a.gen++
	if a.t != nil && a.t.Stop() {
		a.n.armed.Done()
	}
	a.t = nil
}

// deadline is one of the two deadlines of a connection.
type deadline struct {
	alarm  alarm
	passed bool
}

func (d *deadline) init(n *Network, wake func()) {
	d.alarm = alarm{n: n, fire: func() { d.passed = true; wake() }}
}

// set follows net.Conn: the zero time is no deadline, one in the past wakes
// whoever is blocked.
func (d *deadline) set(t time.Time) {
	d.alarm.stop()
	d.passed = false
	if t.IsZero() {
		return
	}
	if left := time.Until(t); left > 0 {
		d.alarm.set(left)
		return
	}
	d.alarm.fire()
}

package zktest

// Pending returns what the target still waits for: how often the faults that take
// a number of times have yet to happen, with one for each that happens always and
// has not at all, and how many functions of At and AtReply have not been called.
// What was made on a session or a host counts there, and for the Server or Proxy
// itself, which counts all.
//
// A test that ends with Pending above 0 has not tested what it set out to: its
// client sends another operation, say, or has another session.
func (t *Target) Pending() int {
	t.f.mu.Lock()
	defer t.f.mu.Unlock()
	all, sum := t.sel == selector{}, 0
	for _, r := range t.f.rules {
		switch {
		case !all && t.sel != r.sel:
		case r.left > 0:
			sum += r.left
		case !r.met:
			sum++
		}
	}
	for _, h := range t.f.hooks {
		if h.once && (all || t.sel == h.sel) {
			sum++
		}
	}
	return sum
}

// Seen reports whether a handshake has ever granted or renewed the session, be it
// one that has ended since.
func (f *Faults) Seen(session int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.log.short[session] > 0
}

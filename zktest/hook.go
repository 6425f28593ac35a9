package zktest

import "slices"

// hook is a caller's function waiting for a request, or for its reply.
type hook struct {
	sel   selector
	op    Op
	reply bool
	once  bool
	fn    func(Request)
}

// OnRequest calls fn for every request of the target, pings and handshakes
// included, when it has been read and before any fault looks at it: a fault
// made by fn applies to that request. stop ends the calls, but does not wait
// for one under way.
//
// fn runs on the connection's own goroutine with no lock held. While it blocks,
// that request waits and so do those behind it on the same connection; it must
// have returned before the server is closed. It panics if fn is nil, as do the
// other methods that take a function.
func (t *Target) OnRequest(fn func(Request)) (stop func()) {
	return t.hook("OnRequest", &hook{op: everyOp, fn: fn})
}

// OnReply calls fn for every reply, before any fault looks at it and before the
// client has it, and otherwise as OnRequest does.
func (t *Target) OnReply(fn func(Request)) (stop func()) {
	return t.hook("OnReply", &hook{op: everyOp, reply: true, fn: fn})
}

// At calls fn once, at the target's next request of kind op, as OnRequest does.
func (t *Target) At(op Op, fn func(Request)) (stop func()) {
	return t.hook("At", &hook{op: op, once: true, fn: fn})
}

// AtReply calls fn once, at the next reply to a request of kind op, as OnReply
// does. The request has taken effect by then.
func (t *Target) AtReply(op Op, fn func(Request)) (stop func()) {
	return t.hook("AtReply", &hook{op: op, once: true, reply: true, fn: fn})
}

func (t *Target) hook(method string, h *hook) (stop func()) {
	if h.fn == nil {
		panic("zktest: " + method + ": the function is nil")
	}
	h.sel = t.sel
	t.f.mu.Lock()
	defer t.f.mu.Unlock()
	t.f.hooks = append(t.f.hooks, h)
	return func() {
		t.f.mu.Lock()
		defer t.f.mu.Unlock()
		if i := slices.Index(t.f.hooks, h); i >= 0 {
			t.f.hooks = slices.Delete(t.f.hooks, i, i+1)
		}
	}
}

// due returns the hooks to run, in the order they were made. f.mu is held.
func (f *Faults) due(t *tap, op Op, reply bool) []*hook {
	if len(f.hooks) == 0 {
		return nil
	}
	var run []*hook
	kept := f.hooks[:0]
	for _, h := range f.hooks {
		if h.reply == reply && covers(h.op, op) && h.sel.matches(t.host, t.session) {
			run = append(run, h)
			if h.once {
				continue
			}
		}
		kept = append(kept, h)
	}
	clear(f.hooks[len(kept):])
	f.hooks = kept
	return run
}

func run(hooks []*hook, r Request) {
	for _, h := range hooks {
		h.fn(r)
	}
}

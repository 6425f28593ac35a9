package zklock_test

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/zklock"
)

// witness writes down from when until when each holder believed that it held, on
// the one clock that all of them share, and looks at each word whether somebody
// believed it after a later owner did.
//
// A belief is written down shorter than it was: from when Lock had returned until
// before the last question whose answer was that trusted time is left. So what it
// finds has happened, however late a goroutine was. When an operator ends a
// session no clock of the holder can tell, until word of it comes: such a belief
// counts up to the operator's deed.
type witness struct {
	mu      sync.Mutex
	beliefs []*belief           // by token
	ended   map[int64]time.Time // sessions, when the operator reached for them
	lie     error               // the first one
}

type belief struct {
	token       fencing.Token
	session     int64
	from, until time.Time
}

func newWitness() *witness { return &witness{ended: map[int64]time.Time{}} }

// granted begins a belief.
func (w *witness) granted(h *zklock.Hold) *belief {
	now := time.Now()
	b := &belief{token: h.Token(), session: h.Internal().Session.ID(), from: now, until: now}
	w.mu.Lock()
	defer w.mu.Unlock()
	if end, ok := w.ended[b.session]; ok && !end.After(now) {
		b.until = time.Time{} // was never one
	}
	at, known := slices.BinarySearchFunc(w.beliefs, b.token, func(o *belief, t fencing.Token) int { return o.token.Compare(t) })
	if known {
		w.found("token %v was granted twice", b.token)
	}
	w.beliefs = slices.Insert(w.beliefs, at, b)
	w.judge(at)
	return b
}

// believes asks the holder, and reports whether it still believes.
func (w *witness) believes(h *zklock.Hold, b *belief) bool {
	before := time.Now()
	if h.Remaining() <= 0 {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if end, ok := w.ended[b.session]; ok && !end.After(before) {
		return true
	}
	b.until = before
	if at, ok := slices.BinarySearchFunc(w.beliefs, b.token, func(o *belief, t fencing.Token) int { return o.token.Compare(t) }); ok {
		w.judge(at)
	}
	return true
}

// ends is called before an operator ends a session.
func (w *witness) ends(session int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.ended[session]; !ok {
		w.ended[session] = time.Now()
	}
}

// judge looks at one belief that has begun or grown. w.mu is held.
func (w *witness) judge(at int) {
	b := w.beliefs[at]
	if b.until.IsZero() {
		return
	}
	for i, o := range w.beliefs {
		older, newer := o, b
		if i > at {
			older, newer = b, o
		}
		if i != at && !o.until.IsZero() && older.until.After(newer.from) {
			w.found("the holder of %v believed it %v after %v was granted", older.token, older.until.Sub(newer.from), newer.token)
		}
	}
}

func (w *witness) found(format string, args ...any) {
	if w.lie == nil {
		w.lie = fmt.Errorf(format, args...)
	}
}

// broken is the first pair of beliefs that were there at once.
func (w *witness) broken() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lie
}

// count is how many holds there have been.
func (w *witness) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.beliefs)
}

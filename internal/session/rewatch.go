package session

import (
	"sync/atomic"
	"time"

	"github.com/zkfence/zkfence/internal/wire"
)

// rewatch holds back the answers on a new connection until the zk.Conn has asked
// for its watches again. It asks as of the last zxid that it has seen, and reads
// that number while its receive loop, already running, writes it for every
// answer: a data race, and with a number from the new connection the server
// takes a change in between for one that the watch has told.
//
// Answers to credentials carry no zxid and must pass: until they have come, the
// zk.Conn asks for nothing. Watches that an op of a user has set are not known
// here, so they alone hold nothing back.
type rewatch struct {
	begun chan struct{} // closed when setWatches is being written; nil: nothing to wait for
	asked atomic.Bool   // anything but credentials and pings has been written
	limit time.Duration // on the wait, lest a zk.Conn with no watch after all hears nothing
	open  bool          // waited for; reader only
}

// expect is called before the zk.Conn knows of the connection.
func (r *rewatch) expect(limit time.Duration) { r.begun, r.limit = make(chan struct{}), limit }

// sending is called by the writer for each frame of the zk.Conn.
func (r *rewatch) sending(op wire.Op) {
	switch op {
	case wire.OpPing, wire.OpSetAuth:
	case wire.OpSetWatches:
		r.asked.Store(true)
		if r.begun != nil {
			select {
			case <-r.begun: // one of several frames
			default:
				close(r.begun)
			}
		}
	default:
		r.asked.Store(true)
	}
}

// wait is called by the reader with bytes in hand that may be an answer. over
// ends the wait with the connection.
func (r *rewatch) wait(over, fused <-chan struct{}) {
	if r.begun == nil || r.open || !r.asked.Load() {
		return
	}
	r.open = true
	timer := time.NewTimer(r.limit)
	defer timer.Stop()
	select {
	case <-r.begun:
	case <-timer.C:
	case <-over:
	case <-fused:
	}
}

// watching reports that the zk.Conn has a watch to set again. s.mu is held.
func (s *Session) watching() bool {
	for _, e := range s.watches {
		if e.conn > 0 {
			return true
		}
	}
	return false
}

package zktest

import "sync"

// maxQueued is how many bytes may wait for a client that does not read, before
// its connection is given up. Only events come that far: its own requests are
// read no more once backlog bytes wait.
const (
	backlog   = 16 << 20
	maxQueued = 64 << 20
)

// queue holds what waits to be written. Its mutex is the last to be taken.
type queue struct {
	wake chan struct{} // capacity 1: something has changed
	room chan struct{} // capacity 1: there is less than a backlog

	mu     sync.Mutex
	frames [][]byte
	bytes  int
	asked  int // bytes of requests that wait for their turn
	ended  bool
}

func newQueue() queue {
	return queue{wake: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// push adds a frame; false if there are too many bytes already.
func (q *queue) push(frame []byte) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.bytes+len(frame) > maxQueued {
		return false
	}
	q.frames = append(q.frames, frame)
	q.bytes += len(frame)
	return true
}

// hold counts a request that waits, release one that does so no more. signal has
// to follow on that, for the reader may wait for it.
func (q *queue) hold(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.asked += n
}

func (q *queue) release(n int) { q.hold(-n) }

func (q *queue) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
}

// pop returns the next frame, or nil, and then whether no other will come.
func (q *queue) pop() (frame []byte, last bool) {
	q.mu.Lock()
	if len(q.frames) == 0 {
		defer q.mu.Unlock()
		return nil, q.ended
	}
	frame = q.frames[0]
	q.frames[0] = nil
	q.frames = q.frames[1:]
	wasFull := q.isFull()
	q.bytes -= len(frame)
	relieved := wasFull && !q.isFull()
	q.mu.Unlock()
	if relieved {
		notice(q.room)
	}
	return frame, false
}

// isFull says whether more than a backlog waits. q.mu is held.
func (q *queue) isFull() bool { return q.bytes+q.asked > backlog }

// drained waits until no more than a backlog waits to be carried out or written,
// and then for the reader's turn; false if the connection has ended meanwhile.
func (q *queue) drained(turn func(Direction), done <-chan struct{}) bool {
	for {
		q.mu.Lock()
		full := q.isFull()
		q.mu.Unlock()
		if !full {
			return true
		}
		select {
		case <-q.room:
			turn(ToServer)
		case <-done:
			return false
		}
	}
}

func (q *queue) hasEnded() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.ended
}

func (q *queue) signal() {
	notice(q.wake)
	notice(q.room)
}

// heed forgets a signal whose frames the next calls of pop return: left over, it
// would give the writer a turn at which nothing has come.
func (q *queue) heed() {
	select {
	case <-q.wake:
	default:
	}
}

// notice tells whoever waits on a channel of capacity 1, now or next.
func notice(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

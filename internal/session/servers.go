package session

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"strings"
	"sync"
	"time"
)

// servers is the zk.HostProvider: it goes round the list, and keeps the failed
// rounds from turning into a storm. The zk.Conn's own provider pauses a whole
// second after a round, which is most of a short session's trust, and resolves
// names once for ever; here the pause is in the dialer, and names are resolved
// by each dial.
type servers struct {
	s *Session

	mu     sync.Mutex
	list   []string
	at     int
	tried  int // since the last handshake that went through
	short  int // connections in a row that were over soon after their handshake
	errors map[string]error
}

func newServers(s *Session, list []string) *servers {
	// Shuffled, so that the clients of one configuration spread over the servers.
	list = append([]string(nil), list...)
	for i := len(list) - 1; i > 0; i-- {
		j := int(random() % uint64(i+1))
		list[i], list[j] = list[j], list[i]
	}
	return &servers{s: s, list: list, errors: make(map[string]error)}
}

// random comes from crypto/rand so that a test that seeds that one source has
// seeded everything here.
func random() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, by its contract
	return binary.BigEndian.Uint64(b[:])
}

// Jitter returns a duration between half of d and d.
func Jitter(d time.Duration) time.Duration {
	if d < 2 {
		return d
	}
	return d/2 + time.Duration(random()%uint64(d/2))
}

// Init ignores the zk.Conn's list: ours is the same and already in order.
func (v *servers) Init([]string) error { return nil }

// Len is part of zk.HostProvider.
func (v *servers) Len() int { return len(v.list) }

// Next returns the next server. retryStart would make the zk.Conn pause for a
// second and fail what waits to be sent; what waits is better sent late, on this
// session or not at all.
func (v *servers) Next() (server string, retryStart bool) {
	server = v.after()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.tried++
	return server, false
}

// after returns the next server in turn.
func (v *servers) after() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	server := v.list[v.at]
	v.at = (v.at + 1) % len(v.list)
	return server
}

// Connected is part of zk.HostProvider.
func (v *servers) Connected() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.tried = 0
	clear(v.errors)
}

// ended takes note of how long a connection has been up. A handshake is not yet
// a reason to dial at once the next time: a server that answers it and closes at
// the first request would be dialled as fast as the network goes, by every client
// that it has.
func (v *servers) ended(up, timeout time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.short++; up >= timeout/64 {
		v.short = 0
	}
}

// rounds is how often the whole list has been tried, before the dial that Next
// has just chosen, since a handshake last went through.
func (v *servers) rounds() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return (v.tried - 1) / len(v.list)
}

// pause is how long to wait before the dial that Next has just chosen: nothing
// in the first round, then growing from a 200th of the timeout to a 16th, and
// never beyond a second. After connections that were over soon it is less, up to
// a 64th: each of them may have done some good.
func (v *servers) pause(timeout time.Duration) time.Duration {
	v.mu.Lock()
	rounds, short := (v.tried-1)/len(v.list), v.short
	v.mu.Unlock()
	var d time.Duration
	if rounds >= 1 {
		d = min(max(timeout/200, time.Millisecond)<<min(rounds-1, 10), timeout/16, time.Second)
	}
	if short >= 2 {
		d = max(d, min(timeout/800<<min(short-2, 10), timeout/64))
	}
	return Jitter(d)
}

func (v *servers) failed(server string, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.errors[server] = err
}

// report says what was tried and how it ended.
func (v *servers) report() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	var b strings.Builder
	for i, server := range v.list {
		if i > 0 {
			b.WriteString("; ")
		}
		if err := v.errors[server]; err != nil {
			fmt.Fprintf(&b, "%s: %v", server, err)
		} else {
			fmt.Fprintf(&b, "%s: no answer yet", server)
		}
	}
	return b.String()
}

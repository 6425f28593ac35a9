package cast

import (
	"net"
	"sync"
	"time"
)

// relay carries one worker's connections to one server, and can freeze them: they
// stay open and nothing moves, neither bytes nor their ends.
type relay struct {
	upstream string
	listener net.Listener
	done     chan struct{}
	wg       sync.WaitGroup

	mu    sync.Mutex
	thaw  chan struct{} // while frozen; closed at its end
	conns map[net.Conn]struct{}
}

func newRelay(upstream string) (*relay, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &relay{upstream: upstream, listener: listener, done: make(chan struct{}), conns: make(map[net.Conn]struct{})}
	r.wg.Go(r.accept)
	return r, nil
}

func (r *relay) addr() string { return r.listener.Addr().String() }

// freeze stops everything, or lets it go on.
func (r *relay) freeze(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case on && r.thaw == nil:
		r.thaw = make(chan struct{})
	case !on && r.thaw != nil:
		close(r.thaw)
		r.thaw = nil
	}
}

// close ends every connection and waits for the goroutines.
func (r *relay) close() {
	close(r.done)
	_ = r.listener.Close() // it is ours alone and open
	r.mu.Lock()
	for c := range r.conns {
		_ = c.Close() // wakes its reader
	}
	r.mu.Unlock()
	r.wg.Wait()
}

func (r *relay) accept() {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.wg.Go(func() { r.carry(client) })
	}
}

func (r *relay) carry(client net.Conn) {
	defer client.Close()
	server, err := net.DialTimeout("tcp", r.upstream, 5*time.Second)
	if err != nil {
		return
	}
	defer server.Close()
	if !r.track(client, server) {
		return
	}
	defer r.untrack(client, server)

	var both sync.WaitGroup
	both.Go(func() { r.pump(server, client) })
	both.Go(func() { r.pump(client, server) })
	both.Wait()
}

// pump moves bytes one way until either end is gone, and then ends both.
func (r *relay) pump(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 16<<10)
	for {
		n, err := from.Read(buf)
		r.await()
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// await returns once nothing is frozen.
func (r *relay) await() {
	for {
		r.mu.Lock()
		thaw := r.thaw
		r.mu.Unlock()
		if thaw == nil {
			return
		}
		select {
		case <-thaw:
		case <-r.done:
			return
		}
	}
}

// track reports false if the relay is closing, which would miss these.
func (r *relay) track(conns ...net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.done:
		return false
	default:
	}
	for _, c := range conns {
		r.conns[c] = struct{}{}
	}
	return true
}

func (r *relay) untrack(conns ...net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range conns {
		delete(r.conns, c)
	}
}

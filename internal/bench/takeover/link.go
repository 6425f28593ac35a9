package main

import (
	"errors"
	"net"
	"sync"
	"time"
)

// link is a network between clients and a server on this machine: what goes through
// it is under way for as long as delay, each way. On the loopback nothing takes time
// but processors, of which an ensemble and its clients have more than this machine.
type link struct {
	net.Listener
	server string
	delay  time.Duration
	all    sync.WaitGroup

	closed chan struct{}

	mu    sync.Mutex
	conns map[net.Conn]struct{} // nil once closed
}

func newLink(server string, delay time.Duration) (*link, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	k := &link{Listener: l, server: server, delay: delay, closed: make(chan struct{}), conns: map[net.Conn]struct{}{}}
	k.all.Go(k.accept)
	return k, nil
}

// close breaks every connection and waits for what carries them.
func (k *link) close() error {
	err := k.Close()
	close(k.closed)
	k.mu.Lock()
	for c := range k.conns {
		_ = c.Close() // it may be closed already
	}
	k.conns = nil
	k.mu.Unlock()
	k.all.Wait()
	return err
}

func (k *link) accept() {
	for {
		near, err := k.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", k.server)
		if err != nil {
			_ = near.Close() // which says it
			continue
		}
		if k.keep(near, far) != nil {
			return
		}
		k.all.Go(func() { k.carry(far, near) })
		k.all.Go(func() { k.carry(near, far) })
	}
}

func (k *link) keep(conns ...net.Conn) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range conns {
		if k.conns == nil {
			_ = c.Close() // as all others have been
			continue
		}
		k.conns[c] = struct{}{}
	}
	if k.conns == nil {
		return errors.New("closed")
	}
	return nil
}

type chunk struct {
	due  time.Time
	data []byte
}

// carry takes what comes from one side to the other, and its end.
func (k *link) carry(to, from net.Conn) {
	way := make(chan chunk, 4096)
	var done sync.WaitGroup
	done.Go(func() {
		for c := range way {
			select {
			case <-time.After(time.Until(c.due)):
			case <-k.closed:
			}
			_, _ = to.Write(c.data) // a broken one shows on the way back
		}
		_ = to.Close() // again, where the other way has closed it
	})
	for buf := make([]byte, 32<<10); ; {
		n, err := from.Read(buf)
		if n > 0 {
			way <- chunk{time.Now().Add(k.delay), append([]byte(nil), buf[:n]...)}
		}
		if err != nil {
			break
		}
	}
	close(way)
	done.Wait()
	_ = from.Close() // its reader has ended
}

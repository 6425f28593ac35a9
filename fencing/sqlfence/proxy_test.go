package sqlfence_test

import (
	"bytes"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// proxy stands before a server, counts round trips and cuts a connection at a word
// that the client sends, once.
type proxy struct {
	net.Listener
	server string
	trips  atomic.Int64

	mu    sync.Mutex
	word  string // "": cut nothing
	after bool   // let it through, and cut when the server answers
	held  func() // not nil: cut nothing, but drop the word, as a network does, and call it
	conns []net.Conn
	wg    sync.WaitGroup
}

func before(t testing.TB, server string) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{Listener: l, server: server}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		l.Close()
		p.mu.Lock()
		for _, c := range p.conns {
			c.Close()
		}
		p.mu.Unlock()
		p.wg.Wait()
	})
	return p
}

// cut arms the proxy.
func (p *proxy) cut(word string, after bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.word, p.after, p.held = word, after, nil
}

// silence is cut, but nobody is told except by held.
func (p *proxy) silence(word string, held func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.word, p.after, p.held = word, false, held
}

// armed reports whether nothing was cut since.
func (p *proxy) armed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.word != ""
}

// meets disarms the proxy if the client says the word.
func (p *proxy) meets(sent []byte) (met, after bool, held func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.word == "" || !bytes.Contains(bytes.ToLower(sent), []byte(strings.ToLower(p.word))) {
		return false, false, nil
	}
	p.word = ""
	return true, p.after, p.held
}

func (p *proxy) accept() {
	for {
		client, err := p.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		// answered: what the client sends next is a round trip more. deaf: the next
		// answer is where the connection ends.
		var answered, deaf atomic.Bool
		answered.Store(true)
		p.wg.Go(func() {
			defer server.Close()
			p.copy(server, client, func(sent []byte) verdict {
				if answered.Swap(false) {
					p.trips.Add(1)
				}
				switch met, after, held := p.meets(sent); {
				case held != nil:
					held()
					return drop
				case met && !after:
					return cut
				case met:
					deaf.Store(true)
				}
				return pass
			})
		})
		p.wg.Go(func() {
			defer client.Close()
			p.copy(client, server, func([]byte) verdict {
				answered.Store(true)
				if deaf.Load() {
					return cut
				}
				return pass
			})
		})
	}
}

// verdict is what becomes of bytes.
type verdict int

const (
	pass verdict = iota
	drop
	cut
)

// copy copies what judge lets pass, until it cuts or an end has gone.
func (p *proxy) copy(to, from net.Conn, judge func([]byte) verdict) {
	defer to.Close()
	buf := make([]byte, 1<<16)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			switch judge(buf[:n]) {
			case cut:
				from.Close()
				return
			case drop:
				n = 0
			}
		}
		if _, failed := to.Write(buf[:n]); err != nil || failed != nil {
			return
		}
	}
}

package redisfence_test

import (
	"bytes"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// proxy loses the answers to scripts, or the scripts.
type proxy struct {
	net.Listener
	to       string
	replies  atomic.Int64 // to lose, each with its connection
	requests atomic.Int64
	holds    atomic.Int64           // requests that arrive later, by release
	held     atomic.Pointer[[]byte] // the last of them
	errors   atomic.Int64           // to answer with in the server's place
	scripts  atomic.Int64           // seen
	before   atomic.Pointer[func()] // the connection of a lost reply breaks
	mu       sync.Mutex
	open     []net.Conn
	wg       sync.WaitGroup
}

func newProxy(t *testing.T) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{Listener: l, to: server(t)}
	p.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s, err := net.Dial("tcp", p.to)
			if err != nil {
				c.Close()
				continue
			}
			p.mu.Lock()
			p.open = append(p.open, c, s)
			p.mu.Unlock()
			p.serve(c, s)
		}
	})
	t.Cleanup(func() {
		l.Close()
		p.mu.Lock()
		for _, c := range p.open {
			c.Close()
		}
		p.mu.Unlock()
		p.wg.Wait()
	})
	return p
}

func (p *proxy) addr() string { return p.Addr().String() }

func (p *proxy) serve(c, s net.Conn) {
	var lose atomic.Bool
	p.wg.Go(func() {
		defer s.Close()
		buf := make([]byte, 64<<10)
		for {
			n, err := c.Read(buf)
			if err != nil {
				return
			}
			if bytes.Contains(bytes.ToLower(buf[:n]), []byte("\r\neval")) {
				p.scripts.Add(1)
				if p.requests.Add(-1) >= 0 {
					c.Close()
					return
				}
				if p.holds.Add(-1) >= 0 {
					late := bytes.Clone(buf[:n])
					p.held.Store(&late)
					continue
				}
				if p.replies.Add(-1) >= 0 {
					lose.Store(true)
				} else if p.errors.Add(-1) >= 0 {
					if _, err := c.Write([]byte("-ERR made up by the proxy\r\n")); err != nil {
						return
					}
					continue
				}
			}
			if _, err := s.Write(buf[:n]); err != nil {
				return
			}
		}
	})
	p.wg.Go(func() {
		defer c.Close()
		buf := make([]byte, 64<<10)
		for {
			n, err := s.Read(buf)
			if err != nil {
				return
			}
			if lose.Load() {
				if before := p.before.Load(); before != nil {
					(*before)()
				}
				return
			}
			if _, err := c.Write(buf[:n]); err != nil && err != io.EOF {
				return
			}
		}
	})
}

// release has the held request arrive, and returns once it is answered.
func (p *proxy) release(t *testing.T) {
	t.Helper()
	s, err := net.Dial("tcp", p.to)
	require.NoError(t, err)
	defer s.Close()
	_, err = s.Write(*p.held.Load())
	require.NoError(t, err)
	_, err = s.Read(make([]byte, 1000))
	require.NoError(t, err)
}

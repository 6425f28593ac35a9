package zktest

import (
	"errors"
	"fmt"
	"time"

	"github.com/zkfence/zkfence/internal/wire"
)

// thiefTimeout is the session timeout that a thief asks for.
const thiefTimeout = 30 * time.Second

var errProxyClosed = errors.New("zktest: steal: the proxy is closed")

// theft asks a proxy's thief to send a create as its own.
type theft struct {
	create []byte
	done   chan error // capacity 1
}

// steal creates from a session of the proxy's own what a client wanted to
// create.
func (p *Proxy) steal(create []byte) error {
	t := theft{create: create, done: make(chan error, 1)}
	select {
	case p.thefts <- t:
		return <-t.done
	case <-p.done:
		return errProxyClosed
	}
}

// thief owns the session that steals, from its first theft until the proxy
// closes. One goroutine, thieve, uses it.
type thief struct {
	p    *Proxy
	a    *agent // nil: no session
	ping *time.Ticker
}

func (p *Proxy) thieve() {
	defer p.wg.Done()
	t := &thief{p: p, ping: time.NewTicker(thiefTimeout)}
	defer t.ping.Stop()
	for {
		select {
		case job := <-p.thefts:
			job.done <- t.create(job.create)
		case <-t.ping.C:
			t.keep()
		case <-p.done:
			if t.a != nil {
				// A server that cannot be told lets the session expire.
				_ = t.a.end()
			}
			return
		}
	}
}

func (t *thief) create(payload []byte) error {
	if t.a == nil {
		a, err := t.p.agent(0, credentials{timeout: thiefTimeout, password: make([]byte, passwordLen)})
		if err != nil {
			return fmt.Errorf("zktest: steal: %w", err)
		}
		t.a = a
		t.ping.Reset(a.timeout / 3)
	}
	code, err := t.a.call(1, payload[4:]) // all but the client's xid
	switch {
	case err != nil:
		t.lose()
		return fmt.Errorf("zktest: steal: %w", err)
	case code != wire.OK:
		return fmt.Errorf("zktest: steal: %s", code)
	}
	return nil
}

// keep keeps the session alive: a stolen node must not vanish by itself.
func (t *thief) keep() {
	if t.a == nil {
		return
	}
	if _, err := t.a.call(wire.XidPing, bare(OpPing)); err != nil {
		t.lose()
	}
}

func (t *thief) lose() {
	t.a.close()
	t.a = nil
}

package zktest

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"net"
	"time"

	"github.com/zkfence/zkfence/internal/wire"
)

// agentTimeout bounds each thing that an agent asks of the server.
const agentTimeout = 3 * time.Second

// expireTries is how often Expire begins. The server closes the client's
// connection when ours presents the session, and a client that comes back at
// once takes the session from us in turn, before we have closed it.
const expireTries = 20

// expireSilences is how many of them may end unanswered, once the session has been
// let in: what comes on a session that its own client is closing at that moment,
// a server drops without a word. The next try learns that it is gone.
const expireSilences = 2

// agent is the proxy's own client of the server, as bare as can be: one
// connection, one request at a time.
type agent struct {
	nc      net.Conn
	r       *bufio.Reader
	session int64
	timeout time.Duration // as negotiated
}

// agent connects to the server with the session given, or a new one for 0.
func (p *Proxy) agent(session int64, c credentials) (*agent, error) {
	nc, err := net.DialTimeout("tcp", p.target, agentTimeout)
	if err != nil {
		return nil, err
	}
	a := &agent{nc: nc, r: bufio.NewReader(nc)}
	payload, err := a.exchange(wire.ConnectRequest{
		TimeoutMs: int32(min(c.timeout/time.Millisecond, math.MaxInt32)), Session: session, Password: c.password,
	}.Append(nil))
	if err != nil {
		a.close()
		return nil, err
	}
	r, err := wire.ParseConnectResponse(payload)
	if err == nil && (r.Session == 0 || session != 0 && r.Session != session) {
		err = ErrNoSession
	}
	if err != nil {
		a.close()
		return nil, err
	}
	a.session, a.timeout = r.Session, time.Duration(r.TimeoutMs)*time.Millisecond
	return a, nil
}

func (a *agent) exchange(payload []byte) ([]byte, error) {
	if err := a.nc.SetDeadline(time.Now().Add(agentTimeout)); err != nil {
		return nil, err
	}
	if _, err := a.nc.Write(wire.AppendFrame(nil, payload)); err != nil {
		return nil, err
	}
	return wire.ReadFrame(a.r, passLimit)
}

// call sends a request, the op and the body of it, and returns the code that
// the server answers with. It has set no watch, so that every frame is a reply.
func (a *agent) call(xid int32, opAndBody []byte) (wire.Code, error) {
	e := wire.Encoder{}
	e.Int32(xid)
	e.Buf = append(e.Buf, opAndBody...)
	payload, err := a.exchange(e.Buf)
	if err != nil {
		return 0, err
	}
	h, err := wire.ParseReplyHeader(payload)
	if err == nil && h.Xid != xid {
		err = fmt.Errorf("reply to request %d where %d was asked", h.Xid, xid)
	}
	return h.Err, err
}

// bare is a request without a body.
func bare(op Op) []byte {
	e := wire.Encoder{}
	e.Int32(int32(op))
	return e.Buf
}

// end closes the session and the connection.
func (a *agent) end() error {
	defer a.close()
	code, err := a.call(1, bare(OpCloseSession))
	if err == nil && code != wire.OK {
		err = fmt.Errorf("close session: %s", code)
	}
	return err
}

func (a *agent) close() {
	// Nothing is written any more, so nothing can be lost.
	_ = a.nc.Close()
}

// Expire ends a session that has been seen through this proxy: it closes it by
// way of a second connection that presents the session's id and password, upon
// which the server closes the first. Its ephemerals go at once, and its client
// learns the reason when it connects again. It returns ErrNoSession for one
// that the server does not know or this proxy has not seen.
func (p *Proxy) Expire(session int64) error {
	c, ok := p.credentialsOf(session)
	if !ok {
		return fmt.Errorf("expire %#x: not seen through this proxy: %w", uint64(session), ErrNoSession)
	}
	var err error
	silences := 0
	for try := range expireTries {
		var a *agent
		in := false
		if a, err = p.agent(session, c); err == nil {
			in = true
			err = a.end()
		}
		if err == nil || errors.Is(err, ErrNoSession) && try > 0 {
			return nil // where it is unknown by now, only the answer to an earlier try was lost
		}
		var late net.Error
		if errors.As(err, &late) && late.Timeout() {
			if silences++; !in || silences > expireSilences {
				break
			}
		}
		if errors.Is(err, ErrNoSession) {
			break
		}
	}
	return fmt.Errorf("expire %#x: %w", uint64(session), err)
}

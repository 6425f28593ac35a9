package zktest

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/wire"
)

// swarm is many clients over TCP that all do anything at all, as fast as they
// can. It is the race detector's business, so it runs in real time.
type swarm struct {
	*testing.T
	srv      *Server
	bodies   [][]byte
	answered atomic.Int64
	enough   chan struct{} // closed at the 200th answer
}

func newSwarm(t *testing.T) *swarm {
	s := &swarm{T: t, srv: New(t, WithSessionTimeouts(50*time.Millisecond, time.Second), WithTick(10*time.Millisecond), WithContainerInterval(20*time.Millisecond))}
	s.bodies, s.enough = seeds(), make(chan struct{})
	return s
}

// wait bounds a client's patience with a connection that a fault has broken.
const wait = 30 * time.Millisecond

// client makes requests on one connection after another, until it has made n or
// over says so.
func (s *swarm) client(seed uint64, n int, over <-chan struct{}) {
	rng := rand.New(rand.NewPCG(seed, 1))
	var session int64
	password := make([]byte, 16)
	for n > 0 {
		select {
		case <-over:
			return
		default:
		}
		n-- // a connection that brings nothing counts too
		nc, err := net.Dial("tcp", s.srv.Addr())
		if err != nil {
			continue
		}
		if rng.IntN(4) == 0 {
			session = 0
		}
		r := bufio.NewReader(nc)
		answer, err := exchange(nc, r, wire.ConnectRequest{TimeoutMs: 200, Session: session, Password: password}.Append(nil))
		if err == nil {
			resp, err := wire.ParseConnectResponse(answer)
			if err == nil {
				session, password = resp.Session, resp.Password
			}
		}
		for ; err == nil && n > 0 && rng.IntN(50) > 0; n-- {
			batch := 1 + rng.IntN(5)
			var stream []byte
			for range batch {
				stream = wire.AppendFrame(stream, s.bodies[rng.IntN(len(s.bodies))])
			}
			_ = nc.SetDeadline(time.Now().Add(wait))
			if _, err = nc.Write(stream); err != nil {
				break
			}
			for range batch {
				if _, err = wire.ReadFrame(r, wire.MaxFrame); err != nil {
					break
				}
				if s.answered.Add(1) == 200 {
					close(s.enough)
				}
			}
		}
		_ = nc.Close()
	}
}

func exchange(nc net.Conn, r *bufio.Reader, payload []byte) ([]byte, error) {
	_ = nc.SetDeadline(time.Now().Add(wait))
	if _, err := nc.Write(wire.AppendFrame(nil, payload)); err != nil {
		return nil, err
	}
	return wire.ReadFrame(r, wire.MaxFrame)
}

// meddler makes every fault there is and takes it back.
func (s *swarm) meddler(seed uint64, over <-chan struct{}) {
	rng := rand.New(rand.NewPCG(seed, 2))
	faults := []func(){
		func() { s.srv.Cut() },
		func() { s.srv.DropReply(AnyOp, 3) },
		func() { s.srv.DropRequest(OpSetData, 3) },
		func() { s.srv.DropReply(OpCreateSession, 1) },
		func() { s.srv.NewSession(2) },
		func() { s.srv.Steal(1) },
		func() { s.srv.Refuse(true) },
		func() { s.srv.From("127.0.0.1").Blackhole(true) },
		func() { s.srv.HalfHandshake(true) },
		func() { s.srv.ZxidAhead(true) },
		func() { s.srv.Freeze(ToClient) },
		func() { s.srv.Freeze(ToServer) },
		func() { s.srv.Stall(true) },
		func() { s.srv.ExpireAll() },
		func() { s.srv.Wipe() },
		func() { s.srv.At(OpMulti, func(Request) { s.srv.Cut() }) },
		func() { s.srv.AtReply(OpCreate, func(r Request) { _ = s.srv.Expire(r.Session) }) },
	}
	for {
		faults[rng.IntN(len(faults))]()
		pause := time.NewTimer(time.Duration(rng.IntN(5)) * time.Millisecond)
		select {
		case <-pause.C:
		case <-over:
		}
		pause.Stop()
		s.srv.Heal()
		s.srv.From("127.0.0.1").Heal()
		s.srv.Stall(false)
		select {
		case <-over:
			return
		default:
		}
	}
}

// operator looks at everything and lends a hand.
func (s *swarm) operator(over <-chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-over:
			return
		default:
		}
		path := fmt.Sprintf("/operator/%d", i%7)
		_ = s.srv.Create(path, []byte("data"))
		_, _, _ = s.srv.Get("/a")
		_ = s.srv.Delete("/operator")
		_ = s.srv.SetSequence("/a", int32(i))
		_, _, _, _ = s.srv.Children("/"), s.srv.Watches(), s.srv.Zxid(), s.srv.Sessions()
		_, _, _ = s.srv.Trace(50), s.srv.Count(AnyOp), s.srv.Requests()
		s.srv.ReapContainers()
		for _, word := range []string{"srvr", "stat", "cons", "mntr", "dump", "wchs", "wchp", "wchc"} {
			nc, err := net.Dial("tcp", s.srv.Addr())
			if err != nil {
				continue
			}
			_ = nc.SetDeadline(time.Now().Add(wait))
			_, _ = nc.Write([]byte(word))
			_, _ = bufio.NewReader(nc).ReadString(0)
			_ = nc.Close()
		}
	}
}

// run lets the clients loose, each for n requests, until they are done or, if
// there is something to do then, enough has been answered.
func (s *swarm) run(n int, faults bool, then func()) {
	over := make(chan struct{})
	var clients, others sync.WaitGroup
	for i := range 8 {
		clients.Go(func() { s.client(uint64(i), n, over) })
	}
	others.Go(func() { s.operator(over) })
	if faults {
		others.Go(func() { s.meddler(1, over) })
	}
	if then != nil {
		<-s.enough
		then()
	} else {
		clients.Wait()
	}
	close(over)
	clients.Wait()
	others.Wait()
}

func TestStress(t *testing.T) {
	t.Run("Everything", func(t *testing.T) {
		s := newSwarm(t)
		s.run(300, false, nil)
		require.Greater(t, s.answered.Load(), int64(1000))
		s.settled()
	})
	t.Run("EverythingWithFaults", func(t *testing.T) {
		s := newSwarm(t)
		s.run(150, true, nil)
		require.Positive(t, s.answered.Load())
		s.settled()
	})
	t.Run("CloseInTheMiddle", func(t *testing.T) {
		for _, faults := range []bool{false, true} {
			s := newSwarm(t)
			s.run(1<<30, faults, s.srv.Close)
			intact(t, s.srv)
			require.Empty(t, connected(s.srv))
		}
	})
}

// settled asserts that the server is sound, still serves, and holds nothing of
// those who have gone.
func (s *swarm) settled() {
	s.Helper()
	intact(s, s.srv)
	s.srv.ExpireAll()
	nc, err := net.Dial("tcp", s.srv.Addr())
	require.NoError(s, err)
	defer func() { _ = nc.Close() }()
	r := bufio.NewReader(nc)
	require.NoError(s, nc.SetDeadline(time.Now().Add(time.Minute)))
	_, err = nc.Write(framed(hello, request(5, OpExists, func(e *wire.Encoder) { e.String("/"); e.Bool(false) }), request(6, OpCloseSession, nil)))
	require.NoError(s, err)
	for _, size := range []int{36, wire.ReplyHeaderLen + 68, wire.ReplyHeaderLen} {
		payload, err := wire.ReadFrame(r, wire.MaxFrame)
		require.NoError(s, err)
		require.Len(s, payload, size)
	}
	s.srv.Close()
	intact(s, s.srv)
	require.Empty(s, connected(s.srv))
	require.Zero(s, s.srv.Watches())
	for _, info := range s.srv.Sessions() {
		require.False(s, info.Connected)
	}
}

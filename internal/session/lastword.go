package session

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/zkfence/zkfence/internal/wire"
)

// lastWord ends the session at the ensemble over connections of its own, when no
// connection was left to say goodbye on. Without it a session that we believe
// lost can outlive the fault: a server that has stalled finds our last requests
// in its sockets when it recovers and counts a full timeout from there, while
// nobody holds what its nodes say is held.
//
// A client that closes gives every server one try; a client that goes on tries
// for as long as the session can still be alive.
func (s *Session) lastWord(why Reason) bool {
	s.mu.Lock()
	id, timeout, password := s.id, s.timeout, s.password
	s.mu.Unlock()
	if id == 0 {
		return false
	}
	request := wire.AppendFrame(nil, wire.ConnectRequest{TimeoutMs: int32(timeout.Milliseconds()), Session: id, Password: password}.Append(nil))
	request = append(request, goodbye...)

	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.client.ctx), timeout)
	defer cancel()
	last := why == Closed
	for try := 1; ctx.Err() == nil; try++ {
		for range s.servers.Len() {
			if s.sayTo(ctx, s.servers.after(), request, timeout/6) {
				s.log.Debug("session ended at the ensemble", zap.Int("tries", try))
				return true
			}
		}
		if last {
			return false
		}
		pause(s.client.ctx, Jitter(timeout/16))
		last = s.client.ctx.Err() != nil
	}
	return false
}

// sayTo makes one connection and reports whether the session is known to be over.
func (s *Session) sayTo(ctx context.Context, server string, request []byte, limit time.Duration) bool {
	sock, err := s.openWithin(ctx, "tcp", server, limit)
	if err != nil {
		return false
	}
	c := &conn{sock: sock}
	stop := context.AfterFunc(ctx, c.cut)
	defer stop()
	defer c.cut()
	if err := sock.SetDeadline(time.Now().Add(limit)); err != nil {
		return false
	}
	if _, err := sock.Write(request); err != nil {
		return false
	}
	payload, err := wire.ReadFrame(sock, 4096)
	if err != nil {
		return false
	}
	resp, err := wire.ParseConnectResponse(payload)
	if err != nil {
		return false
	}
	if resp.Session == 0 {
		return true // the ensemble knows no such session any more
	}
	for {
		payload, err := wire.ReadFrame(sock, wire.MaxFrame)
		if err != nil {
			return false
		}
		if h, err := wire.ParseReplyHeader(payload); err != nil || h.Xid == closeXid {
			return err == nil
		}
	}
}

package zktest

import (
	"fmt"
	"strings"
)

// fourLetters answers the words that monitoring tools send in place of a
// handshake; false if this is none of them.
func (s *Server) fourLetters(c *conn, word string) bool {
	var answer string
	switch word {
	case "ruok":
		answer = "imok"
	case "srvr":
		answer = s.srvr()
	case "isro":
		answer = "rw"
	default:
		return false
	}
	if !c.tap.flows(BothWays) || !s.admitted(c) {
		return true
	}
	s.unlock()
	// A client that has gone away needs no answer.
	_, _ = c.nc.Write([]byte(answer))
	return true
}

func (s *Server) srvr() string {
	s.mu.Lock()
	defer s.unlock()
	var b strings.Builder
	b.WriteString("Zookeeper version: 3.8.0-zktest, built on 1970-01-01 00:00 UTC\n")
	b.WriteString("Latency min/avg/max: 0/0.0/0\n")
	fmt.Fprintf(&b, "Received: %d\nSent: %d\nConnections: %d\nOutstanding: 0\n", s.received, s.sent, len(s.conns))
	fmt.Fprintf(&b, "Zxid: %#x\nMode: standalone\nNode count: %d\n", uint64(s.zxid), len(s.tree.nodes)-1)
	return b.String()
}

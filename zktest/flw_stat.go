package zktest

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"time"
)

// version is what monitoring sees in place of a real server's.
const version = "3.8.0-zktest, built on 1970-01-01 00:00 UTC"

func (s *Server) srvr(b *strings.Builder) {
	fmt.Fprintf(b, "Zookeeper version: %s\n", version)
	s.figures(b)
}

// mode is what monitoring is told of the server's part in an ensemble.
func (s *Server) mode() string {
	switch {
	case s.member == nil:
		return "standalone"
	case s.member.lead != nil:
		return "leader"
	}
	return "follower"
}

func (s *Server) figures(b *strings.Builder) {
	b.WriteString("Latency min/avg/max: 0/0.0/0\n")
	fmt.Fprintf(b, "Received: %d\nSent: %d\nConnections: %d\nOutstanding: 0\n", s.received, s.sent, len(s.liveConns()))
	fmt.Fprintf(b, "Zxid: %#x\nMode: %s\nNode count: %d\n", uint64(s.zxid), s.mode(), len(s.tree.nodes))
	if s.member != nil && s.member.lead != nil {
		b.WriteString("Proposal sizes last/min/max: -1/-1/-1\n")
	}
}

// liveConns returns the connections that take requests.
func (s *Server) liveConns() []*conn {
	return slices.DeleteFunc(s.sortedConns(), func(c *conn) bool { return c.over })
}

func (s *Server) stat(asker *conn, b *strings.Builder) {
	fmt.Fprintf(b, "Zookeeper version: %s\nClients:\n", version)
	for _, c := range s.liveConns() {
		c.describe(b, c == asker, true)
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	s.figures(b)
}

func (s *Server) cons(asker *conn, b *strings.Builder) {
	for _, c := range s.liveConns() {
		c.describe(b, c == asker, false)
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
}

// describe writes a line about a connection, without its end.
func (c *conn) describe(b *strings.Builder, asks, brief bool) {
	interest := 1 // in what comes; whoever asks is not read from any more
	if asks {
		interest = 0
	}
	a := &c.account
	fmt.Fprintf(b, " /%s[%d](queued=0,recved=%d,sent=%d", c.nc.RemoteAddr(), interest, a.received, a.sent)
	if !brief && c.session != 0 {
		fmt.Fprintf(b, ",sid=%#x,lop=%s,est=%d,to=%d", uint64(c.session), a.op, a.since.UnixMilli(), c.timeout.Milliseconds())
		if a.xid >= 0 {
			fmt.Fprintf(b, ",lcxid=%#x", a.xid)
		}
		fmt.Fprintf(b, ",lzxid=%#x,lresp=%d,llat=0,minlat=0,avglat=0,maxlat=0", uint64(a.zxid), a.replied.Milliseconds())
	}
	b.WriteByte(')')
}

func (s *Server) conf(b *strings.Builder) {
	_, port, err := net.SplitHostPort(s.addr)
	if err != nil {
		port = "0"
	}
	fmt.Fprintf(b, "clientPort=%s\nsecureClientPort=-1\n", port)
	b.WriteString("dataDir=memory\ndataDirSize=0\ndataLogDir=memory\ndataLogSize=0\n")
	fmt.Fprintf(b, "tickTime=%d\nmaxClientCnxns=0\n", s.tick.Milliseconds())
	fmt.Fprintf(b, "minSessionTimeout=%d\nmaxSessionTimeout=%d\n", s.minTimeout.Milliseconds(), s.maxTimeout.Milliseconds())
	b.WriteString("clientPortListenBacklog=-1\nserverId=0\n")
}

// javaDate is how a Java program writes an instant.
func javaDate(t time.Time) string { return t.UTC().Format("Mon Jan 02 15:04:05 MST 2006") }

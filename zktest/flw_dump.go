package zktest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// dump lists the sessions by when they expire, the ephemerals by whose they are,
// and the connections.
func (s *Server) dump(asker *conn, b *strings.Builder) {
	sessions := map[time.Duration][]string{}
	for _, id := range slices.Sorted(maps.Keys(s.tracker)) {
		if t := s.tracker[id]; !t.pinned {
			sessions[t.due] = append(sessions[t.due], fmt.Sprintf("%#x", uint64(id)))
		}
	}
	b.WriteString("SessionTracker dump:\nSession ")
	s.queueOf(b, sessions)
	fmt.Fprintf(b, "ephemeral nodes dump:\nSessions with Ephemerals (%d):\n", len(s.tree.ephemerals))
	for _, id := range slices.Sorted(maps.Keys(s.tree.ephemerals)) {
		fmt.Fprintf(b, "%#x:\n", uint64(id))
		for _, path := range s.tree.ephemeralsOf(id) {
			fmt.Fprintf(b, "\t%s\n", path)
		}
	}
	conns := map[time.Duration][]string{}
	for _, c := range s.liveConns() {
		due := s.now() + c.timeout
		if t := s.tracker[c.session]; t != nil {
			due = t.due
		}
		due = (due/connInterval + 1) * connInterval
		conns[due] = append(conns[due], fmt.Sprintf("ip: /%s sessionId: %#x", c.nc.RemoteAddr(), uint64(c.session)))
	}
	b.WriteString("Connections dump:\nConnections ")
	s.queueOf(b, conns)
}

// connInterval is the unit in which ZooKeeper looks after connections.
const connInterval = 10 * time.Second

// queueOf writes what expires at which instant of the server's clock.
func (s *Server) queueOf(b *strings.Builder, due map[time.Duration][]string) {
	n := 0
	for _, lines := range due {
		n += len(lines)
	}
	fmt.Fprintf(b, "Sets (%d)/(%d):\n", len(due), n)
	for _, at := range slices.Sorted(maps.Keys(due)) {
		fmt.Fprintf(b, "%d expire at %s:\n", len(due[at]), javaDate(time.Now().Add(at-s.now())))
		for _, line := range due[at] {
			fmt.Fprintf(b, "\t%s\n", line)
		}
	}
}

// summary counts the watches of a table, as the word wchs does. ZooKeeper's
// words speak of the watches on data only.
func (w *watchTable) summary(b *strings.Builder) {
	fmt.Fprintf(b, "%d connections watching %d paths\nTotal watches:%d\n", len(w.byConn), len(w.paths()), w.count())
}

func (w *watchTable) listByPath(b *strings.Builder) {
	paths := w.paths()
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		fmt.Fprintf(b, "%s\n", path)
		for _, c := range sortConns(paths[path]) {
			fmt.Fprintf(b, "\t%#x\n", uint64(c.session))
		}
	}
	b.WriteByte('\n')
}

func (w *watchTable) listByConn(b *strings.Builder) {
	for _, c := range sortConns(slices.Collect(maps.Keys(w.byConn))) {
		fmt.Fprintf(b, "%#x\n", uint64(c.session))
		for _, path := range sortedKeys(w.byConn[c]) {
			fmt.Fprintf(b, "\t%s\n", path)
		}
	}
	b.WriteByte('\n')
}

// paths returns whose watches there are on which path.
func (w *watchTable) paths() map[string][]*conn {
	out := map[string][]*conn{}
	for c, paths := range w.byConn {
		for path := range paths {
			out[path] = append(out[path], c)
		}
	}
	return out
}

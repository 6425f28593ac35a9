//go:build linux

package story_test

import (
	"bufio"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/integration/ensemble"
	"github.com/zkfence/zkfence/zktest"
)

// counters are numbers that servers give of themselves, by their names in mntr
// without the zk_.
type counters map[string]int

const (
	watches    = "watch_count"
	ephemerals = "ephemerals_count"
	znodes     = "znode_count"
	received   = "packets_received"

	// Events sent, since the server's start.
	deletedEvents  = "sum_node_deleted_watch_count"
	createdEvents  = "sum_node_created_watch_count"
	changedEvents  = "sum_node_changed_watch_count"
	childrenEvents = "sum_node_children_watch_count"
)

// counted asks one server, which counts the question as a packet.
func (s *story) counted(server *ensemble.Server) counters {
	s.t.Helper()
	answer, err := server.Ask(s.t.Context(), "mntr")
	require.NoError(s.t, err)
	c := counters{}
	for lines := bufio.NewScanner(strings.NewReader(answer)); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), "\t")
		if n, err := strconv.Atoi(value); err == nil {
			c[strings.TrimPrefix(name, "zk_")] = n
		}
	}
	for _, name := range []string{watches, ephemerals, znodes, received, deletedEvents, createdEvents, changedEvents, childrenEvents} {
		require.Contains(s.t, c, name, "%v", server) // or it would be 0 for ever
	}
	return c
}

// atServers adds up what all servers say.
func (s *story) atServers() counters {
	s.t.Helper()
	sum := counters{}
	for _, server := range s.ens.Servers() {
		for name, n := range s.counted(server) {
			sum[name] += n
		}
	}
	return sum
}

// settles waits until every server shows what is wanted: each applies in its own
// time what is committed, or reaps.
func (s *story) settles(what string, wanted func(counters) bool) {
	s.t.Helper()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.Now().Add(patience)
	for _, server := range s.ens.Servers() {
		for c := s.counted(server); !wanted(c); c = s.counted(server) {
			require.Less(s.t, time.Now(), deadline, "%v: %s: %v", server, what, c)
			<-ticker.C
		}
	}
}

// sums are requests by their kind, as proxies in front of the servers have seen
// them; AnyOp are all but pings and handshakes.
type sums map[zktest.Op]int

var ops = [...]zktest.Op{
	zktest.AnyOp, zktest.OpCreate, zktest.OpGetData, zktest.OpGetChildren2, zktest.OpMulti, zktest.OpDelete,
	zktest.OpPing, zktest.OpCreateSession,
}

// sums counts what has come by a route.
func (s *story) sums(r *ensemble.Route) sums {
	n := sums{}
	for _, op := range ops {
		n[op] = count(s, r, op)
	}
	return n
}

// since returns how much has been added to each number.
func since[K comparable](before, now map[K]int) map[K]int {
	added := make(map[K]int, len(now))
	for k, n := range now {
		added[k] = n - before[k]
	}
	return added
}

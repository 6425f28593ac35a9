package zktest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/wire"
)

// A leader that commits several at once carries them out one by one, and the
// first can have it propose, and commit, more: a client that has sent its
// handshake and a write in one flight. What came behind was carried out twice.
func TestEnsembleCommitsWithinACommit(t *testing.T) {
	kept := 0
	for i := range 8 {
		t.Run(fmt.Sprint("phase ", i), func(t *testing.T) {
			inQuorum(t, func(q *quorum) {
				l := q.srv[2]
				b := q.raw(l, "B", long)
				time.Sleep(10*quorumTick + time.Duration(i)*quorumTick/8)
				q.ens.Kill(q.srv[0])
				q.ens.Kill(q.srv[1])
				a := q.dial(l, "A")
				a.write(wire.ConnectRequest{TimeoutMs: 10_000}.Append(nil))
				a.send(wire.OpCreate, create("/a", "", 0, open...))
				time.Sleep(10 * time.Millisecond)
				b.send(wire.OpCreate, create("/b", "", 0, open...))
				time.Sleep(10 * time.Millisecond)
				q.ens.Restart(q.srv[1])
				q.leader()
				q.settle()
				if q.ens.Leader() == l && epochOf(l.Zxid()) == 1 {
					kept++
					for _, s := range q.srv[1:] {
						require.Equal(q, []string{"a", "b", "zookeeper"}, s.Children("/"))
						require.EqualValues(q, 1<<32|4, s.Zxid())
					}
				}
			})
		})
	}
	require.NotZero(t, kept, "the leader stayed the leader")
}

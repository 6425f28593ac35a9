package zklock_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/stage"
	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
)

// reader is a client of the old kind that has had a session on one server since
// before the fault: it sees what a recovery by its means would see.
func (q quorum) reader(on *zktest.Server) *zk.Conn {
	q.T.Helper()
	conn, events, err := zk.Connect([]string{on.Addr()}, 2*stage.QuorumTimeout, zk.WithDialer(q.Dialer("reader")), zk.WithLogInfo(false), zk.WithLogger(log.New(io.Discard, "", 0)))
	require.NoError(q.T, err)
	q.Cleanup(func() {
		conn.Close()
		for range events {
		}
	})
	_, _, err = conn.Exists("/")
	require.NoError(q.T, err)
	return conn
}

// seen is what a reader finds of one client's nodes at the moment when that
// client looks for them.
type seen struct {
	mu    sync.Mutex
	lists [][]string
}

// lookAlong has conn list the lock's directory whenever host asks on is for
// anything after a reconnect, before it is answered.
func (q quorum) lookAlong(is *zktest.Server, host string, list func() []string) *seen {
	s := &seen{}
	stop := is.From(host).OnRequest(func(r zktest.Request) {
		if r.Op != zktest.OpGetChildren2 && r.Op != zktest.OpMulti {
			return
		}
		names := list()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lists = append(s.lists, names)
	})
	q.Cleanup(stop)
	return s
}

func (s *seen) first(t *testing.T) []string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	require.NotEmpty(t, s.lists, "the client did not look there at all")
	return s.lists[0]
}

// seeds are of scenes in which a recovery by other means goes wrong.
const seeds = 28

// A create was committed, its answer lost, and the server that the client comes
// to next does not know of it yet: a list there shows nothing, and whoever believes
// it creates a second node, and waits behind the first for ever.
func TestALostCreateIsFoundFromAServerThatLags(t *testing.T) {
	for seed := range uint64(seeds / 2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			withQuorum(t, seed, func(t *testing.T, q quorum) {
				rng := rand.New(rand.NewPCG(seed, 1))
				leader := q.Leader()
				others := q.Except(leader)
				quick, slow := others[0], others[1]
				a := q.mutex(q.Dial("a", quick, slow))
				q.prepare()
				reader := q.reader(slow)

				// Within what a proof may take; beyond it the client would go elsewhere.
				q.Ensemble.Lag(slow, stage.QuorumTimeout/20+time.Duration(rng.Int64N(int64(stage.QuorumTimeout/8))))
				view := q.lookAlong(slow, "a", func() []string {
					names, _, err := reader.Children(q.Path)
					require.NoError(t, err)
					return names
				})
				quick.From("a").At(zktest.OpCreate, func(zktest.Request) { quick.From("a").Refuse(true) })
				quick.From("a").DropReply(zktest.OpCreate, 1)
				q.recovers(a, func() { require.Empty(t, view.first(t), "a list shows it: nothing could have gone wrong here") })
			})
		})
	}
}

// The same where a Sync is no help: the server that the client comes to is a
// leader that has been deposed and does not know so.
func TestALostCreateIsFoundFromALeaderThatWasDeposed(t *testing.T) {
	for seed := range uint64(seeds / 2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			withQuorum(t, seed, func(t *testing.T, q quorum) {
				rng := rand.New(rand.NewPCG(seed, 2))
				old := q.Leader()
				others := q.Except(old)
				on := others[rng.IntN(2)]
				a := q.Dial("a", on, old)
				q.prepare()
				reader := q.reader(old)

				old.From("a").Refuse(true) // until there is something to find
				on.ResetCounts()
				require.Same(t, old, q.Ensemble.Depose())
				q.Leader()
				// Back, without an answer yet that shows the new epoch: the old leader
				// would refuse a client that has seen it.
				q.Eventually(func() bool { return on.From("a").Count(zktest.OpCreateSession) > 0 }, "the client's return")
				time.Sleep(time.Duration(rng.Int64N(int64(stage.QuorumTimeout / 6))))
				require.Zero(t, on.From("a").Count(zktest.OpPing))
				view := q.lookAlong(old, "a", func() []string {
					_, err := reader.Sync(q.Path)
					require.NoError(t, err)
					names, _, err := reader.Children(q.Path)
					require.NoError(t, err)
					return names
				})
				on.From("a").At(zktest.OpCreate, func(zktest.Request) {
					on.From("a").Refuse(true)
					old.From("a").Refuse(false)
				})
				on.From("a").DropReply(zktest.OpCreate, 1)
				// It lets the client in, and hangs at the proof: so the client goes on.
				stop := old.From("a").At(zktest.OpMulti, func(zktest.Request) { on.From("a").Refuse(false) })
				q.Cleanup(stop)
				q.recovers(q.mutex(a), func() {
					require.Empty(t, view.first(t), "a Sync and a list show it: nothing could have gone wrong here")
				})
			})
		})
	}
}

// prepare makes the lock's directory, so that the create under test is the first
// one sent.
func (q quorum) prepare() {
	q.T.Helper()
	h, err := q.mutex(q.Dial("operator", q.Leader())).Lock(q.Ctx)
	require.NoError(q.T, err)
	require.NoError(q.T, h.Unlock(q.Ctx))
	q.Eventually(func() bool {
		same := true
		for _, s := range q.Servers {
			same = same && s.Zxid() == q.Newest()
		}
		return same
	}, "servers that know the same")
}

// recovers locks, whatever becomes of the create's answer, and looks whether one
// node came of it and none is left.
func (q quorum) recovers(m *zklock.Mutex, wrong func()) {
	t := q.T
	t.Helper()
	ctx, cancel := context.WithTimeout(q.Ctx, 3*stage.QuorumTimeout)
	defer cancel()
	h, err := m.Lock(ctx)
	require.NoError(t, err)
	wrong()
	names := q.Leader().Children(q.Path)
	require.Len(t, names, 1)
	require.True(t, strings.HasSuffix(h.Internal().Node, names[0]))
	_, st, err := q.Leader().Get(h.Internal().Node)
	require.NoError(t, err)
	require.Equal(t, uint64(st.Czxid), h.Token().Uint64())
	require.Equal(t, h.Internal().Session.ID(), st.EphemeralOwner)
	require.NoError(t, h.Unlock(q.Ctx))
	require.Empty(t, q.Leader().Children(q.Path))
}

//go:build linux

package story_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/integration/history"
	"github.com/zkfence/zkfence/integration/neighbour"
	"github.com/zkfence/zkfence/integration/worker"
	"github.com/zkfence/zkfence/zkconn"
)

// neighbours is a story in which other libraries want the lock too.
type neighbours struct {
	*story
	reader *zk.Conn
	theirs []*neighbour.Process
}

func newNeighbours(t *testing.T, timeout time.Duration) *neighbours {
	t.Helper()
	if err := neighbour.Missing(); err != nil {
		if os.Getenv("ZKFENCE_CLIENTS") != "" {
			t.Fatal(err)
		}
		t.Skipf("SKIPPED: %v", err)
	}
	s := newStory(t, shared.Three(t), timeout, true)
	return &neighbours{story: s, reader: s.operator()}
}

// moveIn starts a contender of another library.
func (n *neighbours) moveIn(name string, recipe neighbour.Recipe) *neighbour.Process {
	n.t.Helper()
	p := neighbour.Start(n.t, neighbour.Config{
		Name: name, Recipe: recipe, Servers: n.ens.Addrs(), Timeout: n.timeout, Path: n.path, Operator: n.reader,
	}, n.log)
	n.theirs = append(n.theirs, p)
	return p
}

// ready waits until they are.
func (n *neighbours) ready() {
	n.t.Helper()
	for _, p := range n.theirs {
		require.NoError(n.t, p.Ready(n.within()))
	}
}

// moveOut ends those who still live.
func (n *neighbours) moveOut() {
	n.t.Helper()
	for _, p := range n.theirs {
		require.NoError(n.t, p.Close())
	}
	n.theirs = nil
}

// contender is one of ours or one of theirs.
type contender struct {
	join   func() (granted func()) // returns as soon as it stands in line
	unlock func()
}

func (n *neighbours) ours(p *worker.Process) contender {
	return contender{
		join: func() func() {
			n.t.Helper()
			from := n.log.Len()
			w := n.begin(p, worker.Lock)
			n.await(from, p.Name(), history.Enrolled)
			return func() {
				n.t.Helper()
				_, err := w.Wait(n.within())
				require.NoError(n.t, err)
			}
		},
		unlock: func() { n.t.Helper(); n.must(p, worker.Unlock) },
	}
}

func (n *neighbours) their(p *neighbour.Process) contender {
	return contender{
		join: func() func() {
			n.t.Helper()
			w, err := p.Begin(n.within())
			require.NoError(n.t, err)
			_, err = w.Enrolled(n.within())
			require.NoError(n.t, err)
			return func() { n.t.Helper(); require.NoError(n.t, w.Wait()) }
		},
		unlock: func() { n.t.Helper(); require.NoError(n.t, p.Unlock(n.within())) },
	}
}

// relay has each of them wait for the one before.
func (n *neighbours) relay(line ...contender) {
	n.t.Helper()
	line[0].join()()
	for i, next := range line[1:] {
		granted := next.join()
		line[i].unlock()
		granted()
	}
	line[len(line)-1].unlock()
}

// rules are those that the story has broken, once everybody has left.
func (n *neighbours) rules() (broken []history.Rule) {
	n.t.Helper()
	n.moveOut()
	for _, v := range n.end() {
		broken = append(broken, v.Rule)
	}
	return broken
}

// dial is a client in the test's own process.
func (n *neighbours) dial() *zkconn.Client {
	n.t.Helper()
	client, err := zkconn.Dial(n.within(), n.ens.Addrs(), zkconn.WithSessionTimeout(n.timeout), zkconn.WithServerTick(n.ens.Tick()))
	require.NoError(n.t, err)
	n.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(n.t.Context()), patience) // which ends before this runs
		defer cancel()
		require.NoError(n.t, client.Close(ctx))
	})
	return client
}

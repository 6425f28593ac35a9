//go:build linux

package story_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
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
	join   func() (granted func()) // returns once it waits for another, or holds
	unlock func()
}

func (n *neighbours) ours(p *worker.Process) contender {
	return contender{
		join: func() func() {
			n.t.Helper()
			from := n.log.Len()
			w := n.begin(p, worker.Lock)
			n.settled(from, p.Name())
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
			from := n.log.Len()
			w, err := p.Begin(n.within())
			require.NoError(n.t, err)
			_, err = w.Enrolled(n.within())
			require.NoError(n.t, err)
			n.settled(from, p.Name)
			return func() { n.t.Helper(); require.NoError(n.t, w.Wait()) }
		},
		unlock: func() { n.t.Helper(); require.NoError(n.t, p.Unlock(n.within())) },
	}
}

// settled waits until one who has got in line has looked who is there, and has
// either come in or watches another's node. Who unlocks before that gives it no
// occasion to come in beside.
func (n *neighbours) settled(from int, name string) {
	n.t.Helper()
	node := n.await(from, name, history.Enrolled).Node
	ctx := n.within()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		if slices.ContainsFunc(n.log.Events()[from:], func(e history.Event) bool {
			return e.Kind == history.Granted && e.Worker == name
		}) {
			return
		}
		_, stat, err := n.reader.Exists(n.path + "/" + node)
		require.NoError(n.t, err)
		for _, server := range n.ens.Servers() {
			watched, err := server.Ask(ctx, "wchp") // a path a line, and below it who watches
			require.NoError(n.t, err)
			if others(watched, n.path, node, fmt.Sprintf("0x%x", stat.EphemeralOwner)) {
				return
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			require.NoError(n.t, context.Cause(ctx), "%s neither waits nor holds", name)
		}
	}
}

// others reports whether a session watches a node on path other than its own.
func others(watched, path, own, session string) bool {
	at := ""
	for line := range strings.Lines(watched) {
		if node, is := strings.CutPrefix(line, path+"/"); is {
			at = strings.TrimSpace(node)
			continue
		}
		if !strings.HasPrefix(line, "\t") {
			at = ""
		}
		if at != "" && at != own && strings.TrimSpace(line) == session {
			return true
		}
	}
	return false
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

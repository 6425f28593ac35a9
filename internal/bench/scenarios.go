package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
)

// dir is where the scenarios work; each has a child of its own.
const dir = "/zkfence-bench"

// scenario is one way to spend requests. run does n cycles on what prepare made.
type scenario struct {
	name    string
	prepare func(ctx context.Context, b *bed) (run func(n int) error, err error)
}

// bed is what scenarios run on: one server, a bare zk.Conn and up to ten Clients.
type bed struct {
	servers []string
	raw     *zk.Conn
	clients []*zkconn.Client
}

const maxClients = 10

func newBed(ctx context.Context, servers []string) (*bed, error) {
	conn, _, err := zk.Connect(servers, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		return nil, err
	}
	b := &bed{servers: servers, raw: conn}
	for range maxClients {
		c, err := zkconn.Dial(ctx, servers, zkconn.WithSessionTimeout(10*time.Second), zkconn.WithServerTick(200*time.Millisecond))
		if err != nil {
			b.close(ctx)
			return nil, err
		}
		b.clients = append(b.clients, c)
	}
	if _, err := conn.Create(dir, nil, 0, zk.WorldACL(zk.PermAll)); err != nil && !errors.Is(err, zk.ErrNodeExists) {
		b.close(ctx)
		return nil, err
	}
	return b, nil
}

func (b *bed) close(ctx context.Context) {
	b.raw.Close()
	for _, c := range b.clients {
		_ = c.Close(ctx) // the figures are taken; a session left over ends by itself
	}
}

func (b *bed) make(path string) error {
	_, err := b.raw.Create(path, nil, 0, zk.WorldACL(zk.PermAll))
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err
}

var scenarios = []scenario{
	{"raw create+delete", rawCreateDelete},
	{baseline, rawCreateListDelete},
	{"go-zookeeper Lock", theirs},
	{ours, contended(1)},
	{"ours, 2 contenders", contended(2)},
	{"ours, 10 contenders", contended(10)},
	{"ours, 100 contenders", contended(100)},
	{"ours, 1000 contenders", contended(1000)},
}

const (
	baseline = "raw create+list+delete" // what every queue of znodes must ask for
	ours     = "ours, uncontended"
)

func rawCreateDelete(_ context.Context, b *bed) (func(int) error, error) {
	path := dir + "/raw"
	return func(n int) error {
		for range n {
			node, err := b.raw.Create(path+"/n-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
			if err != nil {
				return err
			}
			if err := b.raw.Delete(node, -1); err != nil {
				return err
			}
		}
		return nil
	}, b.make(path)
}

func rawCreateListDelete(_ context.Context, b *bed) (func(int) error, error) {
	path := dir + "/raw-list"
	return func(n int) error {
		for range n {
			node, err := b.raw.Create(path+"/n-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
			if err != nil {
				return err
			}
			if _, _, err := b.raw.Children(path); err != nil {
				return err
			}
			if err := b.raw.Delete(node, -1); err != nil {
				return err
			}
		}
		return nil
	}, b.make(path)
}

func theirs(_ context.Context, b *bed) (func(int) error, error) {
	path := dir + "/theirs"
	return func(n int) error {
		l := zk.NewLock(b.raw, path, zk.WorldACL(zk.PermAll))
		for range n {
			if err := l.Lock(); err != nil {
				return err
			}
			if err := l.Unlock(); err != nil {
				return err
			}
		}
		return nil
	}, b.make(path)
}

// contended has k goroutines, spread over the Clients, take one lock in turn
// until it has changed hands n times.
func contended(k int) func(context.Context, *bed) (func(int) error, error) {
	return func(ctx context.Context, b *bed) (func(int) error, error) {
		path := fmt.Sprintf("%s/ours-%d", dir, k)
		var mutexes []*zklock.Mutex
		for _, c := range b.clients[:min(k, maxClients)] {
			m, err := zklock.New(c, path)
			if err != nil {
				return nil, err
			}
			mutexes = append(mutexes, m)
		}
		return func(n int) error {
			var left atomic.Int64
			left.Store(int64(n))
			ctx, cancel := context.WithCancelCause(ctx)
			defer cancel(nil)
			var wg sync.WaitGroup
			for i := range k {
				m := mutexes[i%len(mutexes)]
				wg.Go(func() {
					for left.Add(-1) >= 0 {
						h, err := m.Lock(ctx)
						if err == nil {
							err = h.Unlock(ctx)
						}
						if err != nil {
							cancel(err)
							return
						}
					}
				})
			}
			wg.Wait()
			return context.Cause(ctx)
		}, b.make(path)
	}
}

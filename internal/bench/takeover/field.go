package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkfence/zkfence/election"
	"github.com/zkfence/zkfence/internal/bench/internal/figures"
	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
)

const (
	dir        = "/zkfence-bench-takeover"
	candidates = 3

	// pace is how far apart everything measured is: longer than all observers need to
	// be up to date, because what follows at once finds every processor awake and
	// warm, and what waits for observers does not.
	pace = 40 * time.Millisecond
)

// field is three candidates, who lead in turn.
type field struct {
	servers []string
	raw     *zk.Conn
	clients []*zkconn.Client
	line    []*candidate // the leader first
	term    *election.Term
}

type candidate struct {
	e     *election.Election
	queue chan struct{} // it waits behind somebody
	won   chan victory
}

type victory struct {
	term *election.Term
	at   time.Time
	err  error
}

func newField(ctx context.Context, servers []string) (_ *field, err error) {
	conn, _, err := zk.Connect(servers, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		return nil, err
	}
	f := &field{servers: servers, raw: conn}
	defer func() {
		if err != nil {
			_ = f.close(ctx) // err says more
		}
	}()
	for i := range candidates {
		client, err := dial(ctx, servers)
		if err != nil {
			return nil, err
		}
		f.clients = append(f.clients, client)
		c := &candidate{queue: make(chan struct{}, 1), won: make(chan victory, 1)}
		if c.e, err = election.New(client, dir, fmt.Sprint("candidate ", i), zklock.WithTrace(&zklock.Trace{
			Waiting: func(zklock.Attempt, string, int) {
				select {
				case c.queue <- struct{}{}:
				default: // behind another one now
				}
			},
		})); err != nil {
			return nil, err
		}
		f.line = append(f.line, c)
	}
	if f.term, err = f.line[0].e.Campaign(ctx); err != nil {
		return nil, err
	}
	for _, c := range f.line[1:] {
		if err := c.stand(ctx); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func dial(ctx context.Context, servers []string) (*zkconn.Client, error) {
	return zkconn.Dial(ctx, servers, zkconn.WithSessionTimeout(10*time.Second), zkconn.WithServerTick(200*time.Millisecond))
}

// close leaves nothing behind.
func (f *field) close(ctx context.Context) error {
	for _, c := range f.clients {
		_ = c.Close(ctx) // the figures are taken; a session left over ends by itself
	}
	err := f.raw.Delete(dir, -1)
	f.raw.Close()
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}

// stand campaigns on a goroutine, which ends with the victory, and returns once it
// waits in the line.
func (c *candidate) stand(ctx context.Context) error {
	go func() {
		term, err := c.e.Campaign(ctx)
		c.won <- victory{term, time.Now(), err}
	}()
	select {
	case <-c.queue:
		return nil
	case v := <-c.won:
		return fmt.Errorf("led ahead of its turn: %w", v.err)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// write is the median time of a bare write: what a quorum has to commit.
func (f *field) write(ctx context.Context, n int) (time.Duration, error) {
	took := make([]float64, 0, n)
	for range n {
		if err := idle(ctx); err != nil {
			return 0, err
		}
		begin := time.Now()
		node, err := f.raw.Create(dir+"/raw-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
		took = append(took, float64(time.Since(begin)))
		if err == nil {
			err = f.raw.Delete(node, -1)
		}
		if err != nil {
			return 0, err
		}
	}
	return time.Duration(figures.Median(took)), nil
}

func idle(ctx context.Context) error {
	select {
	case <-time.After(pace):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// takeOver is the median time from the leader's Resign to the next one's victory.
func (f *field) takeOver(ctx context.Context, n int) (time.Duration, error) {
	return f.takeOvers(ctx, n, func(*election.Term) error { return nil })
}

func (f *field) takeOvers(ctx context.Context, n int, seen func(*election.Term) error) (time.Duration, error) {
	took := make([]float64, 0, n)
	for range n {
		if err := idle(ctx); err != nil {
			return 0, err
		}
		old := f.line[0]
		begin := time.Now()
		err := f.term.Resign(ctx)
		v := <-f.line[1].won
		if err := errors.Join(err, v.err); err != nil {
			return 0, err
		}
		took = append(took, float64(v.at.Sub(begin)))
		f.term = v.term
		f.line = append(f.line[1:], old)
		if err := seen(f.term); err != nil {
			return 0, err
		}
		if err := old.stand(ctx); err != nil {
			return 0, err
		}
	}
	return time.Duration(figures.Median(took)), nil
}

// takeOverObserved is takeOver with the observers looking on: all of them have seen
// a leader before the next one takes over.
func (f *field) takeOverObserved(ctx context.Context, n int) (time.Duration, error) {
	o, err := spawn(ctx, f.servers)
	if err != nil {
		return 0, err
	}
	err = o.await(f.term)
	var took time.Duration
	if err == nil {
		took, err = f.takeOvers(ctx, n, o.await)
	}
	return took, errors.Join(err, o.stop())
}

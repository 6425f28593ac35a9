package znodefence_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/fencetest"
	"github.com/zkfence/zkfence/fencing/znodefence"
	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zktest"
)

// store is a path on some servers.
type store struct {
	servers []string
	root    string
	faults  *zktest.Faults
}

// restarting is an ensemble of one, which keeps its log.
type restarting struct {
	store
	ensemble *zktest.Ensemble
}

func (s restarting) Restart(ctx context.Context) error {
	server := s.ensemble.Servers()[0]
	s.ensemble.Kill(server)
	s.ensemble.Restart(server)
	_, err := s.ensemble.AwaitLeader(ctx)
	return err
}

func (s store) Open(ctx context.Context) (fencetest.Guard, error) {
	c, err := zkconn.Dial(ctx, s.servers, zkconn.WithSessionTimeout(10*time.Second))
	if err != nil {
		return nil, err
	}
	g, err := znodefence.New(c, s.root+"/guards/reports")
	return &guard{c, g, s}, err
}

type guard struct {
	client *zkconn.Client
	*znodefence.Guard
	store
}

func (g *guard) LoseNextAnswer() { g.faults.DropReply(zktest.OpMulti, 1) }

func (g *guard) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return g.client.Close(ctx)
}

func (g *guard) Do(ctx context.Context, c fencetest.Command) (string, error) {
	return "", g.Guard.Do(ctx, znodefence.Command{Resource: c.Resource, Stamp: c.Stamp}, func(ctx context.Context, tx *znodefence.Tx) error {
		path := g.data(c.Resource)
		text, read, err := tx.Get(ctx, path)
		missing := errors.Is(err, zk.ErrNoNode)
		if err != nil && !missing {
			return err
		}
		var entries []string
		if !missing {
			if err := json.Unmarshal(text, &entries); err != nil {
				return err
			}
		}
		fencetest.Pause(ctx)
		if text, err = json.Marshal(append(entries, c.Entry)); err != nil {
			return err
		}
		if missing {
			tx.Create(path, text, nil)
		} else {
			tx.Set(path, text, read)
		}
		fencetest.Pause(ctx)
		if c.Fail {
			return fencetest.ErrCommand
		}
		return nil
	})
}

// data is where a resource's entries are.
func (g *guard) data(resource string) string { return fmt.Sprintf("%s/%x", g.root, resource) }

func (g *guard) Read(ctx context.Context, resource string) ([]string, fencing.Stamp, error) {
	last, err := g.Last(ctx, resource)
	if err != nil {
		return nil, last, err
	}
	s, err := g.client.Session(ctx)
	if err != nil {
		return nil, last, err
	}
	text, err := zkconn.Call(ctx, s, func(c *zk.Conn) ([]byte, error) {
		text, _, err := c.Get(g.data(resource))
		return text, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil, last, nil
	}
	if err != nil {
		return nil, last, err
	}
	var entries []string
	err = json.Unmarshal(text, &entries)
	return entries, last, err
}

func TestAGuardKeepsTheRule(t *testing.T) {
	fencetest.Run(t, fencetest.Subject{LosesAnswers: true, New: func(t fencetest.TB) fencetest.Store {
		e, err := zktest.StartEnsemble(1)
		require.NoError(t, err)
		t.Cleanup(e.Close)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err = e.AwaitLeader(ctx)
		require.NoError(t, err)
		return restarting{store{e.Addrs(), "", e.Servers()[0].Faults}, e}
	}})
}

func TestAGuardKeepsTheRuleOnARealServer(t *testing.T) {
	server := os.Getenv("ZKFENCE_ZK")
	if server == "" {
		t.Skip("SKIPPED: not run against a real server; set ZKFENCE_ZK=host:port to do so")
	}
	root := "/zkfence-test/" + rand.Text()
	fencetest.Run(t, fencetest.Subject{LosesAnswers: true, New: func(t fencetest.TB) fencetest.Store {
		p := zktest.NewProxy(t.(*testing.T), server)
		return store{[]string{p.Addr()}, root, p.Faults}
	}})
}

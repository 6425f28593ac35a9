package stage

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
)

// Operator does by hand what no client of ours would, past every fault.
type Operator interface {
	Children(path string) []string
	Exists(path string) bool
	Create(path string, data []byte) error
	Delete(path string) error // recursively
}

// hand is an operator at a server that is reached over TCP alone, on a connection
// of its own.
type hand struct {
	t    *testing.T
	conn *zk.Conn
}

type silent struct{}

func (silent) Printf(string, ...any) {}

// NewOperator connects to the server at that address until the test ends.
func NewOperator(t *testing.T, server string) Operator {
	conn, events, err := zk.Connect([]string{server}, 10*time.Second, zk.WithLogInfo(false), zk.WithLogger(silent{}))
	require.NoError(t, err)
	t.Cleanup(func() {
		conn.Close()
		for range events {
		}
	})
	return &hand{t, conn}
}

func (h *hand) Children(path string) []string {
	names, _, err := h.conn.Children(path)
	if !errors.Is(err, zk.ErrNoNode) {
		require.NoError(h.t, err)
	}
	return names
}

func (h *hand) Exists(path string) bool {
	ok, _, err := h.conn.Exists(path)
	require.NoError(h.t, err)
	return ok
}

func (h *hand) Create(path string, data []byte) error {
	for i := 1; i < len(path); i++ {
		if path[i] == '/' {
			if _, err := h.conn.Create(path[:i], nil, 0, zk.WorldACL(zk.PermAll)); err != nil && !errors.Is(err, zk.ErrNodeExists) {
				return err
			}
		}
	}
	_, err := h.conn.Create(path, data, 0, zk.WorldACL(zk.PermAll))
	return err
}

func (h *hand) Delete(path string) error {
	for _, name := range h.Children(path) {
		if err := h.Delete(strings.TrimSuffix(path, "/") + "/" + name); err != nil && !errors.Is(err, zk.ErrNoNode) {
			return err
		}
	}
	return h.conn.Delete(path, -1)
}

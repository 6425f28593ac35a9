package znodefence

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/zkconn"
)

// memory is one resource's znode. Its data is JSON.
type memory struct {
	Resource string        `json:"resource"`
	Last     fencing.Stamp `json:"last"`

	path     string
	missing  bool  // nobody has come to this resource
	version  int32 // as it was read
	override *fencing.Override
}

var (
	// errMoved: somebody else has changed the memory since it was read.
	errMoved   = errors.New("znodefence: the memory has moved")
	errForeign = errors.New("znodefence: the memory is no guard's")
)

func (m memory) with(last fencing.Stamp) memory {
	m.Last = last
	return m
}

func (m memory) encode() []byte {
	text, err := json.Marshal(m)
	if err != nil {
		panic(err) // strings and Stamps have a text always
	}
	return text
}

// path is the znode of a resource's memory: a name with all but letters, digits, "-"
// and "_" as %XX, for "." and "/" mean something to ZooKeeper.
func (g *Guard) path(resource string) string {
	var name strings.Builder
	for _, b := range []byte(resource) {
		switch {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9', b == '-', b == '_':
			name.WriteByte(b)
		default:
			fmt.Fprintf(&name, "%%%02X", b)
		}
	}
	return g.dir + "/" + name.String()
}

func (g *Guard) read(ctx context.Context, s *zkconn.Session, resource string) (memory, error) {
	m := memory{Resource: resource, path: g.path(resource)}
	n, err := get(ctx, s, m.path)
	if errors.Is(err, zk.ErrNoNode) {
		m.missing = true
		return m, nil
	}
	if err != nil {
		return m, err
	}
	// What lacks a field must not read as the memory of a resource that nobody has come to.
	var have struct {
		Resource *string
		Last     *fencing.Stamp
	}
	err = json.Unmarshal(n.data, &have)
	if err == nil && (have.Resource == nil || have.Last == nil) {
		err = errors.New("want resource and last")
	}
	if err != nil {
		return m, fmt.Errorf("%w: %s has %.80q (%w)", errForeign, m.path, n.data, err)
	}
	if *have.Resource != resource {
		return m, fmt.Errorf("%w: %s has %.80q, of resource %.80q, want %q", errForeign, m.path, n.data, *have.Resource, resource)
	}
	m.Last, m.version = *have.Last, n.stat.Version
	return m, nil
}

// set returns errMoved if somebody else was quicker. What is lost may have been applied.
func (g *Guard) set(ctx context.Context, s *zkconn.Session, m memory) (_ memory, lost bool, err error) {
	ops := []any{&zk.SetDataRequest{Path: m.path, Data: m.encode(), Version: m.version}}
	if m.missing {
		if err := g.parents(ctx, s); err != nil {
			return m, false, err
		}
		ops = []any{&zk.CreateRequest{Path: m.path, Data: m.encode(), Acl: g.acl}}
	}
	if o := m.override; o != nil {
		text, err := json.Marshal(o)
		if err != nil {
			return m, false, err
		}
		ops = append(ops, &zk.CreateRequest{Path: m.path + "/" + overridePrefix, Data: text, Acl: g.acl, Flags: zk.FlagSequence})
	}
	_, lost, err = multi(ctx, s, ops)
	switch {
	case lost:
		return m, true, err
	case errors.Is(err, zk.ErrBadVersion), errors.Is(err, zk.ErrNodeExists), errors.Is(err, zk.ErrNoNode):
		return m, false, errMoved
	case err != nil:
		return m, false, err
	case m.missing:
		m.missing = false
		m.version = 0
	default:
		m.version++
	}
	m.override = nil
	return m, false, nil
}

// parents makes the path above the memories.
func (g *Guard) parents(ctx context.Context, s *zkconn.Session) error {
	for i := 1; i <= len(g.dir); i++ {
		if i < len(g.dir) && g.dir[i] != '/' {
			continue
		}
		_, err := call(ctx, s, func(c *zk.Conn) (string, error) { return c.Create(g.dir[:i], nil, 0, g.acl) })
		if err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return err
		}
	}
	return nil
}

type node struct {
	path string
	data []byte
	stat *zk.Stat
}

func get(ctx context.Context, s *zkconn.Session, path string) (node, error) {
	return call(ctx, s, func(c *zk.Conn) (node, error) {
		data, stat, err := c.Get(path)
		return node{path, data, stat}, err
	})
}

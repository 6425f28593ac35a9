package znodefence

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkfence/zkfence/internal/session"
	"github.com/zkfence/zkfence/zkconn"
)

// WriteError is a write that the server has refused; none of the command's was
// applied.
type WriteError struct {
	Path string
	Err  error // of package zk, such as zk.ErrBadVersion: somebody has changed it since it was read
}

func (e *WriteError) Error() string { return fmt.Sprintf("znodefence: writing %s: %v", e.Path, e.Err) }

// Unwrap returns Err.
func (e *WriteError) Unwrap() error { return e.Err }

// Tx is what a command reads and writes. It is of use until its function returns,
// to one goroutine. What it reads is at least as new as the memory by which the
// command was let through, and if another guarded command changes anything in between
// then all of it is begun anew. All writes together must fit in one multi: see the
// package documentation, and ErrTooLarge.
type Tx struct {
	guard   *Guard
	session *zkconn.Session
	writes  []write
	wrong   error // the first write that cannot be sent
	broken  error // a read that the connection has spoilt
}

type write struct {
	path string
	op   any
}

// Get reads a znode. The error is zk's, such as zk.ErrNoNode, or ctx's cause.
func (tx *Tx) Get(ctx context.Context, path string) ([]byte, *zk.Stat, error) {
	n, err := get(ctx, tx.session, path)
	return n.data, n.stat, tx.note(ctx, err)
}

// Children reads the names of a znode's children, sorted.
func (tx *Tx) Children(ctx context.Context, path string) ([]string, error) {
	names, err := call(ctx, tx.session, func(c *zk.Conn) ([]string, error) {
		names, _, err := c.Children(path)
		return names, err
	})
	slices.Sort(names)
	return names, tx.note(ctx, err)
}

// note keeps an error that says nothing about the znode: the command is begun anew.
func (tx *Tx) note(ctx context.Context, err error) error {
	if ctx.Err() != nil { // whatever err is like: it can be why ctx has ended
		return err
	}
	if o := session.OutcomeOf(err); o == session.OutcomeNotSent || o == session.OutcomeUnknown {
		tx.broken = err
	}
	return err
}

// Set puts data in place of what read says was there.
func (tx *Tx) Set(path string, data []byte, read *zk.Stat) {
	tx.add(path, read, func(version int32) any {
		return &zk.SetDataRequest{Path: path, Data: slices.Clone(data), Version: version}
	})
}

// Delete removes the znode that read is of, which has no children.
func (tx *Tx) Delete(path string, read *zk.Stat) {
	tx.add(path, read, func(version int32) any { return &zk.DeleteRequest{Path: path, Version: version} })
}

// Check writes nothing: the command is applied if the znode is as read says.
func (tx *Tx) Check(path string, read *zk.Stat) {
	tx.add(path, read, func(version int32) any { return &zk.CheckVersionRequest{Path: path, Version: version} })
}

// Create makes a persistent znode; its parent must exist. A nil acl is the client's.
func (tx *Tx) Create(path string, data []byte, acl []zk.ACL) {
	if acl == nil {
		acl = tx.guard.acl
	}
	tx.add(path, &zk.Stat{Czxid: 1}, func(int32) any {
		return &zk.CreateRequest{Path: path, Data: slices.Clone(data), Acl: slices.Clone(acl)}
	})
}

func (tx *Tx) add(path string, read *zk.Stat, op func(version int32) any) {
	switch err := session.CheckPath("write", path); {
	case tx.wrong != nil:
	case err != nil:
		tx.wrong = fmt.Errorf("znodefence: %w", err)
	case path == tx.guard.dir || strings.HasPrefix(path, tx.guard.dir+"/"):
		tx.wrong = fmt.Errorf("znodefence: a command cannot write %s: the guard's memories stand below %s", path, tx.guard.dir)
	case read == nil:
		tx.wrong = fmt.Errorf("%w: %s: the Stat is nil; give the one that Get returned, or Create it", ErrNotRead, path)
	case read.Czxid == 0 || read.Version < 0:
		tx.wrong = fmt.Errorf("%w: %s: the Stat has version %d and czxid %d: it was never filled in; give the one that Get returned", ErrNotRead, path, read.Version, read.Czxid)
	default:
		tx.writes = append(tx.writes, write{path, op(read.Version)})
	}
}

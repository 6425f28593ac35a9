package queue

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkfence/zkfence/internal/session"
)

// maxParents bounds how often one enrolment makes its directory. The server
// reaps empty containers about once a minute, so to lose that race twice takes
// somebody who deletes the directory all the time.
const maxParents = 8

// parents makes the queue's directory and what is missing above it, as
// containers, so that what nobody uses any more goes by itself.
func (p *Place) parents(ctx context.Context) error {
	missing := []string{p.line.Dir}
	for tries := 0; len(missing) > 0; {
		path := missing[len(missing)-1]
		err := p.makeDir(ctx, path)
		switch {
		case err == nil, errors.Is(err, zk.ErrNodeExists):
			missing = missing[:len(missing)-1]
		case errors.Is(err, zk.ErrNoNode) && strings.LastIndexByte(path, '/') > 0:
			if tries++; tries > maxParents+strings.Count(p.line.Dir, "/") {
				return fmt.Errorf("create %s: its parent is deleted again and again: %w", path, err)
			}
			missing = append(missing, path[:strings.LastIndexByte(path, '/')])
		default:
			return fmt.Errorf("create %s: %w", path, err)
		}
	}
	return nil
}

func (p *Place) makeDir(ctx context.Context, path string) error {
	err := again(ctx, p.s, func() error {
		_, err := session.Call(ctx, p.s, func(c *zk.Conn) (string, error) {
			return c.CreateContainer(path, nil, zk.FlagContainer, p.line.acl())
		})
		if unimplemented(err) {
			return zk.ErrBadArguments // definite: this server will not learn it
		}
		return err
	})
	if !errors.Is(err, zk.ErrBadArguments) {
		return err
	}
	return again(ctx, p.s, func() error {
		_, err := session.Call(ctx, p.s, func(c *zk.Conn) (string, error) {
			return c.Create(path, nil, 0, p.line.acl())
		})
		return err
	})
}

// unimplemented recognises the answer of servers before 3.5, for which the
// client library has no error value.
func unimplemented(err error) bool {
	return err != nil && strings.Contains(err.Error(), "unknown error: -6")
}

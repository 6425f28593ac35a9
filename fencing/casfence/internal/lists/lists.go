// Package lists puts a casfence.Guard before package fencetest, whatever its Store:
// contents are lists, one entry a line, written whole.
package lists

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/fencetest"
)

// Guard is what a *casfence.Guard has; casfence's own tests cannot import casfence
// by way of this package.
type Guard interface {
	fencetest.Overrider
	Raise(ctx context.Context, name string, t fencing.Token) error
	Publish(ctx context.Context, name string, s fencing.Stamp, content func(context.Context) ([]byte, error)) error
	Get(ctx context.Context, name string) ([]byte, fencing.Stamp, error)
}

// Store opens Guards.
type Store func() (Guard, error)

// Open makes it a fencetest.Store.
func (s Store) Open(context.Context) (fencetest.Guard, error) {
	g, err := s()
	return lists{g}, err
}

type lists struct{ Guard }

func (l lists) Close() error { return nil }

func (l lists) Do(ctx context.Context, c fencetest.Command) (string, error) {
	return "", l.Publish(ctx, c.Resource, c.Stamp, func(ctx context.Context) ([]byte, error) {
		fencetest.Pause(ctx)
		old, _, err := l.Get(ctx, c.Resource)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		fencetest.Pause(ctx)
		if c.Fail {
			return nil, fencetest.ErrCommand
		}
		return append(old, c.Entry+"\n"...), nil
	})
}

func (l lists) Read(ctx context.Context, name string) ([]string, fencing.Stamp, error) {
	content, last, err := l.Get(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return strings.Fields(string(content)), last, err
}

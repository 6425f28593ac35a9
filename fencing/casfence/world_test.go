package casfence

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/fencetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func stamp(t testing.TB, text string) fencing.Stamp {
	t.Helper()
	s, err := fencing.ParseStamp(text)
	require.NoError(t, err)
	return s
}

func guardOf(t testing.TB, s Store) *Guard {
	t.Helper()
	g, err := New(s)
	require.NoError(t, err)
	return g
}

func text(s string) func(context.Context) ([]byte, error) {
	return func(context.Context) ([]byte, error) { return []byte(s), nil }
}

// shared is a store whose contents are lists, one entry a line.
type shared struct{ Store }

func (s shared) Open(context.Context) (fencetest.Guard, error) {
	g, err := New(s.Store)
	return lists{g}, err
}

type lists struct{ *Guard }

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

func TestKeepsTheRuleInMemory(t *testing.T) {
	fencetest.Run(t, fencetest.Subject{New: func(fencetest.TB) fencetest.Store { return shared{new(Memory)} }})
}

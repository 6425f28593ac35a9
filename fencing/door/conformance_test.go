package door_test

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/door"
	"github.com/zkfence/zkfence/fencing/fencetest"
)

// lists is a resource that knows nothing of Stamps and outlives the door.
type lists struct {
	mu sync.Mutex
	of map[string][]string
}

func (l *lists) append(resource, entry string) (undo func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := slices.Clone(l.of[resource])
	l.of[resource] = append(l.of[resource], entry)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.of[resource] = before
	}
}

// behind is the resource behind its one door.
type behind struct {
	lists
	door *door.Door
	path string // of the door's file
}

func newBehind(t fencetest.TB) fencetest.Store {
	b := &behind{lists: lists{of: map[string][]string{}}, path: filepath.Join(t.TempDir(), "door")}
	var err error
	if b.door, err = door.Open(b.path, door.Options{}); err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() {
		if err := b.door.Close(); err != nil {
			t.Errorf("%v", err)
		}
	})
	return b
}

func (b *behind) Restart(context.Context) error {
	err := b.door.Close()
	if err == nil {
		b.door, err = door.Open(b.path, door.Options{})
	}
	return err
}

func (b *behind) Open(context.Context) (fencetest.Guard, error) { return visitor{b}, nil }

type visitor struct{ *behind }

func (v visitor) Close() error { return nil }

func (v visitor) Do(ctx context.Context, c fencetest.Command) (string, error) {
	answer, err := v.door.Do(ctx, door.Command{Resource: c.Resource, Stamp: c.Stamp, OpID: c.OpID}, func(ctx context.Context) ([]byte, error) {
		fencetest.Pause(ctx)
		undo := v.append(c.Resource, c.Entry)
		fencetest.Pause(ctx)
		if c.Fail {
			undo()
			return nil, fencetest.ErrCommand
		}
		return []byte(c.Outcome), nil
	})
	return string(answer.Outcome), err
}

func (v visitor) Raise(ctx context.Context, resource string, t fencing.Token) error {
	return v.door.Raise(ctx, resource, t)
}

func (v visitor) Read(_ context.Context, resource string) ([]string, fencing.Stamp, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.of[resource]), v.door.Last(resource), nil
}

func (v visitor) Override(ctx context.Context, resource string, to fencing.Stamp, who, why string) error {
	return v.door.Override(ctx, resource, to, who, why)
}

func (v visitor) Overrides(_ context.Context, resource string) ([]fencing.Override, error) {
	return v.door.Overrides(resource), nil
}

func TestADoorKeepsTheRule(t *testing.T) {
	fencetest.Run(t, fencetest.Subject{New: newBehind, OpIDs: true})
}

func TestADoorInMemoryKeepsTheRule(t *testing.T) {
	fencetest.Run(t, fencetest.Subject{
		New: func(t fencetest.TB) fencetest.Store {
			d, err := door.New(door.Options{})
			require.NoError(t, err)
			return &behind{lists: lists{of: map[string][]string{}}, door: d}
		},
		NoRestart: true, OpIDs: true,
	})
}

package casfence

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
)

func eachSweepStore(t *testing.T, f func(t *testing.T, s SweepStore)) {
	t.Run("Memory", func(t *testing.T) { f(t, new(Memory)) })
	t.Run("Files", func(t *testing.T) {
		files, err := OpenFiles(t.TempDir())
		require.NoError(t, err)
		t.Cleanup(func() { _ = files.Close() })
		f(t, files)
	})
}

func objects(t *testing.T, s SweepStore, name string) int {
	t.Helper()
	keys, err := s.List(t.Context(), "objects/"+segment(name)+"/")
	require.NoError(t, err)
	return len(keys)
}

func contentIs(t *testing.T, g *Guard, want string) {
	t.Helper()
	content, _, err := g.Get(t.Context(), "r")
	require.NoError(t, err)
	require.Equal(t, want, string(content))
}

func TestASweepRemovesWhatNoPointerNames(t *testing.T) {
	eachSweepStore(t, func(t *testing.T, s SweepStore) {
		g := guardOf(t, s)
		for _, st := range []string{"0x1:1", "0x1:2", "0x1:3"} {
			require.NoError(t, g.Publish(t.Context(), "r", stamp(t, st), text(st)))
		}
		require.NoError(t, g.Publish(t.Context(), "r2", stamp(t, "0x1:1"), text("another's")))
		removed, err := g.Sweep(t.Context(), "r", time.Hour)
		require.NoError(t, err)
		require.Zero(t, removed, "they are young")
		require.Equal(t, 3, objects(t, s, "r"))

		removed, err = g.Sweep(t.Context(), "r", 0)
		require.NoError(t, err)
		require.Equal(t, 2, removed)
		require.Equal(t, 1, objects(t, s, "r"))
		require.Equal(t, 1, objects(t, s, "r2"))
		contentIs(t, g, "0x1:3")
		last, err := g.Last(t.Context(), "r")
		require.NoError(t, err)
		require.Equal(t, stamp(t, "0x1:3"), last)
		removed, err = g.Sweep(t.Context(), "r", 0)
		require.NoError(t, err)
		require.Zero(t, removed)
		require.NoError(t, g.Publish(t.Context(), "r", stamp(t, "0x1:4"), text("0x1:4")))
		contentIs(t, g, "0x1:4")
	})
}

func TestWhatCannotBeSwept(t *testing.T) {
	g := guardOf(t, struct{ Store }{new(Memory)})
	_, err := g.Sweep(t.Context(), "r", 0)
	require.ErrorIs(t, err, errors.ErrUnsupported)
	_, err = guardOf(t, new(Memory)).Sweep(t.Context(), "r", -1)
	require.ErrorContains(t, err, "olderThan")
}

// between calls then before the first Put of a pointer, or after the first Get of one.
type between struct {
	SweepStore
	beforePut, afterGet func()
}

func (b *between) Put(ctx context.Context, key string, value []byte, version string) (string, error) {
	if then := b.beforePut; then != nil && strings.HasPrefix(key, "pointers/") {
		b.beforePut = nil
		then()
	}
	return b.SweepStore.Put(ctx, key, value, version)
}

func (b *between) Get(ctx context.Context, key string) ([]byte, string, error) {
	value, version, err := b.SweepStore.Get(ctx, key)
	if then := b.afterGet; then != nil && strings.HasPrefix(key, "pointers/") {
		b.afterGet = nil
		then()
	}
	return value, version, err
}

// The writer is stopped between its object and its pointer, and the object swept: the
// pointer would name nothing.
func TestAWriterWhoseObjectIsSweptLeavesNoPointerToNothing(t *testing.T) {
	for _, first := range []bool{true, false} { // the very first write has no pointer to move from
		eachSweepStore(t, func(t *testing.T, s SweepStore) {
			other := guardOf(t, s)
			require.NoError(t, other.Raise(t.Context(), "r", stamp(t, "0x1:0").Token))
			if !first {
				require.NoError(t, other.Publish(t.Context(), "r", stamp(t, "0x1:1"), text("first")))
			}
			b := &between{SweepStore: s}
			g := guardOf(t, b)
			b.beforePut = func() {
				removed, err := other.Sweep(t.Context(), "r", 0)
				require.NoError(t, err)
				require.Equal(t, 1, removed)
			}
			require.NoError(t, g.Publish(t.Context(), "r", stamp(t, "0x1:2"), text("second")))
			contentIs(t, other, "second")
			require.ErrorIs(t, g.Publish(t.Context(), "r", stamp(t, "0x1:2"), text("again")), fencing.ErrDuplicate)
		})
	}
}

// The writer moves the pointer while the sweep is stopped before its mark.
func TestASweepSparesWhatThePointerHasComeToName(t *testing.T) {
	eachSweepStore(t, func(t *testing.T, s SweepStore) {
		writing, sweeping := &between{SweepStore: s}, &between{SweepStore: s}
		writer, sweeper := guardOf(t, writing), guardOf(t, sweeping)
		require.NoError(t, writer.Publish(t.Context(), "r", stamp(t, "0x1:1"), text("first")))
		writing.beforePut = func() { // the object of the second is there
			sweeping.beforePut = func() {
				// By another guard, as that one is in the midst of it.
				p, err := writer.load(t.Context(), "r")
				require.NoError(t, err)
				keys, err := s.List(t.Context(), "objects/")
				require.NoError(t, err)
				require.Len(t, keys, 2)
				for _, k := range keys {
					if k.Key != p.Object {
						_, err := writer.update(t.Context(), "r", &p, func(r record) (record, error) {
							r.Last, r.Object = stamp(t, "0x1:2"), k.Key
							return r, nil
						})
						require.NoError(t, err)
						return
					}
				}
			}
			removed, err := sweeper.Sweep(t.Context(), "r", 0)
			require.NoError(t, err)
			require.Zero(t, removed)
		}
		require.ErrorIs(t, writer.Publish(t.Context(), "r", stamp(t, "0x1:2"), text("second")), fencing.ErrDuplicate)
		contentIs(t, sweeper, "second")
	})
}

// A reader is stopped between pointer and object, and the object replaced and swept.
func TestAReaderWhoseObjectIsSweptLooksAgain(t *testing.T) {
	eachSweepStore(t, func(t *testing.T, s SweepStore) {
		other := guardOf(t, s)
		require.NoError(t, other.Publish(t.Context(), "r", stamp(t, "0x1:1"), text("first")))
		reader := guardOf(t, &between{SweepStore: s, afterGet: func() {
			require.NoError(t, other.Publish(t.Context(), "r", stamp(t, "0x1:2"), text("second")))
			_, err := other.Sweep(t.Context(), "r", 0)
			require.NoError(t, err)
		}})
		contentIs(t, reader, "second")
	})
}

var errBusy = errors.New("try again")

// busy reports that others have moved the pointer too often for one call to get
// through, or to learn whether it did: it is sent again.
func busy(err error) bool {
	return errors.Is(err, fencing.ErrUnknownOutcome) || err != nil && strings.Contains(err.Error(), "try again")
}

// Owners, readers and sweeps at once: the pointer always names what is there.
func TestSweepsBesideWriters(t *testing.T) {
	s := new(Memory)
	require.NoError(t, guardOf(t, s).Publish(t.Context(), "r", stamp(t, "0x1:1"), text("0x1:1"))) // there is always something
	var owners, others sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		others.Go(func() {
			g := guardOf(t, s)
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := g.Sweep(t.Context(), "r", 0); err != nil && !busy(err) {
					t.Errorf("sweep: %v", err)
				}
				if _, _, err := g.Get(t.Context(), "r"); err != nil && !busy(err) {
					t.Errorf("get: %v", err)
				}
				_ = letOthers(t.Context())
			}
		})
	}
	for n := range uint64(4) {
		owners.Go(func() {
			g := guardOf(t, s)
			tok, err := fencing.FromUint64(n + 1)
			if err != nil {
				t.Error(err)
				return
			}
			for q := fencing.NewSequencer(tok); ; {
				st := q.Next()
				if st.Seq > 50 {
					return
				}
				err := errBusy
				for tries := 0; tries < 1000 && busy(err); tries++ {
					err = g.Publish(t.Context(), "r", st, text(st.String()))
				}
				if errors.Is(err, fencing.ErrStale) {
					return
				}
				if err != nil && !errors.Is(err, fencing.ErrDuplicate) {
					t.Errorf("%s: %v", st, err)
				}
			}
		})
	}
	owners.Wait()
	close(stop)
	others.Wait()
	content, last, err := guardOf(t, s).Get(t.Context(), "r")
	require.NoError(t, err)
	require.Equal(t, last.String(), string(content))
}

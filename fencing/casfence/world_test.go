package casfence

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/casfence/internal/lists"
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

// shared is a store for several Guards.
func shared(s Store) fencetest.Store {
	return lists.Store(func() (lists.Guard, error) { return New(s) })
}

func TestKeepsTheRuleInMemory(t *testing.T) {
	fencetest.Run(t, fencetest.Subject{New: func(fencetest.TB) fencetest.Store { return shared(new(Memory)) }})
}

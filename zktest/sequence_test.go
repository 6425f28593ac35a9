package zktest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/wire"
	"github.com/zkfence/zkfence/zktest"
)

// next creates n sequential children of /d and returns their numbers as text.
func nextNumbers(c *rawClient, n int) []string {
	var out []string
	for range n {
		path := c.must(wire.OpCreate, create("/d/n-", "", 3, open...)).path()
		if path == "" {
			out = append(out, "exists")
			continue
		}
		out = append(out, path[len("/d/n-"):])
	}
	return out
}

// The counter's end was what let several holders into every other recipe.
func TestSequenceRunsOut(t *testing.T) {
	end := func(t *testing.T, opts ...zktest.Option) (*zktest.Server, *rawClient) {
		s := zktest.New(t, opts...)
		c := connectRaw(t, s.Addr())
		require.NoError(t, s.Create("/d", nil))
		require.NoError(t, s.SetSequence("/d", 2147483645))
		return s, c
	}

	t.Run("SticksAtTheLargestNumber", func(t *testing.T) {
		s, c := end(t)
		require.Equal(t, []string{"2147483645", "2147483646", "2147483647", "exists"}, nextNumbers(c, 4))
		_, stuck, err := s.Get("/d")
		require.NoError(t, err)
		// Another name goes through, with the same number, and no longer moves the
		// parent's pzxid.
		require.Equal(t, "/d/m-2147483647", c.must(wire.OpCreate, create("/d/m-", "", 3, open...)).path())
		_, after, err := s.Get("/d")
		require.NoError(t, err)
		require.Equal(t, stuck.Pzxid, after.Pzxid)
		require.Equal(t, stuck.NumChildren+1, after.NumChildren)
	})

	t.Run("GoesNegativeInsideAMulti", func(t *testing.T) {
		s, c := end(t)
		require.NoError(t, s.SetSequence("/d", 2147483647))
		f := c.must(wire.OpMulti, multi(
			sub{wire.OpCreate, create("/d/a-", "", 2, open...)},
			sub{wire.OpCreate, create("/d/b-", "", 2, open...)}))
		require.Zero(t, f.Err)
		require.Equal(t, []string{"a-2147483647", "b--2147483648"}, s.Children("/d"))
		require.Equal(t, []string{"2147483647"}, nextNumbers(c, 1))
	})

	t.Run("WrapsUpToVersion35", func(t *testing.T) {
		_, c := end(t, zktest.WithLegacySequence())
		require.Equal(t, []string{"2147483645", "2147483646", "2147483647", "-2147483648", "-2147483647"}, nextNumbers(c, 5))
	})

	t.Run("CanBeSetToWhatRequestsInFlightSee", func(t *testing.T) {
		s, c := end(t)
		require.NoError(t, s.SetSequence("/d", -2))
		require.Equal(t, []string{"-000000002", "-000000001", "0000000000"}, nextNumbers(c, 3))
	})
}

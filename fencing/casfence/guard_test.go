package casfence

import (
	"io/fs"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/fencetest"
)

func TestWhatCannotBeAGuard(t *testing.T) {
	_, err := New(nil)
	require.ErrorContains(t, err, "no store")
	require.ErrorContains(t, guardOf(t, new(Memory)).Publish(t.Context(), "r", stamp(t, "0x1:1"), nil), "no function")
}

// A pointer that cannot be read, taken for none, would let the oldest owner in.
func TestAnUnreadablePointerLetsNobodyIn(t *testing.T) {
	for name, spoiled := range map[string]string{
		"Empty": "", "Cut": `{"format":1,"resou`, "OtherFormat": `{"format":2,"resource":"r","writes":["x"]}`,
		"OtherName": `{"format":1,"resource":"q","writes":["x"]}`, "NeverWritten": `{"format":1,"resource":"r"}`,
	} {
		t.Run(name, func(t *testing.T) {
			m := new(Memory)
			g := guardOf(t, m)
			require.NoError(t, g.Publish(t.Context(), "r", stamp(t, "0x1:1"), text("first")))
			_, version, err := m.Get(t.Context(), g.pointerKey("r"))
			require.NoError(t, err)
			_, err = m.Put(t.Context(), g.pointerKey("r"), []byte(spoiled), version)
			require.NoError(t, err)
			require.ErrorContains(t, g.Publish(t.Context(), "r", stamp(t, "0x2:1"), text("second")), "nothing is let in")
			require.ErrorContains(t, g.Raise(t.Context(), "r", stamp(t, "0x2:0").Token), g.pointerKey("r"))
		})
	}
}

func TestKeysSuitEveryStore(t *testing.T) {
	seen := make(map[string]string)
	for _, name := range []string{"r", ".", "..", "a/../b", "a/b", "a%2Fb", "A", "a", "ü", "u\u0308", strings.Repeat("ü", 256), strings.Repeat("ü", 255) + "u", strings.Repeat("x", 512)} {
		s := segment(name)
		require.NotContains(t, seen, s, "%q and %q", name, seen[s])
		seen[s] = name
		require.NotContains(t, s, "/")
		require.Less(t, len("objects//"+s)+80, 1024)
		for _, r := range s {
			require.True(t, r > ' ' && r < 0x7f, "%q", s)
		}
	}
}

func TestNothingPublishedIsSaidSo(t *testing.T) {
	m := new(Memory)
	g := guardOf(t, m)
	_, last, err := g.Get(t.Context(), "r")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.Equal(t, fencing.Stamp{}, last)
	require.NoError(t, g.Raise(t.Context(), "r", stamp(t, "0x2:0").Token))
	_, last, err = g.Get(t.Context(), "r")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.Equal(t, stamp(t, "0x2:0"), last)

	require.NoError(t, g.Publish(t.Context(), "r", stamp(t, "0x2:1"), text("")))
	content, _, err := g.Get(t.Context(), "r")
	require.NoError(t, err)
	require.Empty(t, content)
	for key := range m.items {
		if strings.HasPrefix(key, "objects/") {
			delete(m.items, key)
		}
	}
	_, _, err = g.Get(t.Context(), "r")
	require.ErrorContains(t, err, "it is gone")
	require.NotErrorIs(t, err, fs.ErrNotExist, "something was published")
}

// What a guarded write costs: a read and two writes, the read only once.
func TestRoundTrips(t *testing.T) {
	c := new(counted)
	g, other := guardOf(t, c), guardOf(t, &c.Memory)
	require.NoError(t, other.Raise(t.Context(), "r", stamp(t, "0x1:0").Token))
	publish := func(s string, gets, puts int, want error) {
		t.Helper()
		c.gets, c.puts = 0, 0
		require.ErrorIs(t, g.Publish(t.Context(), "r", stamp(t, s), text(s)), want)
		require.Equal(t, [2]int{gets, puts}, [2]int{c.gets, c.puts}, "gets and puts of %s", s)
	}
	publish("0x1:1", 1, 2, nil)
	publish("0x1:2", 0, 2, nil)
	publish("0x2:1", 1, 3, nil)
	publish("0x2:2", 0, 2, nil)
	publish("0x1:3", 1, 0, fencing.ErrStale)
	require.NoError(t, other.Publish(t.Context(), "r", stamp(t, "0x2:3"), text("other's")))
	publish("0x2:4", 1, 3, nil) // it finds the version gone, looks, and sends again
	require.NoError(t, other.Raise(t.Context(), "r", stamp(t, "0x3:0").Token))
	publish("0x2:5", 1, 2, fencing.ErrStale)
	publish("0x3:1", 1, 2, nil)

	// What it knows must not refuse what an operator has let in elsewhere.
	err := other.Override(t.Context(), "r", stamp(t, "0x1:0"), "the operator", "rebuilt")
	require.NoError(t, err)
	publish("0x1:7", 1, 2, nil)
	content, last, err := other.Get(t.Context(), "r")
	require.NoError(t, err)
	require.Equal(t, "0x1:7", string(content))
	require.Equal(t, stamp(t, "0x1:7"), last)
}

func TestWhatAGuardKnowsIsBounded(t *testing.T) {
	g := guardOf(t, new(Memory))
	for i := range 2500 {
		require.NoError(t, g.Publish(t.Context(), strconv.Itoa(i), stamp(t, "0x1:1"), text("x")))
		require.LessOrEqual(t, len(g.known), 1000)
	}
	require.NoError(t, g.Publish(t.Context(), "0", stamp(t, "0x1:2"), text("x")))
}

func TestKeepsTheRuleInFiles(t *testing.T) {
	fencetest.Run(t, fencetest.Subject{New: func(t fencetest.TB) fencetest.Store {
		f, err := OpenFiles(t.TempDir())
		require.NoError(t, err)
		t.Cleanup(func() { _ = f.Close() })
		return shared(f)
	}})
}

func TestLastIsWhatIsRemembered(t *testing.T) {
	g := guardOf(t, new(Memory))
	remembered := func(want string) {
		t.Helper()
		last, err := g.Last(t.Context(), "r")
		require.NoError(t, err)
		require.Equal(t, want, last.String())
	}
	remembered("0x0:0")
	require.NoError(t, g.Raise(t.Context(), "r", stamp(t, "0x1:0").Token))
	remembered("0x1:0")
	require.NoError(t, g.Publish(t.Context(), "r", stamp(t, "0x1:2"), text("x")))
	remembered("0x1:2")
	require.ErrorIs(t, g.Raise(t.Context(), "r", fencing.Token{}), fencing.ErrZeroToken)
	remembered("0x1:2")
	_, err := g.Last(t.Context(), "")
	require.ErrorIs(t, err, fencing.ErrBadResource)
}

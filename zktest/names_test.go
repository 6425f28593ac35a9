package zktest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/wire"
)

// A set of names is what a sorted slice without doubles is, however its blocks
// have been split and emptied.
func TestNamesAreASortedSet(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var s names
	want := map[string]bool{}
	same := func(step int) {
		t.Helper()
		model := make([]string, 0, len(want))
		for name := range want {
			model = append(model, name)
		}
		slices.Sort(model)
		require.Equal(t, len(model), s.len(), "step %d", step)
		require.True(t, slices.Equal(model, s.list()), "step %d", step)
		var e, f wire.Encoder
		e.Strings(model)
		s.encode(&f)
		require.Equal(t, e.Buf, f.Buf)
		require.Equal(t, 4+s.bytes, len(f.Buf))
		for i, b := range s.blocks {
			require.NotEmpty(t, b)
			require.LessOrEqual(t, len(b), blockLen)
			require.True(t, i == 0 || s.blocks[i-1][len(s.blocks[i-1])-1] < b[0])
		}
	}
	same(0)
	// It grows in order, at random, and shrinks again to nothing, twice.
	for step := range 24_000 {
		name := fmt.Sprintf("%05d", rng.IntN(5000))
		switch phase := step / 3000 % 4; {
		case phase == 0:
			name = fmt.Sprintf("n-%010d", step)
			fallthrough
		case phase == 1 || phase == 2 && rng.IntN(2) == 0:
			s.add(name)
			want[name] = true
		case phase == 3 && s.len() > 0 && step%2 == 0:
			list := s.list()
			name = list[rng.IntN(len(list))]
			fallthrough
		default:
			s.remove(name)
			delete(want, name)
		}
		if step%500 == 0 {
			same(step)
		}
	}
	for _, name := range s.list() {
		s.remove(name)
		delete(want, name)
	}
	same(-1)
	require.Empty(t, s.blocks)
	s.add("again")
	require.Equal(t, []string{"again"}, s.list())
}

// Names that come in order, as sequence numbers do, fill their blocks.
func TestNamesInOrderFillTheirBlocks(t *testing.T) {
	var s names
	for i := range 20 * blockLen {
		s.add(fmt.Sprintf("n-%010d", i))
	}
	require.Len(t, s.blocks, 20)
}

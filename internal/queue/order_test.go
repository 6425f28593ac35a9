package queue

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func contender(id string, seq int64) Name {
	return Parse(fmt.Sprintf("_c_%s-lock-%010d", id, seq))
}

func TestWhenSequenceNumbersAreNoOrder(t *testing.T) {
	for _, c := range []struct {
		claim string
		seqs  []int64
		want  bool
	}{
		{"None", nil, true},
		{"DistinctNumbersAre", []int64{3, 1, 2}, true},
		{"TheLastButOneIs", []int64{math.MaxInt32 - 1}, true},
		{"ElevenDigitsAre", []int64{99999999999, 1}, true},
		{"TheLastIsNot", []int64{5, math.MaxInt32}, false},
		{"ATieIsNot", []int64{5, 7, 5}, false},
		{"ANegativeNumberIsNot", []int64{5, -1}, false},
		{"TheSmallestNumberIsNot", []int64{math.MinInt32}, false},
	} {
		t.Run(c.claim, func(t *testing.T) {
			var names []Name
			for i, seq := range c.seqs {
				names = append(names, contender(fmt.Sprint(i), seq))
			}
			require.Equal(t, c.want, sequenced(names))
		})
	}
}

func TestTheNearestEarlierContenderIsThePredecessor(t *testing.T) {
	a, b, c, d := contender("a", 9), contender("b", 10), contender("c", 100), contender("d", 1000000000)
	all := []Name{c, a, d, b}
	require.Equal(t, standing{0, ""}, bySequence(all, a))
	require.Equal(t, standing{1, a.Child}, bySequence(all, b))
	require.Equal(t, standing{2, b.Child}, bySequence(all, c))
	require.Equal(t, standing{3, c.Child}, bySequence(all, d))
	require.Equal(t, standing{0, ""}, bySequence([]Name{a}, a))
}

func TestNumbersNotTextDecide(t *testing.T) {
	short, long := contender("x", math.MaxInt32-1), Parse("lock-10000000000")
	require.Equal(t, standing{1, short.Child}, bySequence([]Name{short, long}, long))
}

func TestWhoWasGoneWhenAskedForHisAgeIsNotAhead(t *testing.T) {
	a, b := contender("a", math.MaxInt32), contender("b", math.MaxInt32)
	require.Equal(t, standing{0, ""}, byCzxid([]Name{a, b}, b, map[string]int64{b.Child: 7}))
}

// The counter of a real server's parent near its end: sticking (3.6 and later)
// and wrapping (3.4, 3.5). Whoever is left of the contenders, and in whatever
// order their list comes, the first is the one that came first, and everybody
// else waits for exactly the one before.
func TestFirstComeFirstServedAtTheEndOfTheCounter(t *testing.T) {
	sticking := func(i int) int64 { return min(math.MaxInt32-3+int64(i), math.MaxInt32) }
	wrapping := func(i int) int64 { return int64(int32(uint32(math.MaxInt32-3) + uint32(i))) }
	around0 := func(i int) int64 { return int64(i) - 4 }
	for claim, counter := range map[string]func(int) int64{"Sticking": sticking, "Wrapping": wrapping, "BackAtZero": around0} {
		t.Run(claim, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			for range 2000 {
				var alive []Name
				czxid := map[string]int64{}
				for i := range 10 {
					n := contender(fmt.Sprint(rng.IntN(1000), "-", i), counter(i))
					if rng.IntN(3) > 0 {
						alive = append(alive, n)
						czxid[n.Child] = int64(100 + i)
					}
				}
				listed := make([]Name, len(alive))
				for to, from := range rng.Perm(len(alive)) {
					listed[to] = alive[from]
				}
				for i, own := range alive {
					at := byCzxid(listed, own, czxid)
					if sequenced(listed) {
						require.Equal(t, at, bySequence(listed, own), "both orders agree where numbers are good")
					}
					require.Equal(t, i, at.ahead)
					if i > 0 {
						require.Equal(t, alive[i-1].Child, at.predecessor)
					}
				}
			}
		})
	}
}

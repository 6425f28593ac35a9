package repeat_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// around is how many lines are shown before and after the first difference.
const around = 6

// firstDifference shows where two traces part.
func firstDifference(t *testing.T, a, b string) string {
	t.Helper()
	first, second := linesOf(t, a), linesOf(t, b)
	n := 0
	for n < min(len(first), len(second)) && first[n] == second[n] {
		n++
	}
	tail := func(lines []string) string {
		return strings.Join(lines[min(n, len(lines)):min(n+around, len(lines))], "\n")
	}
	return strings.Join(slices.Concat(first[max(0, n-around):n], []string{"--- one", tail(first), "--- the other", tail(second)}), "\n")
}

func linesOf(t *testing.T, file string) []string {
	t.Helper()
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	return strings.Split(string(b), "\n")
}

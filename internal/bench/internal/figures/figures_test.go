package figures_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/bench/internal/figures"
)

func TestMedian(t *testing.T) {
	values := []float64{9, 1, 5}
	require.InDelta(t, 5, figures.Median(values), 0)
	require.Equal(t, []float64{9, 1, 5}, values, "left as they were")
	require.InDelta(t, 3, figures.Median([]float64{9, 1, 5, 1}), 0)
	require.InDelta(t, 7, figures.Median([]float64{7}), 0)
	require.Zero(t, figures.Median(nil))
}

// 2, 1 and 3, of which the quotient of the medians, 10 ÷ 4, knows nothing.
func TestRatioIsThatOfTheRounds(t *testing.T) {
	require.InDelta(t, 2, figures.Ratio([]float64{8, 10, 30}, []float64{4, 10, 10}), 0)
}

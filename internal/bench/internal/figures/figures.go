// Package figures says what the rounds of a benchmark come to. A median: one round in
// which the machine did something else does not move it.
package figures

import "slices"

// Median is that of values, 0 if there are none.
func Median(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// Ratio is the median of what a is of b, round by round: what slows a round down slows
// both.
func Ratio(a, b []float64) float64 {
	ratios := make([]float64, len(a))
	for i := range ratios {
		ratios[i] = a[i] / b[i]
	}
	return Median(ratios)
}

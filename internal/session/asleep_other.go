//go:build !linux

package session

import "time"

// slept returns how far the wall clock has moved beside the monotonic clock
// since base, in place of a clock that counts suspended time. Stepping the wall
// clock by hand looks like sleep: it costs a moment of Suspect and nothing else.
func slept(base time.Time) time.Duration {
	now := time.Now()
	return now.Round(0).Sub(base.Round(0)) - now.Sub(base)
}

//go:build race

package stage

// Raced says that the race detector is on.
const Raced = true

//go:build race

package zklock_test

// raced says that the race detector is on.
const raced = true

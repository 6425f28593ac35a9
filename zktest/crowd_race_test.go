//go:build race

package zktest

// crowd is smaller under the race detector, which ends a process of more than
// 8128 goroutines; a connection has two.
const crowd = 3000

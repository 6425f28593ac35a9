//go:build !race

package zktest

const crowd = 5000

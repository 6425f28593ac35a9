//go:build !unix

package turn

// Take does nothing: this system has no flock.
func Take() error { return nil }

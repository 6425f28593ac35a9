//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package flock

import (
	"errors"
	"os"
)

const supported = false

// Try never locks here.
func Try(*os.File) (bool, error) { return false, errors.ErrUnsupported }

//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package filefence

import (
	"errors"
	"os"
)

const supported = false

func tryLock(*os.File) (bool, error) { return false, errors.ErrUnsupported }

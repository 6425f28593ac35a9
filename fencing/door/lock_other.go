//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package door

import (
	"errors"
	"fmt"
	"os"
)

func lockFile(string) (*os.File, error) {
	return nil, fmt.Errorf("this system has no lock that ends with its process: %w", errors.ErrUnsupported)
}

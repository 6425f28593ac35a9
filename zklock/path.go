package zklock

import (
	"fmt"

	"github.com/zkfence/zkfence/internal/session"
)

// fullPath checks path and puts the client's root in front.
func fullPath(root, path string) (string, error) {
	if err := session.CheckPath("path", path); err != nil {
		return "", fmt.Errorf("zklock: %w", err)
	}
	for _, r := range path {
		// A Java server sees such a character as two surrogates, which it refuses.
		if r > 0xffff {
			return "", fmt.Errorf("zklock: path = %q: holds the character %U, which servers refuse", path, r)
		}
	}
	return root + path, nil
}

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
	return root + path, nil
}

package door

import (
	"errors"
	"fmt"
	"os"

	"github.com/zkfence/zkfence/fencing/internal/flock"
)

// lockFile takes a lock that the kernel drops when the process ends, however.
func lockFile(path string) (*os.File, error) {
	if err := flock.Check(); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	ok, err := flock.Try(f)
	if err == nil && !ok {
		err = fmt.Errorf("another Door has it open (the lock of %s): there is one door to a resource", path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

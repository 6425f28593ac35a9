//go:build !unix

package cast

import (
	"errors"
	"os"
)

// CanStop says that this system cannot stop a process: its connection is frozen
// instead.
const CanStop = false

func stopProcess(*os.Process) error     { return errors.ErrUnsupported }
func continueProcess(*os.Process) error { return errors.ErrUnsupported }

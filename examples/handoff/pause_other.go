//go:build !unix

package main

import (
	"errors"
	"os"
)

// canStop says that this system cannot stop a process: its connection is frozen
// instead.
const canStop = false

func stopProcess(*os.Process) error     { return errors.ErrUnsupported }
func continueProcess(*os.Process) error { return errors.ErrUnsupported }

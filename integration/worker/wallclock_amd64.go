//go:build linux

package worker

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// wallClock is the wall clock of one process alone. No Linux namespace has a wall
// clock of its own, and a static Go binary loads no library that could fake one. But
// every reading of it goes through a function that the kernel maps into the process,
// and the mapping is the process's own: here that function is replaced, before the
// process has run its first instruction, by one that adds what the parent says. All
// that the process does sees the result, the Go runtime and its timers first. All
// other clocks are passed as they are.
type wallClock struct {
	pid  int
	adds int64 // the address of what is added, in seconds
}

// What it runs in place of __vdso_clock_gettime(edi: which clock, rsi: where to).
var shiftedGettime = []byte{
	0xb8, 0xe4, 0x00, 0x00, 0x00, // mov  eax, SYS_clock_gettime
	0x0f, 0x05, //                   syscall
	0x85, 0xff, //                   test edi, edi ; CLOCK_REALTIME
	0x75, 0x0a, //                   jne  done
	0x48, 0x8b, 0x0d, 0x06, 0x00, 0x00, 0x00, // mov rcx, [adds]
	0x48, 0x01, 0x0e, //             add  [rsi], rcx
	0xc3,       //             done: ret
	0xcc, 0xcc, //                   and then, at 24: adds
}

const addsAt = 24

// startWithWallClock starts cmd with a wall clock of its own, which is right until
// it is set.
func startWithWallClock(cmd *exec.Cmd) (*wallClock, error) {
	// It is stopped at its start for the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &wallClock{pid: cmd.Process.Pid}
	var status syscall.WaitStatus
	_, err := syscall.Wait4(c.pid, &status, 0, nil)
	if err == nil && !status.Stopped() {
		err = fmt.Errorf("not stopped at its start: %#x", status)
	}
	if err == nil {
		err = c.install()
	}
	if err == nil {
		err = syscall.PtraceDetach(c.pid)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("a wall clock of its own: %w", err), cmd.Process.Kill(), cmd.Wait())
	}
	return c, nil
}

func (c *wallClock) install() error {
	base, err := c.vdso()
	if err != nil {
		return err
	}
	mem, err := c.memory()
	if err != nil {
		return err
	}
	defer func() { _ = mem.Close() }() // read and written without a buffer
	image := make([]byte, 0, 1<<16)
	for len(image) < cap(image) {
		page := image[len(image) : len(image)+os.Getpagesize()]
		if _, err := mem.ReadAt(page, base+int64(len(image))); err != nil {
			break // the last page was the one before
		}
		image = image[:len(image)+len(page)]
	}
	object, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return err
	}
	symbols, err := object.DynamicSymbols()
	if err != nil {
		return err
	}
	for _, s := range symbols {
		if s.Name != "__vdso_clock_gettime" {
			continue
		}
		code := binary.LittleEndian.AppendUint64(bytes.Clone(shiftedGettime), 0)
		if s.Size < uint64(len(code)) || s.Value%8 != 0 {
			return fmt.Errorf("%s has %d bytes at %#x", s.Name, s.Size, s.Value)
		}
		c.adds = base + int64(s.Value) + addsAt
		_, err := mem.WriteAt(code, base+int64(s.Value))
		return err
	}
	return errors.New("the kernel maps no __vdso_clock_gettime")
}

// vdso finds where the kernel has mapped its functions.
func (c *wallClock) vdso() (int64, error) {
	const sysinfoEhdr = 33
	vector, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", c.pid))
	if err != nil {
		return 0, err
	}
	for r := bytes.NewReader(vector); ; {
		var entry [2]uint64
		if err := binary.Read(r, binary.LittleEndian, &entry); errors.Is(err, io.EOF) {
			return 0, errors.New("the kernel maps no functions")
		} else if err != nil {
			return 0, err
		}
		if entry[0] == sysinfoEhdr {
			return int64(entry[1]), nil
		}
	}
}

func (c *wallClock) memory() (*os.File, error) {
	return os.OpenFile(fmt.Sprintf("/proc/%d/mem", c.pid), os.O_RDWR, 0)
}

// set steps the clock: from now on it is off by that, in whole seconds.
func (c *wallClock) set(off time.Duration) error {
	mem, err := c.memory()
	if err != nil {
		return err
	}
	defer func() { _ = mem.Close() }() // read and written without a buffer
	_, err = mem.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(int64(off/time.Second))), c.adds)
	return err
}

package ensemble

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

const (
	fakeLibrary = "/faketime/libfaketimeMT.so.1" // as image/build.sh puts it
	fakeFile    = "wallclock"                    // in the root directory
)

// wallClockEnv has a server's process look into a file for what its wall clock is
// off by, once a second. The monotonic clock stays: it is what the server's timers
// go by. With the fix, which is for older C libraries, timed waits of the JVM never
// end.
var wallClockEnv = map[string]string{
	"LD_PRELOAD":                   fakeLibrary,
	"FAKETIME_TIMESTAMP_FILE":      "/" + fakeFile,
	"FAKETIME_CACHE_DURATION":      "1",
	"FAKETIME_DONT_FAKE_MONOTONIC": "1",
	"FAKETIME_FORCE_MONOTONIC_FIX": "0",
}

// ErrOneClock is what SetWallClock returns where the image has no libfaketime, so
// that all of its servers have the machine's clock.
var ErrOneClock = errors.New("the image has no libfaketime")

var errNotOwn = errors.New("not one of WithWallClocks")

// WithWallClocks gives every server a wall clock of its own, which is right until
// Server.SetWallClock steps it. It takes the image that image/build.sh makes.
func WithWallClocks() Option {
	return func(o *options) { o.wallClocks = true }
}

// SetWallClock steps the wall clock of the server's process, which goes on, by
// whole seconds: within a second it is off by that. It stays so over Kill, Stop and
// Start. It returns an error matching ErrOneClock if the image has no libfaketime.
func (s *Server) SetWallClock(ctx context.Context, off time.Duration) error {
	return s.did("set wall clock of", s.setWallClock(ctx, off), func(*Server) {})
}

func (s *Server) setWallClock(ctx context.Context, off time.Duration) error {
	if !s.e.opts.wallClocks {
		return errNotOwn
	}
	if strings.Contains(s.Log(ctx), "'"+fakeLibrary+"' from LD_PRELOAD cannot be preloaded") {
		return ErrOneClock
	}
	return s.put(ctx, "/", map[string]string{fakeFile: fmt.Sprintf("%+d\n", int64(off/time.Second))})
}

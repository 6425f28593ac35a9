package fencetest

import "context"

type pauseKey struct{}

// Pause is called by the body of a command, with the ctx that was given to
// Guard.Do, before it appends and after. It returns at once where the suite has
// nothing to do between the guard's check and the command's write, and always
// within seconds.
func Pause(ctx context.Context) {
	if pause, ok := ctx.Value(pauseKey{}).(func()); ok {
		pause()
	}
}

func withPause(ctx context.Context, pause func()) context.Context {
	return context.WithValue(ctx, pauseKey{}, pause)
}

package zktest

import (
	"context"
	"fmt"
	"log/slog"
)

// LogTo returns a function for Follow that writes every entry to l, its kind as
// the message and the rest as attributes: a JSON handler makes a line of JSON of
// each. Faults, and sessions that end without having been closed, are warnings;
// pings and connections are logged at debug level, everything else is info.
//
// LogTo panics if l is nil.
func LogTo(l *slog.Logger) func(Entry) {
	if l == nil {
		panic("zktest: LogTo: the logger is nil")
	}
	return func(e Entry) {
		// There is no context to take along: what a client does is nobody's call here.
		ctx := context.Background()
		if level := e.level(); l.Enabled(ctx, level) {
			l.LogAttrs(ctx, level, e.Kind.String(), e.attrs()...)
		}
	}
}

func (e Entry) level() slog.Level {
	switch {
	case e.Kind == Broke, e.Kind == Acted, e.Kind == Became, e.Kind == Ended && e.Note != endClosed:
		return slog.LevelWarn
	case e.Kind == Opened, e.Kind == Closed, e.Op == OpPing:
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

func (e Entry) attrs() []slog.Attr {
	attrs := []slog.Attr{slog.Int("n", e.N), slog.Duration("at", e.At)}
	add := func(is bool, a slog.Attr) {
		if is {
			attrs = append(attrs, a)
		}
	}
	add(e.Conn != 0, slog.Int("conn", e.Conn))
	add(e.Host != "", slog.String("host", e.Host))
	add(e.Session != 0, slog.String("session", fmt.Sprintf("%#x", uint64(e.Session))))
	request := e.Kind == Asked || e.Kind == Answered || e.Kind == Broke
	add(request, slog.String("op", e.Op.String()))
	add(e.Path != "", slog.String("path", e.Path))
	add(request, slog.Int("xid", int(e.Xid)))
	add(request && e.Answered, slog.String("err", e.Err.String()))
	add(request && e.Answered, slog.String("zxid", fmt.Sprintf("%#x", uint64(e.Zxid))))
	add(e.Kind == Answered, slog.Duration("took", e.Took))
	add(e.Fault != "", slog.String("fault", e.Fault))
	add(e.Note != "", slog.String("note", e.Note))
	return attrs
}

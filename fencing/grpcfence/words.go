package grpcfence

import "google.golang.org/grpc/metadata"

// The values of the outcome trailer.
const (
	applied = "applied"
	failed  = "failed"
	unknown = "unknown"
)

// words are what the guard says in metadata about a command whose handler runs. The
// handler can set the same keys, as one that passes on what a guard further down has
// said, and nobody can take them back. So the guard speaks before it, and after it
// whatever happens, be it a panic: of the header a client believes one that is alone,
// of the trailer the last.
type words struct {
	header, trailer func(metadata.MD)
	outcome         string // "" if no handler has run
}

// first is called right before the handler.
func (w *words) first() {
	w.outcome = unknown
	w.header(metadata.Pairs(recordedKey, "no"))
}

// last is called when the answer is made.
func (w *words) last() {
	if w.outcome != "" {
		w.trailer(metadata.Pairs(outcomeKey, w.outcome))
	}
}

package cast

import (
	"encoding/json"
	"io"
	"sync"
)

// Lines writes JSON values, one a line, for several goroutines.
type Lines struct {
	mu sync.Mutex
	w  io.Writer
}

// NewLines returns Lines that write to w.
func NewLines(w io.Writer) *Lines { return &Lines{w: w} }

// Send writes one value. It returns json's error or w's.
func (l *Lines) Send(v any) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return json.NewEncoder(l.w).Encode(v)
}

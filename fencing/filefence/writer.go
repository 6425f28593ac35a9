package filefence

import (
	"os"
	"sync"
)

// writer is what the caller's function writes to. Not the file itself: closed, it would
// lose its flock. It keeps the first error, short writes among them, for of those the
// file returns one. A function that ignores it (who looks at what Fprintf returns?)
// would have half a file published, and its retry be a duplicate.
type writer struct {
	file *os.File
	mu   sync.Mutex
	err  error
}

// Write implements io.Writer. After an error it writes nothing: what comes later
// would stand where the lost part belongs.
func (w *writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return 0, w.err
	}
	n, err := w.file.Write(p)
	w.err = err
	return n, err
}

func (w *writer) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

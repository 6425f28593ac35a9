package filefence

import (
	"crypto/rand"
	"fmt"
	"os"

	"github.com/zkfence/zkfence/fencing/internal/flock"
)

const bodyPrefix = "new-"

// body is content on its way. Its flock tells others that its writer lives.
type body struct {
	g    *Guard
	path string
	name string
	file *os.File
	kept bool // the memory names it, or may
}

// newBody is made under the lock of the desk: between its creation and its flock
// it would look like that of a dead writer.
func (d *desk) newBody() (*body, error) {
	if err := d.clean(); err != nil {
		return nil, fmt.Errorf("filefence: clean up after others at %q: %w", d.name, err)
	}
	name := bodyPrefix + rand.Text()
	b := &body{g: d.g, name: name, path: d.folder + "/" + name}
	err := d.g.step("create " + bodyPrefix)
	if err == nil {
		b.file, err = d.g.root.OpenFile(b.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, d.g.mode)
	}
	if err != nil {
		return nil, fmt.Errorf("filefence: %q: %w", d.name, err)
	}
	if ok, err := flock.Try(b.file); !ok {
		b.discard()
		return nil, fmt.Errorf("filefence: %q: lock a new file: %w", d.name, err)
	}
	return b, nil
}

// flush is the end of step 2.
func (b *body) flush() error {
	if err := b.g.step("sync " + bodyPrefix); err != nil {
		return err
	}
	return b.file.Sync()
}

// discard removes the body unless it is to be published. What cannot be removed
// now is removed by the next writer that may read it.
func (b *body) discard() {
	if !b.kept {
		_ = b.g.root.Remove(b.path)
	}
	_ = b.file.Close()
}

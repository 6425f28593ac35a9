package filefence

import (
	"errors"
	"os"
	"path"
	"strings"
)

// shown is a path as step is told of it: bodies have random names, and folders are
// those of the file, of all memories and of this one.
func shown(p string) string {
	base := path.Base(p)
	switch {
	case strings.HasPrefix(base, bodyPrefix):
		return bodyPrefix
	case path.Dir(p) == home:
		return "folder"
	}
	return base
}

// write writes a file as a whole, to disk.
func (g *Guard) write(path string, text []byte) error {
	if err := g.step("write " + shown(path)); err != nil {
		return err
	}
	f, err := g.root.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = g.step("sync " + shown(path))
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func (g *Guard) rename(from, to string) error {
	if err := g.step("rename " + shown(from)); err != nil {
		return err
	}
	return g.root.Rename(from, to)
}

// sync makes the names in a folder durable.
func (g *Guard) sync(folder string) error {
	if err := g.step("sync " + shown(folder)); err != nil {
		return err
	}
	f, err := g.root.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

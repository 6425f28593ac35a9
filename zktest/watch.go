package zktest

import (
	"cmp"
	"slices"
	"strings"
)

// watchMode is how long a watch lives and how far it sees.
type watchMode uint8

const (
	oneShot      watchMode = iota // until its first event
	lasting                       // until it is removed
	lastingBelow                  // that, and for every node below its own
)

// watchTable holds the watches of one server on data (which includes existence)
// or on children. Watches belong to connections, and a connection has one on a
// path at most: a later one takes the place of an earlier, whatever their modes.
type watchTable struct {
	at     map[string]map[*conn]watchMode // those that see their own path only
	above  map[string]map[*conn]watchMode // those that see all below: few or none, and events look for them on every parent
	byConn map[*conn]map[string]struct{}  // a connection stays until it ends
}

func newWatchTable() *watchTable {
	return &watchTable{
		at: map[string]map[*conn]watchMode{}, above: map[string]map[*conn]watchMode{},
		byConn: map[*conn]map[string]struct{}{},
	}
}

func (w *watchTable) add(path string, c *conn, mode watchMode) {
	in, out := w.at, w.above
	if mode == lastingBelow {
		in, out = out, in
	}
	unset(out, path, c)
	if in[path] == nil {
		in[path] = map[*conn]watchMode{}
	}
	in[path][c] = mode
	if w.byConn[c] == nil {
		w.byConn[c] = map[string]struct{}{}
	}
	w.byConn[c][path] = struct{}{}
}

func unset(in map[string]map[*conn]watchMode, path string, c *conn) {
	delete(in[path], c)
	if len(in[path]) == 0 {
		delete(in, path)
	}
}

// fire removes the one-shot watches that an event of a kind on path concerns,
// and returns whose watches it concerns, each connection once, in the order
// they were accepted.
func (w *watchTable) fire(kind int32, path string) []*conn {
	var out []*conn
	at := w.at[path]
	for c, mode := range at {
		out = append(out, c)
		if mode == oneShot {
			delete(at, c)
			delete(w.byConn[c], path)
		}
	}
	if at != nil && len(at) == 0 {
		delete(w.at, path)
	}
	// Whoever sees the child come or go needs no word that the list has changed.
	if len(w.above) > 0 && kind != eventChildrenChanged {
		for p := path; p != ""; p = parentOf(p) {
			for c := range w.above[p] {
				out = append(out, c)
			}
		}
	}
	return slices.Compact(sortConns(out))
}

// sortConns puts connections into the order in which they were accepted.
func sortConns(list []*conn) []*conn {
	slices.SortFunc(list, func(a, b *conn) int { return cmp.Compare(a.number, b.number) })
	return list
}

// parentOf returns the path above an absolute one, "" above the root.
func parentOf(path string) string {
	i := strings.LastIndexByte(path, '/')
	switch {
	case path == "/" || i < 0:
		return ""
	case i == 0:
		return "/"
	}
	return path[:i]
}

// watched reports whether there is a watch on path itself, whosesoever.
func (w *watchTable) watched(path string) bool { return len(w.at[path])+len(w.above[path]) > 0 }

// remove takes away a connection's watch on path; false if there is none.
func (w *watchTable) remove(path string, c *conn) bool {
	if _, found := w.byConn[c][path]; !found {
		return false
	}
	delete(w.byConn[c], path)
	unset(w.at, path, c)
	unset(w.above, path, c)
	return true
}

// drop removes the watches of a connection that ends.
func (w *watchTable) drop(c *conn) {
	for path := range w.byConn[c] {
		unset(w.at, path, c)
		unset(w.above, path, c)
	}
	delete(w.byConn, c)
}

func (w *watchTable) count() int {
	n := 0
	for _, paths := range w.byConn {
		n += len(paths)
	}
	return n
}

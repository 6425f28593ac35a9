package zktest

import (
	"slices"
	"strings"

	"github.com/zkfence/zkfence/internal/wire"
)

// blockLen is how many names a block may hold: enough that a short list is one
// block, little enough that moving them is nothing.
const blockLen = 512

// names is a sorted set of names, so that every list of them is repeatable. It
// keeps them in blocks: in one slice, each create and delete under a parent of
// 100,000 children would move a megabyte.
//
// The zero value is empty.
type names struct {
	blocks [][]string // none is empty; each ends before the next begins
	n      int
	bytes  int // that they take in a vector of strings
}

func namesOf(list ...string) names {
	var s names
	for _, name := range list {
		s.add(name)
	}
	return s
}

func (s *names) len() int { return s.n }

// block returns the block in which name is or belongs. There must be one.
func (s *names) block(name string) int {
	i, found := slices.BinarySearchFunc(s.blocks, name, func(b []string, name string) int {
		return strings.Compare(b[0], name)
	})
	if !found && i > 0 {
		i--
	}
	return i
}

// add puts name in; nothing changes if it is there.
func (s *names) add(name string) {
	if s.n == 0 {
		s.blocks, s.n, s.bytes = [][]string{{name}}, 1, 4+len(name)
		return
	}
	i := s.block(name)
	at, found := slices.BinarySearch(s.blocks[i], name)
	if found {
		return
	}
	s.n++
	s.bytes += 4 + len(name)
	if b := s.blocks[i]; len(b) == blockLen {
		// Sequential names come in order: halves would stay half full for good.
		cut := blockLen / 2
		if at == blockLen && i == len(s.blocks)-1 {
			cut = blockLen
		}
		s.blocks = slices.Insert(s.blocks, i+1, append(make([]string, 0, blockLen), b[cut:]...))
		clear(b[cut:])
		s.blocks[i] = b[:cut]
		if at >= cut {
			i, at = i+1, at-cut
		}
	}
	s.blocks[i] = slices.Insert(s.blocks[i], at, name)
}

// remove takes name out; nothing changes if it is not there.
func (s *names) remove(name string) {
	if s.n == 0 {
		return
	}
	i := s.block(name)
	at, found := slices.BinarySearch(s.blocks[i], name)
	if !found {
		return
	}
	s.n--
	s.bytes -= 4 + len(name)
	s.blocks[i] = slices.Delete(s.blocks[i], at, at+1)
	if len(s.blocks[i]) == 0 {
		s.blocks = slices.Delete(s.blocks, i, i+1)
	}
}

// encode appends the names as a vector of strings.
func (s *names) encode(e *wire.Encoder) {
	e.Buf = slices.Grow(e.Buf, 4+s.bytes)
	e.Int32(int32(s.n))
	for _, b := range s.blocks {
		for _, name := range b {
			e.String(name)
		}
	}
}

// clone returns a set that shares nothing that changes.
func (s *names) clone() names {
	c := *s
	c.blocks = slices.Clone(s.blocks)
	for i, b := range c.blocks {
		c.blocks[i] = slices.Clone(b)
	}
	return c
}

// list returns the names in a slice of their own; nil if there are none.
func (s *names) list() []string { return slices.Concat(s.blocks...) }

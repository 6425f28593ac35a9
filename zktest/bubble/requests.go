package bubble

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"slices"

	"github.com/zkfence/zkfence/internal/wire"
)

// A frame begins with its length and, but for the two of the handshake, the
// number of the request that it is or answers.
const headLen = 8

// frameLimit is above what any client or server sends; bytes that say more are
// no frame.
const frameLimit = 64 << 20

// lenOf returns the length of the frame that b begins with, 0 if it is none.
func lenOf(b []byte) int {
	if len(b) < 4 {
		return 0
	}
	n := int(binary.BigEndian.Uint32(b))
	if n < headLen-4 || n > frameLimit {
		return 0
	}
	return 4 + n
}

func xidOf(frame []byte) int32 { return int32(binary.BigEndian.Uint32(frame[4:])) }

func setXid(frame []byte, xid int32) { binary.BigEndian.PutUint32(frame[4:], uint32(xid)) }

// split cuts frames apart; nil if these are none, or not whole.
func split(b []byte) (frames [][]byte) {
	for len(b) > 0 {
		n := lenOf(b)
		if n == 0 || n > len(b) {
			return nil
		}
		frames = append(frames, b[:n:n])
		b = b[n:]
	}
	return frames
}

// order sorts requests that were sent in one instant and hands their numbers out
// anew, in ascending order. given gets the number that each request had, by the
// one it has now, unless they are the same.
func order(frames [][]byte, seed uint64, given map[int32]int32) {
	if len(frames) < 2 {
		return
	}
	slices.SortStableFunc(frames, func(a, b []byte) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(draw(a, seed), draw(b, seed)), bytes.Compare(a[headLen:], b[headLen:]))
	})
	var numbers []int32
	for _, f := range frames {
		if xid := xidOf(f); xid > 0 { // a ping keeps its own
			numbers = append(numbers, xid)
		}
	}
	slices.Sort(numbers)
	for _, f := range frames {
		own := xidOf(f)
		if own <= 0 {
			continue
		}
		if numbers[0] != own {
			given[numbers[0]] = own
			setXid(f, numbers[0])
		}
		numbers = numbers[1:]
	}
}

// rank keeps behind the others what no client sends before them.
func rank(frame []byte) int {
	h, err := wire.ParseRequestHeader(frame[4:])
	switch {
	case err != nil:
		return 0
	case h.Op == wire.OpSetWatches, h.Op == wire.OpSetWatches2:
		return 1 // what has waited for the connection goes first
	case h.Op == wire.OpCloseSession:
		return 2
	}
	return 0
}

// draw is a request's place among those of one instant.
func draw(frame []byte, seed uint64) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(binary.BigEndian.AppendUint64(nil, seed)) // it takes everything
	_, _ = h.Write(frame[headLen:])
	return h.Sum64()
}

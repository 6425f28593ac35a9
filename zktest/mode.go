package zktest

import (
	"math"

	"github.com/zkfence/zkfence/internal/wire"
)

// nodeKind is what makes a node go by itself.
type nodeKind uint8

const (
	persistent nodeKind = iota // nothing
	ephemeral                  // the end of its session
	container                  // the loss of its last child
	transient                  // having neither children nor changes for its TTL
)

// Flags of a create, beyond those for ephemeral and sequential.
const (
	flagContainer     int32 = 4
	flagTTL           int32 = 5
	flagSequentialTTL int32 = 6
)

// maxTTL is the longest TTL, 34 years.
const maxTTL = 1<<40 - 1

// fatal is the code of a request that would kill the thread of a real server
// that should answer it. Here it ends the connection that it came on.
const fatal Code = math.MinInt32

// createMode is what the flags of a create mean.
type createMode struct {
	kind       nodeKind
	sequential bool
}

func modeFor(op Op, r createRequest) (createMode, Code) {
	hasTTL := r.flags == flagTTL || r.flags == flagSequentialTTL
	switch {
	case r.flags < 0 || r.flags > flagSequentialTTL:
		return createMode{}, wire.BadArguments
	case hasTTL && (r.ttl <= 0 || r.ttl > maxTTL), !hasTTL && r.ttl >= 0:
		return createMode{}, wire.BadArguments
	case hasTTL:
		return createMode{kind: transient, sequential: r.flags == flagSequentialTTL}, wire.OK
	case op == OpCreateContainer:
		return createMode{kind: container, sequential: r.flags == 2 || r.flags == 3}, wire.OK
	case r.flags == flagContainer:
		return createMode{}, wire.OK // the flag makes a container only where the operation does too
	}
	m := createMode{sequential: r.flags&2 != 0}
	if r.flags&1 != 0 {
		m.kind = ephemeral
	}
	return m, wire.OK
}

package zktest

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/zkfence/zkfence/internal/wire"
)

// Op is a request's operation code, a number of the protocol's: what faults,
// counts and hooks are told to look for, and Request.Op. Its String is the name in
// traces, logs and the commands of cmd/zktest: the constant's without Op and with
// a small letter first, getChildren2 for OpGetChildren2, except that OpSASL is
// sasl and OpGetAllChildren getAllChildrenNumber.
type Op = wire.Op

// Operations that faults and counts can name.
const (
	// OpCreate is the create of the oldest clients, go-zookeeper's and kazoo's
	// among them. Faults and counts take an operation at its word: Curator creates
	// by create2, kazoo does with include_data, and containers and nodes with a TTL
	// have operations of their own. AnyCreate means them all.
	OpCreate          = wire.OpCreate
	OpDelete          = wire.OpDelete
	OpExists          = wire.OpExists
	OpGetData         = wire.OpGetData
	OpSetData         = wire.OpSetData
	OpGetACL          = wire.OpGetACL
	OpSetACL          = wire.OpSetACL
	OpGetChildren     = wire.OpGetChildren
	OpSync            = wire.OpSync
	OpPing            = wire.OpPing
	OpGetChildren2    = wire.OpGetChildren2
	OpCheck           = wire.OpCheck
	OpMulti           = wire.OpMulti
	OpCreate2         = wire.OpCreate2
	OpCreateContainer = wire.OpCreateContainer
	OpCreateTTL       = wire.OpCreateTTL
	OpMultiRead       = wire.OpMultiRead
	OpAddWatch        = wire.OpAddWatch
	OpRemoveWatches   = wire.OpRemoveWatches
	OpCheckWatches    = wire.OpCheckWatches
	OpGetEphemerals   = wire.OpGetEphemerals
	OpGetAllChildren  = wire.OpGetAllChildren
	OpWhoAmI          = wire.OpWhoAmI
	OpReconfig        = wire.OpReconfig
	OpSASL            = wire.OpSASL
	OpSetAuth         = wire.OpSetAuth
	OpSetWatches      = wire.OpSetWatches
	OpSetWatches2     = wire.OpSetWatches2
	OpCloseSession    = wire.OpCloseSession
	// OpCreateSession stands for the handshake that opens every connection, the
	// first of a session or a later one.
	OpCreateSession = wire.OpCreateSession
	// OpNotify stands for an event from server to client in a trace.
	OpNotify = wire.OpNotify

	// AnyOp stands for every request except pings and handshakes.
	AnyOp Op = math.MinInt32
	// AnyCreate stands for OpCreate, OpCreate2, OpCreateContainer and OpCreateTTL.
	// A create within a multi is no request of its own: that is OpMulti.
	AnyCreate Op = math.MinInt32 + 2

	opSetSequence Op = math.MinInt32 + 4 // an operator's, in a transaction

	everyOp   Op = math.MinInt32 + 1 // pings and handshakes too
	notStolen Op = math.MinInt32 + 3 // covered by no rule that steals
)

// covers reports whether a rule for want applies to op.
func covers(want, op Op) bool {
	switch want {
	case AnyOp:
		return op != OpPing && op != OpCreateSession
	case everyOp:
		return true
	case AnyCreate:
		return op == OpCreate || op == OpCreate2 || op == OpCreateContainer || op == OpCreateTTL
	}
	return want == op
}

// stealable returns op if it may be stolen: a create of a name in the manner of
// a protected lock node, which a client recognises as its own by its GUID.
func stealable(op Op, path string) Op {
	if strings.HasPrefix(path[strings.LastIndexByte(path, '/')+1:], "_c_") {
		return op
	}
	return notStolen
}

// pathIn returns the first path in a request's body.
func pathIn(op Op, body []byte) string {
	d := wire.NewDecoder(body)
	switch op {
	case OpPing, OpCloseSession, OpSetAuth, OpSetWatches, OpSetWatches2, OpWhoAmI, OpReconfig, OpSASL:
		return ""
	case OpMulti, OpMultiRead:
		if d.Int32(); d.Bool() {
			return ""
		}
		d.Int32()
	}
	return d.String()
}

func credentialsFrom(r wire.ConnectResponse) credentials {
	return credentials{password: r.Password, timeout: time.Duration(r.TimeoutMs) * time.Millisecond}
}

// eventName returns the name of a watch event's type.
func eventName(kind int32) string {
	switch kind {
	case eventCreated:
		return "NodeCreated"
	case eventDeleted:
		return "NodeDeleted"
	case eventDataChanged:
		return "NodeDataChanged"
	case eventChildrenChanged:
		return "NodeChildrenChanged"
	}
	return "event"
}

// opName returns the name of an operation or of a constant that stands for some.
func opName(op Op) string {
	switch op {
	case AnyOp:
		return "any"
	case AnyCreate:
		return "any-create"
	}
	return op.String()
}

func timesName(n int) string {
	if n < 0 {
		return "always"
	}
	return fmt.Sprintf("×%d", n)
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

package zktest

import (
	"time"

	"github.com/zkfence/zkfence/internal/wire"
)

// account is what monitoring is told of a connection.
type account struct {
	since          time.Time
	received, sent int64
	op             string // the last request's, in ZooKeeper's four letters
	xid            int64  // of the last request of the ordinary kind; none if negative
	zxid           int64  // in the last reply
	replied        time.Duration
}

func newAccount() account { return account{since: time.Now(), op: "null"} }

// note takes down that a request has been answered at now. One whose body or
// transaction has failed has no name.
func (a *account) note(h wire.RequestHeader, code Code, zxid int64, now time.Duration) {
	a.op, a.zxid, a.replied = shortName(h.Op), zxid, now
	if h.Xid >= 0 {
		a.xid = int64(h.Xid)
	}
	if code != wire.OK && (h.Op.Commits() || h.Op == OpReconfig || h.Op == OpCheck) {
		a.op = "NA"
	}
}

// reset is what the word crst does.
func (a *account) reset() { *a = account{since: a.since, op: "NA", xid: -1, zxid: -1} }

func shortName(op Op) string {
	switch op {
	case OpCreateSession:
		return "SESS"
	case OpCloseSession:
		return "CLOS"
	case OpPing:
		return "PING"
	case OpSync:
		return "SYNC"
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL:
		return "CREA"
	case OpDelete:
		return "DELE"
	case OpSetData:
		return "SETD"
	case OpSetACL:
		return "SETA"
	case OpMulti:
		return "MULT"
	case OpMultiRead:
		return "MLTR"
	case OpExists:
		return "EXIS"
	case OpGetData:
		return "GETD"
	case OpGetACL:
		return "GETA"
	case OpGetChildren, OpGetChildren2:
		return "GETC"
	case OpGetAllChildren:
		return "GETACN"
	case OpGetEphemerals:
		return "GETE"
	case OpSetWatches:
		return "SETW"
	case OpSetWatches2:
		return "STW2"
	case OpAddWatch:
		return "ADDW"
	case OpCheckWatches:
		return "CHKW"
	case OpRemoveWatches:
		return "REMW"
	case OpWhoAmI:
		return "HOMI"
	}
	return "NA"
}

package zktest

import "github.com/zkfence/zkfence/internal/wire"

// Code is the error code in a reply, a number of the protocol's: CodeOK, or why
// the request was refused. Request.Err is one, and can be compared with those
// below; its String is in words, as in "no node".
type Code = wire.Code

// The codes of ZooKeeper 3.8, by its own names for them.
const (
	CodeOK                      = wire.OK
	CodeSystemError             = wire.SystemError
	CodeRuntimeInconsistency    = wire.RuntimeInconsistency // of what stands behind a failed operation in a multi
	CodeDataInconsistency       = wire.DataInconsistency
	CodeConnectionLoss          = wire.ConnectionLoss // which clients make up themselves
	CodeMarshallingError        = wire.MarshallingError
	CodeUnimplemented           = wire.Unimplemented
	CodeOperationTimeout        = wire.OperationTimeout
	CodeBadArguments            = wire.BadArguments
	CodeNoNode                  = wire.NoNode
	CodeNoAuth                  = wire.NoAuth
	CodeBadVersion              = wire.BadVersion
	CodeNoChildrenForEphemerals = wire.NoChildrenForEphemerals
	CodeNodeExists              = wire.NodeExists
	CodeNotEmpty                = wire.NotEmpty
	CodeSessionExpired          = wire.SessionExpired // of a handshake whose answer says so
	CodeInvalidCallback         = wire.InvalidCallback
	CodeInvalidACL              = wire.InvalidACL
	CodeAuthFailed              = wire.AuthFailed
	CodeSessionMoved            = wire.SessionMoved
	CodeNotReadOnly             = wire.NotReadOnly
	CodeEphemeralOnLocalSession = wire.EphemeralOnLocalSession
	CodeNoWatcher               = wire.NoWatcher
	CodeReconfigDisabled        = wire.ReconfigDisabled
)

// Package grpcfence carries Stamps over gRPC: client interceptors put the Stamp of the
// context into the metadata, server interceptors judge it before the handler.
//
// It does not know who is speaking: whoever can reach the server can present
// 0x7fffffffffffffff, and everybody else is refused from then on. Authenticate in an
// interceptor before these. It protects nothing that is written by another way, and
// it is no transaction with what the handler writes: package door says what that
// means for lost answers, and its Door judges and remembers.
//
// # On the wire
//
//	fence-stamp: 0x200000007:3      the command's Stamp
//	fence-op: pay-17                optional, of unary calls: its operation ID, percent-encoded
//	fence-recorded: 0x200000007:3   header of an answer that was recorded when the
//	                                command was applied: the Stamp remembered now;
//	                                "no" if its handler has run
//	fence-outcome: failed           trailer: the handler has failed, and says that it
//	                                has applied nothing; else "applied" or "unknown"
//
// A handler can set the last two as well, and a guard's word cannot be taken for its
// own: a fence-recorded that is not alone says nothing, and of several values of
// fence-outcome the last is the guard's.
//
// Methods for which Reads is true pass unjudged; all others are commands. A refusal
// is a status with an ErrorInfo of the domain zkfence.github.io:
//
//	STALE, SUPERSEDED          FAILED_PRECONDITION, metadata resource, presented, highest
//	DUPLICATE                  ALREADY_EXISTS, the same: applied, and no answer is recorded
//	UNKNOWN_OUTCOME            UNKNOWN: it may have been applied
//	UNSETTLED                  UNAVAILABLE, with a RetryInfo: an earlier command's answer was
//	                           lost and it can still take effect
//	STAMP_MISSING              FAILED_PRECONDITION
//	STAMP_MALFORMED, ZERO_TOKEN, ZERO_SEQ, BAD_RESOURCE, BAD_OP   INVALID_ARGUMENT
//	NOT_RUN                    UNAVAILABLE or INTERNAL: the memory, or the time, has failed
//
// An ErrorInfo of this domain in a handler's own error is the word of a guard further
// down, on another memory, and is taken out.
//
// The client interceptors make of it an error that matches package fencing's by
// errors.Is and errors.As and still has its status. An error on which the guard has
// said nothing (the connection broke, the deadline came first, the server could not be
// reached) matches fencing.ErrUnknownOutcome: gRPC does not say what was sent.
//
// # Unary and streams
//
// The answer to a unary command is sent once its outcome is in the Door's memory, and
// recorded if it is a protobuf message of at most the Door's MaxOutcome; a repetition
// gets that, with no error. A stream is one command from its first message to its
// last: what the handler sends on the way is no acknowledgement, the OK at its end is.
// The repetition of a stream is a DUPLICATE.
package grpcfence

// Package httpfence carries Stamps over HTTP: a RoundTripper puts them into
// requests, a handler judges them before another handler, and a gateway judges them
// in front of a service that cannot.
//
// It does not know who is speaking. A Stamp proves order and no identity: whoever
// can reach the handler can present 0x7fffffffffffffff, and everybody else is
// refused from then on, until an operator overrides: by Override of the same Door,
// while the server runs, from a handler of your own with an authentication of its own
// (see the Gateway's example). Authenticate first, that is outside:
// auth(guard(service)). It protects nothing that is written by another way
// than through it, and it is no transaction with the service: what that means for
// answers that are lost is said in package door, whose Door does the judging and
// has the memory.
//
// # On the wire
//
//	Fence-Stamp: 0x200000007:3   the command's Stamp
//	Fence-Op: pay-17             optional: its operation ID, percent-encoded UTF-8
//	Fence-Raise: 0x200000007     instead of both: raise the floor, run nothing
//	Fence-Raised: 0x200000007    with the 204 to that: it has been
//	Fence-Recorded: 0x200000007:3   in an answer: it was recorded when the command was
//	                             applied, and this is the Stamp remembered now
//	Fence-Outcome: applied       in an answer that is a handler's: what it says became
//	                             of the command; or failed
//
// GET, HEAD, OPTIONS and TRACE are reads and pass unjudged, unless they ask for
// another protocol. All else is a command:
//
//	its answer       it ran, or was recorded (with Fence-Recorded): for the same Stamp
//	                 as the last, for a known operation ID under any Token
//	400              header that cannot be read, zero Token or Seq, bad resource or ID
//	409              stale, superseded, or a duplicate whose answer is not recorded
//	413              the body is longer than MaxBody
//	428              no Fence-Stamp
//	500              the memory failed, and the command has not run
//	502              unknown outcome: it may have been applied, see package door; a
//	                 handler's own 503 or 504 says no more; or, of another type, the
//	                 service was not reached and it has not run
//	501              it asks for another protocol, and has not run
//	503              with Retry-After: an earlier command's answer was lost and it can
//	                 still take effect; without: the request's time was over before its
//	                 turn, or the guard is shut down. The command has not run.
//
// A 5xx that is none of these, without Fence-Outcome, is of whoever
// stands before the guard: a proxy, or an http.TimeoutHandler, that has given up
// waiting for a command that goes on. A 2xx or 3xx without it is a login's page, or no
// guard stands there. Error takes both for an unknown outcome. A request that is refused
// for its body, its operation ID or its resource's name raises no floor: where an older
// owner must write nothing more, Raise first.
//
// The guard's own are problem documents (RFC 9457) with the members resource, presented and
// highest where there are such. [Error] makes of a response what package fencing
// calls it. Of an answer to a command that is its handler's, or the service's, such a
// document becomes application/json, and Fence-Recorded and Fence-Outcome go: they are
// the word of a guard further down, on another memory.
//
// # A command
//
// Its body is read before its turn, so that no slow client keeps others waiting, and
// its answer is held back until the outcome is in the memory, so that none is
// acknowledged before. So both are bounded: bodies by MaxBody, answers by the Door's
// MaxOutcome (64 KiB unless set), status line and headers included. The answer to a
// command that was applied with a longer one is 409, duplicate; raise the limit where
// a service says that much. Commands cannot stream or change protocols.
//
// Set-Cookie, and the headers of one connection (Connection and what it names,
// Transfer-Encoding and such), go with the first answer alone: they are not recorded.
package httpfence

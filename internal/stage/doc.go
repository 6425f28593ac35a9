// Package stage is where tests of the recipes play their cases: a server, faults
// between it and its clients, an operator's hand, and somebody who writes down
// what was let in. A case is written once and played in virtual time on the
// in-memory server, and in real time on a real one behind a proxy.
//
// It imports testing; only tests import it.
package stage

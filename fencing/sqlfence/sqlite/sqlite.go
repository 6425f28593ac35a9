// Package sqlite has the dialect of sqlfence for SQLite with modernc.org/sqlite. It
// promises nothing that package sqlfence does not, and links the driver.
package sqlite

import (
	"errors"

	"modernc.org/sqlite"

	"github.com/zkfence/zkfence/fencing/sqlfence"
)

// Dialect is SQLite's. Give the database a busy_timeout (_pragma=busy_timeout(5000)
// in its name): without one, writers that meet are in conflict at once. Leave
// synchronous at FULL: at NORMAL, a power cut in WAL mode takes the last acknowledged
// writes, and the floor with them. The guard's tables are in the database "main".
func Dialect() sqlfence.Dialect { return sqlfence.SQLite(fault) }

// fault judges by the primary code, the lower byte.
func fault(err error) sqlfence.Fault {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return sqlfence.Unknown
	}
	switch e.Code() & 0xff {
	case 5, 6: // BUSY, LOCKED
		return sqlfence.Conflict
	case 8: // READONLY
		return sqlfence.ReadOnly
	case 13: // FULL
		return sqlfence.Full
	case 1: // ERROR: bad SQL, and "cannot commit - no transaction is active"
		return sqlfence.RefusedStatement
	case 3, 4, 9, 12, 17, 18, 19, 20, 21, 23, 25:
		// PERM, ABORT, INTERRUPT, NOTFOUND, SCHEMA, TOOBIG, CONSTRAINT,
		// MISMATCH, MISUSE, AUTH, RANGE. The others (IOERR, NOMEM, CORRUPT) do not
		// tell what has reached the disk.
		return sqlfence.Refused
	}
	return sqlfence.Unknown
}

// Package postgres has the dialect of sqlfence for PostgreSQL with pgx v5's adapter
// for database/sql. It promises nothing that package sqlfence does not, and links the
// driver, under the name "pgx".
package postgres

import (
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib" // whoever has the dialect wants the driver

	"github.com/zkfence/zkfence/fencing/sqlfence"
)

// Dialect is PostgreSQL's.
func Dialect() sqlfence.Dialect { return sqlfence.PostgreSQL(fault) }

func fault(err error) sqlfence.Fault {
	if errors.Is(err, pgx.ErrTxCommitRollback) {
		return sqlfence.Refused // a COMMIT in a transaction with a failed statement
	}
	var e *pgconn.PgError
	// FATAL and PANIC end the connection, and may come behind a commit that has
	// been done.
	if !errors.As(err, &e) || e.SeverityUnlocalized != "ERROR" && (e.SeverityUnlocalized != "" || e.Severity != "ERROR") {
		return sqlfence.Unknown
	}
	switch e.Code {
	case "40001", "40P01": // serialization_failure, deadlock_detected
		return sqlfence.Conflict
	case "40003": // statement_completion_unknown, which poolers send
		return sqlfence.Unknown
	case "42P01": // undefined_table
		return sqlfence.NoTable
	case "25006": // read_only_sql_transaction
		return sqlfence.ReadOnly
	case "53100": // disk_full
		return sqlfence.Full
	}
	if len(e.Code) == 5 && e.Code[:2] == "08" { // the connection's
		return sqlfence.Unknown
	}
	return sqlfence.Refused
}

// Package mysql has the dialect of sqlfence for MySQL and MariaDB with
// go-sql-driver/mysql. It promises nothing that package sqlfence does not, and links
// the driver.
package mysql

import (
	"errors"

	"github.com/go-sql-driver/mysql"

	"github.com/zkfence/zkfence/fencing/sqlfence"
)

// Dialect is that of MySQL and MariaDB. Give the data source a readTimeout: without
// one, a commit whose answer is lost in the network is waited for for ever.
func Dialect() sqlfence.Dialect { return sqlfence.MySQL(fault) }

func fault(err error) sqlfence.Fault {
	var e *mysql.MySQLError
	if !errors.As(err, &e) {
		return sqlfence.Unknown
	}
	switch e.Number {
	case 1213, 1020, 3101: // a deadlock, a row that has changed since it was read, a certification that failed at the commit
		return sqlfence.Conflict
	case 1146: // no such table
		return sqlfence.NoTable
	case 1290, 1792, 1836: // an option of the server, the transaction, the server is read-only
		return sqlfence.ReadOnly
	case 1021, 1114: // the disk, the table is full
		return sqlfence.Full
	case 1053, 1105, 1158, 1159, 1160, 1161, 1180, 1181, 1196, 1317, 1927, 3024, 3169:
		// Ended or cut off by the server, or an error during COMMIT or ROLLBACK: as
		// far as the number tells, the commit may have been done.
		return sqlfence.Unknown
	}
	return sqlfence.Refused
}

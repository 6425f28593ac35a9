package sqlfence

import (
	"encoding/hex"
	"strconv"
	"strings"
)

// Fault is what a driver's error says about the statement that it is of.
type Fault int

const (
	// Unknown says nothing: the connection may have been lost. After a COMMIT, or a
	// statement by itself, the outcome is unknown then.
	Unknown Fault = iota
	// Refused says that the database has answered, and the statement has changed nothing.
	Refused
	// Conflict is Refused by reason of what others were doing (a deadlock, a failed
	// serialization, a busy database). The same again may succeed.
	Conflict
	// NoTable is Refused because a table does not exist.
	NoTable
	// ReadOnly is Refused because nothing can be written here.
	ReadOnly
	// Full is Refused because there is no room.
	Full
	// RefusedStatement is Refused of a statement and Unknown of a COMMIT: it is also
	// what a COMMIT meets that finds no transaction open, because somebody has
	// committed it or rolled it back already.
	RefusedStatement
)

// Dialect is one database's way of saying it, and what its driver's errors mean.
// The packages below this one have it for three drivers: postgres.Dialect (pgx
// v5), mysql.Dialect (go-sql-driver/mysql) and sqlite.Dialect (modernc.org/sqlite).
type Dialect struct {
	words words
	fault func(error) Fault
}

// PostgreSQL is the dialect of PostgreSQL 11 and newer with another driver than
// pgx. fault judges the driver's errors by type or code, wrapped ones too; what it
// does not know is Unknown. An error with which a COMMIT was answered and that is
// neither Unknown nor RefusedStatement proves that nothing was committed. The driver's Commit must fail in a
// transaction that the server has rolled back.
func PostgreSQL(fault func(error) Fault) Dialect { return Dialect{postgreSQL{}, fault} }

// MySQL is the dialect of MySQL 8.0.29 and newer and MariaDB 10.5 and newer with
// another driver than go-sql-driver/mysql. fault is as in PostgreSQL. It is tested
// against MariaDB alone.
func MySQL(fault func(error) Fault) Dialect { return Dialect{mySQL{}, fault} }

// SQLite is the dialect of SQLite 3.35 and newer with another driver than
// modernc.org/sqlite. fault is as in PostgreSQL.
func SQLite(fault func(error) Fault) Dialect { return Dialect{sqLite{}, fault} }

// statement is one statement of ours. It counts its values, so that they are
// written in the order in which the database numbers them.
type statement struct {
	words words
	text  string
	args  []any
}

// value adds v, an int64, a string or a []byte, and returns what stands for it.
func (s *statement) value(v any) string {
	text, bound := s.words.value(len(s.args)+1, v)
	if bound {
		s.args = append(s.args, v)
	}
	return text
}

// words are the database's.
type words interface {
	// quote quotes a name that validName lets through.
	quote(name string) string
	// value is the nth value of a statement, and whether it is bound or written out.
	value(n int, v any) (text string, bound bool)
	// placeholder is the nth value of somebody else's statement.
	placeholder(n int) string
	// forUpdate ends a SELECT of rows that must not change until the commit.
	forUpdate() string
	// rfc3339 is an expression for the text of a column of time.
	rfc3339(column string) string
	// judge is the one upsert that admits a command or does not; seal ends what it
	// has begun, and must change one row. mark: a trigger looks at that.
	judge(n names, resource string, token, seq int64, mark bool) statement
	seals(triggers bool) bool
	seal(n names, resource string, token, seq int64) statement
	// raise is the upsert that raises the floor.
	raise(n names, resource string, token int64) statement
	// unmark takes away what judge has marked, behind a raise that has changed
	// nothing; without a text where raise does so itself, or there is no mark.
	unmark(n names, resource string) statement
	// passed reads the result of judge and raise.
	passed(r result) (bool, error)
	// now is the present time, for a column of it; ago the time before that.
	now() string
	ago(seconds int64) string
	// isTable asks for the number of tables of a name, "" where errors tell.
	isTable() string

	tables(n names) []string
	fenced(n names, t Table) ([]string, error)
	fencedRows(n names, r Rows) ([]string, error)
	// migrate says whether what tables returned is run in a transaction, and what
	// before, so that two processes at once do not meet.
	migrate() (transaction bool, before string)
}

// result is a sql.Result.
type result interface {
	LastInsertId() (int64, error)
	RowsAffected() (int64, error)
}

func oneRow(r result) (bool, error) {
	n, err := r.RowsAffected()
	return n == 1, err
}

// names are the guard's own tables.
type names struct{ prefix string }

func (n names) guard() string     { return n.prefix + "_guard" }
func (n names) operation() string { return n.prefix + "_operation" }
func (n names) override() string  { return n.prefix + "_override" }

// quoted quotes each part of a name between dots.
func quoted(name string, mark string) string {
	return mark + strings.ReplaceAll(name, ".", mark+"."+mark) + mark
}

// base is a name without what stands before its dot.
func base(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// beside is a name of our own in the schema of a table.
func beside(table, name string) string {
	return table[:strings.LastIndexByte(table, '.')+1] + name
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// hexadecimal is b as a literal that no character set and no mode of the server
// reads in another way.
func hexadecimal(b string) string { return "x'" + hex.EncodeToString([]byte(b)) + "'" }

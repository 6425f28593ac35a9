package sqlfence

import (
	"fmt"
	"strings"
)

// sqLite marks the row as being written to from the upsert to the seal, in the
// same transaction. What is committed never has the mark, so whoever sees it is in
// a transaction that has passed the fence: that is what the trigger asks. The seal
// also finds out when the transaction has been rolled back under the function,
// as SQLite does on a full disk: the row is then not as the upsert left it.
type sqLite struct{}

func (sqLite) quote(name string) string          { return quoted(name, `"`) }
func (sqLite) value(n int, _ any) (string, bool) { return "?" + decimal(int64(n)), true }
func (sqLite) placeholder(int) string            { return "?" }
func (sqLite) forUpdate() string                 { return "" } // there is one writer
func (sqLite) rfc3339(column string) string      { return column }
func (sqLite) passed(r result) (bool, error)     { return oneRow(r) }
func (sqLite) now() string                       { return "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')" }
func (sqLite) isTable() string {
	return "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?"
}
func (sqLite) migrate() (transaction bool, lock string) { return true, "" }
func (sqLite) seals(bool) bool                          { return true }

func (sqLite) ago(seconds int64) string {
	return fmt.Sprintf("strftime('%%Y-%%m-%%dT%%H:%%M:%%fZ', 'now', '-%d seconds')", seconds)
}

func (w sqLite) judge(n names, resource string, token, seq int64, _ bool) statement {
	s := statement{words: w}
	upsert(&s, w, n, resource, token, seq, "1")
	return s
}

func (w sqLite) raise(n names, resource string, token int64) statement {
	s := statement{words: w}
	upsertFloor(&s, w, n, resource, token, ", writing = 0")
	return s
}

func (w sqLite) unmark(n names, resource string) statement {
	s := statement{words: w}
	s.text = fmt.Sprintf("UPDATE %s SET writing = 0 WHERE resource = %s AND writing = 1", w.quote(n.guard()), s.value(resource))
	return s
}

func (w sqLite) seal(n names, resource string, token, seq int64) statement {
	return seal(w, n, resource, token, seq)
}

func seal(w words, n names, resource string, token, seq int64) statement {
	s := statement{words: w}
	s.text = fmt.Sprintf("UPDATE %s SET writing = 0 WHERE resource = %s AND token = %s AND seq = %s AND writing = 1",
		w.quote(n.guard()), s.value(resource), s.value(token), s.value(seq))
	return s
}

// The collation is BINARY, memcmp of the bytes: the default, and written out lest
// somebody copies the table with another.
func (w sqLite) tables(n names) []string {
	return []string{
		`CREATE TABLE IF NOT EXISTS ` + w.quote(n.guard()) + ` (
  resource   TEXT COLLATE BINARY NOT NULL PRIMARY KEY,
  token      INTEGER NOT NULL CHECK (typeof(token) = 'integer' AND token >= 0),
  seq        INTEGER NOT NULL CHECK (typeof(seq) = 'integer' AND seq >= 0),
  updated_at TEXT NOT NULL,
  writing    INTEGER NOT NULL DEFAULT 0 -- 1 within a transaction that has passed the fence, and never after it
) WITHOUT ROWID`,
		`CREATE TABLE IF NOT EXISTS ` + w.quote(n.operation()) + ` (
  resource TEXT COLLATE BINARY NOT NULL,
  op_id    TEXT COLLATE BINARY NOT NULL,
  token    INTEGER NOT NULL,
  seq      INTEGER NOT NULL,
  outcome  BLOB NOT NULL,
  done_at  TEXT NOT NULL,
  PRIMARY KEY (resource, op_id)
) WITHOUT ROWID`,
		`CREATE INDEX IF NOT EXISTS ` + w.quote(n.operation()+"_done_at") + ` ON ` + w.quote(base(n.operation())) + ` (done_at)`, // Forget's
		`CREATE TABLE IF NOT EXISTS ` + w.quote(n.override()) + ` (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  resource   TEXT COLLATE BINARY NOT NULL,
  from_token INTEGER NOT NULL,
  from_seq   INTEGER NOT NULL,
  to_token   INTEGER NOT NULL,
  to_seq     INTEGER NOT NULL,
  who        TEXT NOT NULL,
  why        TEXT NOT NULL,
  done_at    TEXT NOT NULL,
  writing    INTEGER NOT NULL DEFAULT 0
)`,
	}
}

func (w sqLite) fenced(n names, t Table) ([]string, error) {
	open := func(row string) string {
		return fmt.Sprintf("NOT EXISTS (SELECT 1 FROM %s WHERE resource = %s AND writing = 1)", w.quote(base(n.guard())), w.resource(t, row))
	}
	return w.triggers(n, t.Name, map[string]string{
		"INSERT": open("NEW"),
		"UPDATE": open("OLD") + " OR " + open("NEW"), // a row must not be taken from one resource to another by one fence
		"DELETE": open("OLD"),
	}), nil
}

func (w sqLite) resource(t Table, row string) string {
	if t.Column == "" {
		return text(t.Resource)
	}
	return fmt.Sprintf("%s || CAST(%s.%s AS TEXT)", text(t.Prefix), row, w.quote(t.Column))
}

// text is a literal: there are no escapes but the doubled quote.
func text(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func (w sqLite) fencedRows(n names, r Rows) ([]string, error) {
	token, seq := w.quote(r.Token), w.quote(r.Seq)
	permit := fmt.Sprintf("NOT EXISTS (SELECT 1 FROM %s WHERE resource = %s || CAST(OLD.%s AS TEXT) AND writing = 1)",
		w.quote(base(n.override())), text(r.Table+"/"), w.quote(r.Key))
	return w.triggers(n, r.Table, map[string]string{
		"INSERT": fmt.Sprintf("NOT COALESCE(NEW.%s > 0, 0)", token),
		"UPDATE": fmt.Sprintf("NOT COALESCE((OLD.%[1]s, OLD.%[2]s) < (NEW.%[1]s, NEW.%[2]s), 0) AND %[3]s", token, seq, permit),
		"DELETE": "1", // with the row goes its floor
	}), nil
}

func (w sqLite) triggers(n names, table string, bypassed map[string]string) []string {
	var all []string
	for _, event := range []string{"INSERT", "UPDATE", "DELETE"} {
		name := beside(table, base(n.prefix)+"_"+base(table)+"_"+strings.ToLower(event))
		all = append(all, fmt.Sprintf("CREATE TRIGGER IF NOT EXISTS %s AFTER %s ON %s FOR EACH ROW WHEN %s\nBEGIN\n  SELECT RAISE(ABORT, %s);\nEND",
			w.quote(name), event, w.quote(base(table)), bypassed[event], text(bypass(event, table))))
	}
	return all
}

// bypass is what a trigger says.
func bypass(event, table string) string {
	return fmt.Sprintf("zkfence: this %s bypasses the fence of table %s", event, table)
}

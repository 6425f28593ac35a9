package sqlfence

import (
	"fmt"
	"strings"
)

// mySQL writes its values out, texts as hexadecimal: they are then neither
// prepared in a round trip of their own nor read by a character set or a mode, and
// as binary strings they are compared byte by byte.
type mySQL struct{}

func (mySQL) quote(name string) string { return quoted(name, "`") }
func (mySQL) placeholder(int) string   { return "?" }
func (mySQL) forUpdate() string        { return " FOR UPDATE" }
func (mySQL) now() string              { return "UTC_TIMESTAMP(6)" }
func (mySQL) isTable() string          { return "" }
func (mySQL) seals(triggers bool) bool { return triggers }

func (mySQL) value(_ int, v any) (string, bool) {
	switch v := v.(type) {
	case int64:
		return decimal(v), false
	case string:
		return hexadecimal(v), false
	case []byte:
		return hexadecimal(string(v)), false
	}
	return "?", true
}

func (mySQL) rfc3339(column string) string {
	return fmt.Sprintf("DATE_FORMAT(%s, '%%Y-%%m-%%dT%%H:%%i:%%s.%%fZ')", column)
}

func (mySQL) ago(seconds int64) string {
	return fmt.Sprintf("UTC_TIMESTAMP(6) - INTERVAL %d SECOND", seconds)
}

// DDL commits by itself here, and each statement waits for the others'.
func (mySQL) migrate() (transaction bool, lock string) { return false, "" }

// judge is the same as upsert, in the way of MySQL.
//
// Invariant and interleaving are those of upsert. There is no WHERE in ON DUPLICATE
// KEY UPDATE, so each column is judged by itself, token last: an assignment sees
// what the ones before it have done, unless the mode SIMULTANEOUS_ASSIGNMENT is on;
// in this order both come to the same.
//
// Which way it went is told by LAST_INSERT_ID: the count of rows is 1 for an insert
// and, with the driver's clientFoundRows, also for a row that was left as it was.
//
// The upsert locks the newest version of the row at every isolation level, waiting
// for whoever has it, also where it then changes nothing; and it opens no snapshot,
// so that at REPEATABLE READ the first SELECT of the function sees everything that
// was committed before. Two first commands at once meet in the primary key; where
// the first then rolls back, those behind it can end as deadlocks, which are tried
// again.
func (w mySQL) judge(n names, resource string, token, seq int64, mark bool) statement {
	s := statement{words: w}
	newer := fmt.Sprintf("(token, seq) < (%d, %d)", token, seq)
	column, value, update := "", "", ""
	if mark {
		column, value, update = ", writing", ", 1", fmt.Sprintf(", writing = IF(%s, 1, writing)", newer)
	}
	s.text = fmt.Sprintf("INSERT INTO %[1]s (resource, updated_at, seq, token%[2]s) VALUES (%[3]s, %[4]s, %[5]d, IF(LAST_INSERT_ID(1) = 1, %[6]d, %[6]d)%[7]s) "+
		"ON DUPLICATE KEY UPDATE updated_at = IF(%[8]s, %[4]s, updated_at)%[9]s, "+
		"seq = IF(%[8]s, IF(LAST_INSERT_ID(1) = 1, %[5]d, %[5]d), IF(LAST_INSERT_ID(2) = 2, seq, seq)), token = GREATEST(token, %[6]d)",
		w.quote(n.guard()), column, s.value(resource), w.now(), seq, token, value, newer, update)
	return s
}

// raise is upsertFloor, and it takes a mark away that was committed, whatever the token;
// see unmark.
func (w mySQL) raise(n names, resource string, token int64) statement {
	s := statement{words: w}
	s.text = fmt.Sprintf("INSERT INTO %[1]s (resource, updated_at, seq, token) VALUES (%[2]s, %[3]s, 0, IF(LAST_INSERT_ID(1) = 1, %[4]d, %[4]d)) "+
		"ON DUPLICATE KEY UPDATE updated_at = IF(token < %[4]d, %[3]s, updated_at), "+
		"seq = IF(token < %[4]d, IF(LAST_INSERT_ID(1) = 1, 0, 0), IF(LAST_INSERT_ID(2) = 2, seq, seq)), token = GREATEST(token, %[4]d), writing = 0",
		w.quote(n.guard()), s.value(resource), w.now(), token)
	return s
}

func (mySQL) unmark(names, string) statement { return statement{} }

func (mySQL) passed(r result) (bool, error) {
	switch id, err := r.LastInsertId(); {
	case err != nil:
		return false, err
	case id == 1:
		return true, nil
	case id == 2:
		return false, nil
	default:
		return false, fmt.Errorf("sqlfence: the upsert told LAST_INSERT_ID %d, want 1 or 2", id)
	}
}

// seal is there for the trigger, as with SQLite.
func (w mySQL) seal(n names, resource string, token, seq int64) statement {
	return seal(w, n, resource, token, seq)
}

// VARBINARY: every other type's collation takes some names for one, if only for
// blanks at their ends. Both key columns together are 767 bytes, which each row
// format takes.
func (w mySQL) tables(n names) []string {
	return []string{
		"CREATE TABLE IF NOT EXISTS " + w.quote(n.guard()) + ` (
  resource   VARBINARY(512) NOT NULL PRIMARY KEY,
  token      BIGINT NOT NULL CHECK (token >= 0),
  seq        BIGINT NOT NULL CHECK (seq >= 0),
  updated_at DATETIME(6) NOT NULL, -- UTC
  writing    TINYINT NOT NULL DEFAULT 0 -- 1 within a transaction that has passed the fence, and never after it
) ENGINE = InnoDB`,
		"CREATE TABLE IF NOT EXISTS " + w.quote(n.operation()) + ` (
  resource VARBINARY(512) NOT NULL,
  op_id    VARBINARY(255) NOT NULL,
  token    BIGINT NOT NULL,
  seq      BIGINT NOT NULL,
  outcome  MEDIUMBLOB NOT NULL,
  done_at  DATETIME(6) NOT NULL, -- UTC
  PRIMARY KEY (resource, op_id),
  KEY (done_at) -- for Forget
) ENGINE = InnoDB`,
		"CREATE TABLE IF NOT EXISTS " + w.quote(n.override()) + ` (
  id         BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  resource   VARBINARY(512) NOT NULL,
  from_token BIGINT NOT NULL,
  from_seq   BIGINT NOT NULL,
  to_token   BIGINT NOT NULL,
  to_seq     BIGINT NOT NULL,
  who        VARBINARY(255) NOT NULL,
  why        VARBINARY(1024) NOT NULL,
  done_at    DATETIME(6) NOT NULL, -- UTC
  writing    TINYINT NOT NULL DEFAULT 0,
  KEY (resource)
) ENGINE = InnoDB`,
	}
}

func (w mySQL) fenced(n names, t Table) ([]string, error) {
	open := func(row string) string {
		return fmt.Sprintf("SELECT COUNT(*) INTO fenced FROM %s WHERE resource = %s AND writing = 1 FOR UPDATE; ", w.quote(n.guard()), w.resource(t, row))
	}
	return w.triggers(n, t.Name, map[string][]string{
		"INSERT": {open("NEW")},
		"UPDATE": {open("OLD"), open("NEW")}, // a row must not be taken from one resource to another by one fence
		"DELETE": {open("OLD")},
	})
}

func (w mySQL) resource(t Table, row string) string {
	if t.Column == "" {
		return hexadecimal(t.Resource)
	}
	return fmt.Sprintf("CONCAT(%s, CAST(CONVERT(%s.%s USING utf8mb4) AS BINARY))", hexadecimal(t.Prefix), row, w.quote(t.Column))
}

func (w mySQL) fencedRows(n names, r Rows) ([]string, error) {
	token, seq := w.quote(r.Token), w.quote(r.Seq)
	permit := fmt.Sprintf("(SELECT COUNT(*) FROM %s WHERE resource = CONCAT(%s, CAST(CONVERT(OLD.%s USING utf8mb4) AS BINARY)) AND writing = 1) > 0",
		w.quote(n.override()), hexadecimal(r.Table+"/"), w.quote(r.Key))
	return w.triggers(n, r.Table, map[string][]string{
		"INSERT": {fmt.Sprintf("SET fenced = NEW.%s > 0; ", token)},
		"UPDATE": {fmt.Sprintf("SET fenced = (OLD.%[1]s, OLD.%[2]s) < (NEW.%[1]s, NEW.%[2]s) OR %[3]s; ", token, seq, permit)},
		"DELETE": {"SET fenced = 0; "}, // with the row goes its floor
	})
}

func (w mySQL) triggers(n names, table string, fenced map[string][]string) ([]string, error) {
	name := base(n.prefix) + "_" + base(table)
	if len(name) > 64-len("_insert") {
		return nil, fmt.Errorf("sqlfence: trigger %q: the name has %d bytes, MySQL takes at most %d; choose a shorter prefix", name, len(name), 64-len("_insert"))
	}
	var all []string
	for _, event := range []string{"INSERT", "UPDATE", "DELETE"} {
		var body strings.Builder
		for _, check := range fenced[event] {
			fmt.Fprintf(&body, "  %sIF fenced IS NULL OR fenced = 0 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '%.120s'; END IF;\n", check, bypass(event, base(table)))
		}
		all = append(all, fmt.Sprintf("CREATE TRIGGER IF NOT EXISTS %s AFTER %s ON %s FOR EACH ROW\nBEGIN\n  DECLARE fenced INT DEFAULT 0;\n%sEND",
			w.quote(beside(table, name+"_"+strings.ToLower(event))), event, w.quote(table), body.String()))
	}
	return all, nil
}

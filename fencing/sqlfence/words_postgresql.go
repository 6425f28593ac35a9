package sqlfence

import (
	"fmt"
	"strings"
)

// postgreSQL needs no mark for its trigger: a row tells which transaction has
// written it, so a transaction that has passed the fence of a resource is the one
// that the guard's row of it is from.
type postgreSQL struct{}

func (postgreSQL) quote(name string) string          { return quoted(name, `"`) }
func (postgreSQL) value(n int, _ any) (string, bool) { return "$" + decimal(int64(n)), true }
func (postgreSQL) placeholder(n int) string          { return "$" + decimal(int64(n)) }
func (postgreSQL) forUpdate() string                 { return " FOR UPDATE" }
func (postgreSQL) passed(r result) (bool, error)     { return oneRow(r) }
func (postgreSQL) now() string                       { return "now()" }
func (postgreSQL) isTable() string                   { return "" }
func (postgreSQL) seals(bool) bool                   { return false }

func (postgreSQL) seal(names, string, int64, int64) statement { return statement{} }
func (postgreSQL) unmark(names, string) statement             { return statement{} }

func (postgreSQL) rfc3339(column string) string {
	return fmt.Sprintf(`to_char(%s AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`, column)
}

func (postgreSQL) ago(seconds int64) string {
	return fmt.Sprintf("now() - interval '%d seconds'", seconds)
}

// IF NOT EXISTS does not help two transactions that both find nothing.
func (postgreSQL) migrate() (transaction bool, lock string) {
	return true, "SELECT pg_advisory_xact_lock(8819660975042)"
}

func (w postgreSQL) judge(n names, resource string, token, seq int64, _ bool) statement {
	s := statement{words: w}
	upsert(&s, w, n, resource, token, seq, "")
	return s
}

func (w postgreSQL) raise(n names, resource string, token int64) statement {
	s := statement{words: w}
	upsertFloor(&s, w, n, resource, token, "")
	return s
}

// COLLATE "C" compares bytes, whatever the database's own collation takes for equal.
func (w postgreSQL) tables(n names) []string {
	return []string{
		`CREATE TABLE IF NOT EXISTS ` + w.quote(n.guard()) + ` (
  resource   TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  token      BIGINT NOT NULL CHECK (token >= 0),
  seq        BIGINT NOT NULL CHECK (seq >= 0),
  updated_at TIMESTAMPTZ NOT NULL
)`,
		`CREATE TABLE IF NOT EXISTS ` + w.quote(n.operation()) + ` (
  resource TEXT COLLATE "C" NOT NULL,
  op_id    TEXT COLLATE "C" NOT NULL,
  token    BIGINT NOT NULL,
  seq      BIGINT NOT NULL,
  outcome  BYTEA NOT NULL,
  done_at  TIMESTAMPTZ NOT NULL,
  PRIMARY KEY (resource, op_id)
)`,
		`CREATE INDEX IF NOT EXISTS ` + w.quote(base(n.operation())+"_done_at") + ` ON ` + w.quote(n.operation()) + ` (done_at)`, // Forget's
		`CREATE TABLE IF NOT EXISTS ` + w.quote(n.override()) + ` (
  id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  resource   TEXT COLLATE "C" NOT NULL,
  from_token BIGINT NOT NULL,
  from_seq   BIGINT NOT NULL,
  to_token   BIGINT NOT NULL,
  to_seq     BIGINT NOT NULL,
  who        TEXT NOT NULL,
  why        TEXT NOT NULL,
  done_at    TIMESTAMPTZ NOT NULL,
  writing    INTEGER NOT NULL DEFAULT 0
)`,
	}
}

// The trigger comes after the row was changed, when no other trigger can change
// it any more. seq > 0: a transaction that has only raised the floor writes nothing.
func (w postgreSQL) fenced(n names, t Table) ([]string, error) {
	open := func(row string) string {
		return fmt.Sprintf(`NOT EXISTS (SELECT 1 FROM %s WHERE resource = %s AND seq > 0 AND xmin::text = (txid_current() %% 4294967296)::text)`,
			w.quote(n.guard()), w.resource(t, row))
	}
	truncate := "true" // the rows of many resources
	if t.Column == "" {
		truncate = open("")
	}
	return w.triggers(n, t.Name, map[string]string{
		"INSERT": open("NEW"),
		"UPDATE": open("OLD") + " OR " + open("NEW"), // a row must not be taken from one resource to another by one fence
		"DELETE": open("OLD"), "TRUNCATE": truncate,
	})
}

func (w postgreSQL) resource(t Table, row string) string {
	if t.Column == "" {
		return escaped(t.Resource)
	}
	return w.named(t.Prefix, row, t.Column)
}

// named is the name of a row's resource. Both the guard's column and the row's may
// have a collation, and where they differ PostgreSQL refuses to compare (42P22); an
// explicit one decides, and "C" is byte by byte.
func (w postgreSQL) named(prefix, row, column string) string {
	return fmt.Sprintf(`(%s || %s.%s::text) COLLATE "C"`, escaped(prefix), row, w.quote(column))
}

// escaped is a literal that standard_conforming_strings does not change.
func escaped(s string) string {
	return "E'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

func (w postgreSQL) fencedRows(n names, r Rows) ([]string, error) {
	token, seq := w.quote(r.Token), w.quote(r.Seq)
	permit := fmt.Sprintf("NOT EXISTS (SELECT 1 FROM %s WHERE resource = %s AND writing = 1)",
		w.quote(n.override()), w.named(r.Table+"/", "OLD", r.Key))
	return w.triggers(n, r.Table, map[string]string{
		"INSERT": fmt.Sprintf("NOT COALESCE(NEW.%s > 0, false)", token),
		"UPDATE": fmt.Sprintf("NOT COALESCE((OLD.%[1]s, OLD.%[2]s) < (NEW.%[1]s, NEW.%[2]s), false) AND %[3]s", token, seq, permit),
		"DELETE": "true", "TRUNCATE": "true", // with the row goes its floor
	})
}

func (w postgreSQL) triggers(n names, table string, bypassed map[string]string) ([]string, error) {
	name := base(n.prefix) + "_" + base(table)
	if len(name) > 63-len("_truncate") {
		return nil, fmt.Errorf("sqlfence: trigger %q: the name has %d bytes, PostgreSQL cuts it at %d; choose a shorter prefix", name, len(name), 63-len("_truncate"))
	}
	events := []string{"INSERT", "UPDATE", "DELETE", "TRUNCATE"}
	var body strings.Builder
	for _, event := range events {
		fmt.Fprintf(&body, "  IF TG_OP = '%s' THEN\n    IF %s THEN\n      RAISE EXCEPTION %s;\n    END IF;\n  END IF;\n",
			event, bypassed[event], strings.ReplaceAll(escaped(bypass(event, table)), "%", "%%"))
	}
	function := w.quote(beside(table, name))
	// The search path of whoever writes would find another guard table, or none.
	all := []string{fmt.Sprintf("CREATE OR REPLACE FUNCTION %s() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $zkfence$\nBEGIN\n%s  RETURN NULL;\nEND\n$zkfence$", function, body.String())}
	for _, event := range events {
		trigger := w.quote(name + "_" + strings.ToLower(event))
		each := "ROW"
		if event == "TRUNCATE" {
			each = "STATEMENT"
		}
		all = append(all,
			fmt.Sprintf("DROP TRIGGER IF EXISTS %s ON %s", trigger, w.quote(table)),
			fmt.Sprintf("CREATE TRIGGER %s AFTER %s ON %s FOR EACH %s EXECUTE PROCEDURE %s()", trigger, event, w.quote(table), each, function))
	}
	return all, nil
}

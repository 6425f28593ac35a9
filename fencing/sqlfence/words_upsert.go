package sqlfence

import "fmt"

// The upserts of PostgreSQL and SQLite.
//
// Invariant: a command of stamp s is applied only if the row's (token, seq) is
// smaller at its commit than s, and every other command's upsert is before ours or
// after our commit. The interleaving that would break it:
//
//	A (token 10)   SELECT token: 9, may run
//	B (token 12)   SELECT token: 9, may run; UPDATE token = 12; write; COMMIT
//	A              UPDATE token = 10; write; COMMIT          backwards
//
// So there is no SELECT first: the condition is in the statement that writes.
//
//   - READ COMMITTED: on a conflict the newest version of the row is locked,
//     waiting for whoever has it, and only then the WHERE is judged; also where it
//     is then false. B's upsert stands behind A's COMMIT, and the row is locked
//     until ours.
//   - REPEATABLE READ, SERIALIZABLE: a row that changed after our snapshot is a
//     serialization failure, never a false answer. It is tried again in a new
//     transaction.
//   - A resource's first command, two at once: the row is not there to be locked,
//     the unique index is. The second insert waits in it for the first one's end,
//     then inserts, or meets the row as above.
//   - SQLite has one writer in the whole database. As the upsert is the first
//     statement of the transaction there is no older snapshot to write over, so a
//     deferred BEGIN is as good as BEGIN IMMEDIATE; a SELECT before it would be
//     answered with SQLITE_BUSY at the upsert, for ever.
func upsert(s *statement, w words, n names, resource string, token, seq int64, mark string) {
	values, update := "", ""
	if mark != "" {
		values, update = ", "+mark, ", writing = excluded.writing"
	}
	s.text = fmt.Sprintf(`INSERT INTO %s AS g (resource, token, seq, updated_at%s) VALUES (%s, %s, %s, %s%s) `+
		`ON CONFLICT (resource) DO UPDATE SET token = excluded.token, seq = excluded.seq, updated_at = excluded.updated_at%s `+
		`WHERE (g.token, g.seq) < (excluded.token, excluded.seq)`,
		w.quote(n.guard()), column(mark), s.value(resource), s.value(token), s.value(seq), w.now(), values, update)
}

func column(mark string) string {
	if mark == "" {
		return ""
	}
	return ", writing"
}

// upsertFloor is upsert for a Raise: seq 0, and only a newer token counts. A known
// one locks the row all the same, so that it waits for commands under way. unmark is
// what else it sets.
func upsertFloor(s *statement, w words, n names, resource string, token int64, unmark string) {
	s.text = fmt.Sprintf(`INSERT INTO %s AS g (resource, token, seq, updated_at) VALUES (%s, %s, 0, %s) `+
		`ON CONFLICT (resource) DO UPDATE SET token = excluded.token, seq = 0, updated_at = excluded.updated_at%s `+
		`WHERE g.token < excluded.token`,
		w.quote(n.guard()), s.value(resource), s.value(token), w.now(), unmark)
}

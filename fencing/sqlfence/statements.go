package sqlfence

import "fmt"

// Statements that are the same everywhere.

func look(w words, n names, resource string, lock bool) statement {
	s := statement{words: w}
	s.text = fmt.Sprintf("SELECT token, seq FROM %s WHERE resource = %s", w.quote(n.guard()), s.value(resource))
	if lock {
		s.text += w.forUpdate()
	}
	return s
}

// set puts a Stamp in place of another, whichever that is: an override's.
func set(w words, n names, resource string, token, seq int64) statement {
	s := statement{words: w}
	s.text = fmt.Sprintf("UPDATE %s SET token = %s, seq = %s, updated_at = %s WHERE resource = %s",
		w.quote(n.guard()), s.value(token), s.value(seq), w.now(), s.value(resource))
	return s
}

func operation(w words, n names, resource, id string) statement {
	s := statement{words: w}
	s.text = fmt.Sprintf("SELECT outcome FROM %s WHERE resource = %s AND op_id = %s",
		w.quote(n.operation()), s.value(resource), s.value(id))
	return s
}

func keepOperation(w words, n names, resource, id string, token, seq int64, outcome string) statement {
	s := statement{words: w}
	s.text = fmt.Sprintf("INSERT INTO %s (resource, op_id, token, seq, outcome, done_at) VALUES (%s, %s, %s, %s, %s, %s)",
		w.quote(n.operation()), s.value(resource), s.value(id), s.value(token), s.value(seq), s.value([]byte(outcome)), w.now())
	return s
}

func forget(w words, n names, seconds int64) statement {
	return statement{words: w, text: fmt.Sprintf("DELETE FROM %s WHERE done_at < %s", w.quote(n.operation()), w.ago(seconds))}
}

func keepOverride(w words, n names, resource string, from, to [2]int64, who, why string) statement {
	s := statement{words: w}
	s.text = fmt.Sprintf("INSERT INTO %s (resource, from_token, from_seq, to_token, to_seq, who, why, done_at, writing) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, 1)",
		w.quote(n.override()), s.value(resource), s.value(from[0]), s.value(from[1]), s.value(to[0]), s.value(to[1]), s.value(who), s.value(why), w.now())
	return s
}

// sealOverride ends the permit that a trigger sees in an override's transaction.
func sealOverride(w words, n names, resource string) statement {
	s := statement{words: w}
	s.text = fmt.Sprintf("UPDATE %s SET writing = 0 WHERE resource = %s AND writing = 1", w.quote(n.override()), s.value(resource))
	return s
}

func overrides(w words, n names, resource string) statement {
	s := statement{words: w}
	s.text = fmt.Sprintf("SELECT from_token, from_seq, to_token, to_seq, who, why, %s FROM %s WHERE resource = %s ORDER BY id",
		w.rfc3339("done_at"), w.quote(n.override()), s.value(resource))
	return s
}

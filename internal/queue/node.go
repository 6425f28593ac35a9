package queue

import "strings"

// Kind is what a child's name says about the part it plays.
type Kind uint8

// Kinds.
const (
	Stranger  Kind = iota // no part at all
	Contender             // waits in line, or holds
	Foreign               // belongs to another recipe, whose rules are not ours
)

// Name is a child of a lock's directory as its name presents it. Nothing in it
// has been checked against the server.
type Name struct {
	Child string // the full name, without the directory
	Kind  Kind
	Seq   int64 // of a Contender or Foreign
}

const (
	guidPrefix = "_c_"
	ourSuffix  = "lock-"
)

// markers come right before the sequence number. An older recipe's names are
// read like ours: kazoo's readers too, since whoever takes them for strangers
// owns the lock beside them.
var markers = [...]struct {
	text string
	kind Kind
}{
	{ourSuffix, Contender},
	{"__lock__", Contender},
	{"__rlock__", Contender},
	{"latch-", Foreign},
	{"lease-", Foreign},
	{"__READ__", Foreign},
	{"__WRIT__", Foreign},
}

// Parse reads a child's name. It accepts anything and never panics.
func Parse(child string) Name {
	for _, m := range &markers {
		i := strings.LastIndex(child, m.text)
		if i < 0 {
			continue
		}
		if seq, ok := parseSeq(child[i+len(m.text):]); ok {
			return Name{Child: child, Kind: m.kind, Seq: seq}
		}
	}
	return Name{Child: child}
}

// parseSeq reads what a server appends: a signed number printed with %010d, so
// ten characters or more, the sign included. Shorter ones were made by hand.
// Longer ones than an int32 needs are read as far as an int64 goes; no server
// makes them today.
func parseSeq(s string) (seq int64, ok bool) {
	const limit = (1<<63 - 1) / 10
	if len(s) < 10 {
		return 0, false
	}
	digits, negative := strings.CutPrefix(s, "-")
	for _, c := range []byte(digits) {
		if c < '0' || c > '9' || seq > limit {
			return 0, false
		}
		if seq = seq*10 + int64(c-'0'); seq < 0 {
			return 0, false
		}
	}
	if negative {
		seq = -seq
	}
	return seq, true
}

// prefix is what every node of one GUID begins with; the server appends the
// sequence number.
func prefix(guid string) string { return guidPrefix + guid + "-" + ourSuffix }

// carries reports whether child is one of guid's nodes by its name.
// It allocates nothing: a crowd asks for each of its names, each of them.
func carries(child, guid string) bool {
	rest, ok := strings.CutPrefix(child, guidPrefix)
	if ok {
		rest, ok = strings.CutPrefix(rest, guid)
	}
	return ok && strings.HasPrefix(rest, "-"+ourSuffix)
}

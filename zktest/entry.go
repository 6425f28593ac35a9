package zktest

import (
	"fmt"
	"time"
)

// Kind is what an Entry of the trace tells of.
type Kind uint8

const (
	// Opened is a client's new connection; Fault says if it was refused.
	Opened Kind = iota + 1
	// Closed is the end of one.
	Closed
	// Asked is a request, a ping or a handshake that has been read. No fault has
	// looked at it.
	Asked
	// Answered is the reply to one. No fault has looked at it, and the client does
	// not have it yet.
	Answered
	// Notified is a watch event on its way to a client; Note is its type.
	Notified
	// Broke is a fault that has met a request or its reply; Fault says which.
	Broke
	// Acted is something that the test has done: Fault is the method's name, Host
	// or Session the target, unless it is everybody, and Note says the rest.
	Acted
	// Began is a new session, granted by a handshake.
	Began
	// Ended is the end of a session; Note says whether it was closed or expired. A
	// Proxy sees only what its clients are told.
	Ended
	// Became is a change of a server's part in its ensemble; Note says what it is
	// now.
	Became
)

func (k Kind) String() string {
	names := [...]string{"", "opened", "closed", "asked", "answered", "notified", "broke", "acted", "began", "ended", "became"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Entry is one happening in the trace of a Server or Proxy.
type Entry struct {
	Kind Kind
	// Request is the one it is about, with its N; At is when this has happened. Of
	// an entry of another kind N, At, Conn, Host and Session are given, as far as
	// there are any, and Path.
	Request
	Took time.Duration // since the request
	Note string        // in words, what the other fields have no place for
}

// String returns the entry as one line, with the full session id.
func (e Entry) String() string {
	s := fmt.Sprintf("%-5d %12.6f %-8s", e.N, e.At.Seconds(), e.Kind)
	if e.Conn != 0 {
		s += fmt.Sprintf(" conn=%d", e.Conn)
	}
	if e.Host != "" {
		s += " host=" + e.Host
	}
	if e.Session != 0 {
		s += fmt.Sprintf(" session=%#x", uint64(e.Session))
	}
	return s + " " + e.what()
}

// what returns what has happened, without when and to whom.
func (e Entry) what() string {
	switch e.Kind {
	case Asked, Answered:
		return e.Request.what()
	case Broke:
		return e.Fault + " <- " + e.Request.what()
	}
	var s string
	for _, word := range []string{e.Fault, e.Note} {
		if word != "" {
			s += word + " "
		}
	}
	if e.Path != "" {
		s += fmt.Sprintf("%q ", e.Path)
	}
	if s == "" {
		return e.Kind.String()
	}
	return s[:len(s)-1]
}

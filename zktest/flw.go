package zktest

import "strings"

// A word is four letters that a monitoring tool sends in place of a handshake.
// Its answer has the lines of ZooKeeper's own; what has no meaning here is 0.

// fourLetters answers a word; false if this is none.
func (s *Server) fourLetters(c *conn, word string) bool {
	answer := s.wordFor(word)
	if answer == nil {
		return false
	}
	if !c.tap.flows(BothWays) || !s.admitted(c) {
		return true
	}
	s.received++
	c.account.received++
	var b strings.Builder
	if s.member == nil || s.member.serving || word == "ruok" {
		answer(c, &b)
	} else if word == "isro" {
		b.WriteString("null")
	} else {
		b.WriteString("This ZooKeeper instance is not currently serving requests\n")
	}
	s.sent++
	c.over = true // or the next asker would sometimes see it, and sometimes not
	s.unlock()
	// A client that has gone away, or does not read, needs no answer.
	c.hurry()
	_, _ = c.nc.Write([]byte(b.String()))
	return true
}

func (s *Server) wordFor(word string) func(c *conn, b *strings.Builder) {
	say := func(text string) func(*conn, *strings.Builder) {
		return func(_ *conn, b *strings.Builder) { b.WriteString(text) }
	}
	switch word {
	case "ruok":
		return say("imok")
	case "isro":
		return say("rw")
	case "srvr":
		return func(_ *conn, b *strings.Builder) { s.srvr(b) }
	case "stat":
		return s.stat
	case "cons":
		return s.cons
	case "crst":
		return func(_ *conn, b *strings.Builder) {
			for c := range s.conns {
				c.account.reset()
			}
			b.WriteString("Connection stats reset.\n")
		}
	case "srst":
		return func(_ *conn, b *strings.Builder) {
			s.received, s.sent = 0, 0
			b.WriteString("Server stats reset.\n")
		}
	case "mntr":
		return func(_ *conn, b *strings.Builder) { s.mntr(b) }
	case "conf":
		return func(_ *conn, b *strings.Builder) { s.conf(b) }
	case "envi":
		return func(_ *conn, b *strings.Builder) { environment(b) }
	case "dirs":
		return say("datadir_size: 0\nlogdir_size: 0\n")
	case "gtmk":
		return say("306") // what is logged unless told otherwise
	case "dump":
		return s.dump
	case "wchs":
		return func(_ *conn, b *strings.Builder) { s.dataWatches.summary(b) }
	case "wchp":
		return func(_ *conn, b *strings.Builder) { s.dataWatches.listByPath(b) }
	case "wchc":
		return func(_ *conn, b *strings.Builder) { s.dataWatches.listByConn(b) }
	}
	return nil
}

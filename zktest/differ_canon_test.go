package zktest_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/zkfence/zkfence/internal/wire"
)

// canon writes down what a server sent in words that do not depend on when and
// where it ran. What must differ between any two servers has a name in place of
// its value: sessions ("s0" is the first that the script opened), zxids, the
// script's root ("~"). Times are judged, not printed. Lists whose order is that
// of a hash set in the real server are sorted. Everything else stays as it is.
type canon struct {
	root     string
	sessions map[int64]string
	own      []int64 // zxids of the script's own writes
	base     int64   // the zxid before the script's first step
	exact    bool    // nobody else writes to this server
}

// A zxid is rendered late: its rank is known once the script is over.
var zxidMark = regexp.MustCompile("\x01-?[0-9]+\x02")

func (c *canon) zxid(z int64) string {
	if z <= 0 {
		return strconv.FormatInt(z, 10)
	}
	return fmt.Sprintf("\x01%d\x02", z)
}

// line finishes a line: zxids are counted from the script's first where nobody
// else writes to the server, else they are ranks among the script's own writes.
func (c *canon) line(s string) string {
	s = zxidMark.ReplaceAllStringFunc(s, func(m string) string {
		z, err := strconv.ParseInt(m[1:len(m)-1], 10, 64)
		if err != nil {
			return err.Error()
		}
		if c.exact {
			return fmt.Sprintf("+%d", z-c.base)
		}
		n := 0
		for _, own := range c.own {
			if own <= z {
				n++
			}
		}
		return fmt.Sprintf("#%d", n)
	})
	return strings.ReplaceAll(s, c.root, "~")
}

func (c *canon) session(id int64) string {
	if name, ok := c.sessions[id]; ok {
		return name
	}
	return strconv.FormatInt(id, 10)
}

func (c *canon) event(f frame) string {
	d := wire.NewDecoder(f.body)
	kind, state, path := d.Int32(), d.Int32(), d.String()
	s := fmt.Sprintf("event %d %q", kind, path)
	if state != 3 || f.Zxid != -1 || f.Err != 0 || d.Err() != nil || d.Len() > 0 {
		s += fmt.Sprintf(" state=%d zxid=%d err=%d %v +%x", state, f.Zxid, f.Err, d.Err(), d.Rest())
	}
	return s
}

func (c *canon) reply(r request, f frame) string {
	s := fmt.Sprintf("%d %s", f.Err, c.zxid(f.Zxid))
	// What a multi had ready when it failed as a whole goes out with the error.
	many := wire.Op(r.Op) == wire.OpMulti || wire.Op(r.Op) == wire.OpMultiRead
	switch {
	case len(f.body) == 0:
		return s
	case f.Err != 0 && !many:
		return s + fmt.Sprintf(" +%x", f.body)
	}
	d := wire.NewDecoder(f.body)
	s += c.body(r, d)
	if d.Err() != nil || d.Len() > 0 {
		s += fmt.Sprintf(" %v +%x", d.Err(), d.Rest())
	}
	return s
}

func (c *canon) body(r request, d *wire.Decoder) string {
	switch wire.Op(r.Op) {
	case wire.OpCreate, wire.OpSync:
		return c.text(d)
	case wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL:
		return c.text(d) + c.stat(d)
	case wire.OpExists, wire.OpSetData, wire.OpSetACL:
		return c.stat(d)
	case wire.OpGetData:
		return c.data(d) + c.stat(d)
	case wire.OpGetChildren, wire.OpGetEphemerals:
		return c.list(d)
	case wire.OpGetChildren2:
		return c.list(d) + c.stat(d)
	case wire.OpGetACL:
		var list []string
		for range d.Count(12) {
			list = append(list, fmt.Sprintf("%d %s:%s", d.Int32(), d.String(), d.String()))
		}
		return fmt.Sprintf(" %q", list) + c.stat(d)
	case wire.OpWhoAmI:
		var list []string
		for range d.Count(8) {
			list = append(list, d.String()+":"+d.String())
		}
		return fmt.Sprintf(" %q", list)
	case wire.OpGetAllChildren, wire.OpAddWatch:
		return fmt.Sprintf(" %d", d.Int32())
	case wire.OpMulti, wire.OpMultiRead:
		return c.results(d)
	}
	return fmt.Sprintf(" %x", take(d))
}

// take reads all that is left.
func take(d *wire.Decoder) []byte {
	rest := slices.Clone(d.Rest())
	for range rest {
		d.Bool()
	}
	return rest
}

// isNull looks whether the string or buffer that comes is null.
func isNull(d *wire.Decoder) bool {
	b := d.Rest()
	return len(b) >= 4 && b[0] == 0xff && b[1] == 0xff && b[2] == 0xff && b[3] == 0xff
}

func (c *canon) text(d *wire.Decoder) string {
	if isNull(d) {
		d.Int32()
		return " null"
	}
	return fmt.Sprintf(" %q", d.String())
}

func (c *canon) data(d *wire.Decoder) string {
	if isNull(d) {
		d.Int32()
		return " null"
	}
	b := d.Buffer()
	if n := len(b); n > 100 && strings.Count(string(b), string(b[:1])) == n {
		return fmt.Sprintf(" %d*%q", n, b[:1])
	}
	return fmt.Sprintf(" %q", b)
}

func (c *canon) list(d *wire.Decoder) string {
	if isNull(d) {
		d.Int32()
		return " null"
	}
	names := d.Strings()
	slices.Sort(names)
	return fmt.Sprintf(" %q", names)
}

func (c *canon) stat(d *wire.Decoder) string {
	s := readStat(d)
	out := fmt.Sprintf(" {%s %s %s v%d c%d a%d", c.zxid(s.czxid), c.zxid(s.mzxid), c.zxid(s.pzxid), s.version, s.cversion, s.aversion)
	if s.owner != 0 {
		out += " of " + c.session(s.owner)
	}
	out += fmt.Sprintf(" len=%d kids=%d", s.dataLength, s.children)
	// What was never changed has never been changed later, and time does not run
	// backwards; that is all that two servers' clocks have in common.
	if (s.czxid > 0) != (s.ctime > 0) || s.mtime < s.ctime || s.mzxid == s.czxid && s.mtime != s.ctime {
		out += fmt.Sprintf(" ctime=%d mtime=%d", s.ctime, s.mtime)
	}
	return out + "}"
}

func (c *canon) results(d *wire.Decoder) string {
	var b strings.Builder
	for d.Err() == nil {
		op, done, code := wire.Op(d.Int32()), d.Bool(), d.Int32()
		if done {
			if op != -1 || code != -1 {
				fmt.Fprintf(&b, " end=%d,%d", op, code)
			}
			return b.String()
		}
		fmt.Fprintf(&b, " [%s", op)
		if op != wire.OpError || code != 0 {
			fmt.Fprintf(&b, " %d", code)
		}
		switch op {
		case wire.OpError:
			fmt.Fprintf(&b, " %d", d.Int32())
		case wire.OpDelete, wire.OpCheck:
		case wire.OpCreate, wire.OpCreate2, wire.OpSetData, wire.OpGetData, wire.OpGetChildren:
			b.WriteString(c.body(request{Op: opName(op)}, d))
		default:
			fmt.Fprintf(&b, " %x", take(d))
		}
		b.WriteString("]")
	}
	return b.String()
}

func (c *canon) welcome(r wire.ConnectResponse) string {
	s := fmt.Sprintf("welcome %s timeout=%d", c.session(r.Session), r.TimeoutMs)
	if r.Protocol != 0 {
		s += fmt.Sprintf(" proto=%d", r.Protocol)
	}
	if r.HasReadOnly {
		s += fmt.Sprintf(" ro=%v", r.ReadOnly)
	}
	return s
}

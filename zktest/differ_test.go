package zktest_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/wire"
	"github.com/zkfence/zkfence/zktest"
)

// differ plays one script against a server and writes down what came back, in
// words that do not depend on where and when it ran: zxids as ranks among those
// of its own writes, sessions and the root by their names, no times.
type differ struct {
	t       *testing.T
	addr    string
	root    string
	clients []*rawClient // connected
	all     []*rawClient
	names   map[*rawClient]string
	lines   []func(*differ) string
	zxids   []int64 // of own writes
}

func (d *differ) client(name string) *rawClient {
	c := connectRaw(d.t, d.addr)
	d.join(name, c)
	return c
}

func (d *differ) join(name string, c *rawClient) {
	d.clients, d.all = append(d.clients, c), append(d.all, c)
	d.names[c] = name
}

func (d *differ) leave(c *rawClient) {
	d.clients = slices.DeleteFunc(d.clients, func(o *rawClient) bool { return o == c })
}

func (d *differ) say(format string, args ...any) {
	s := strings.ReplaceAll(fmt.Sprintf(format, args...), d.root, "ROOT")
	d.lines = append(d.lines, func(*differ) string { return s })
}

// rank is how many own writes a zxid has seen.
func (d *differ) rank(zxid int64) string {
	if zxid <= 0 {
		return fmt.Sprint(zxid)
	}
	n := 0
	for _, z := range d.zxids {
		if z <= zxid {
			n++
		}
	}
	return fmt.Sprintf("#%d", n)
}

func (d *differ) owner(session int64) string {
	for _, c := range d.all {
		if c.session == session && session != 0 {
			return d.names[c]
		}
	}
	return fmt.Sprint(session)
}

// do sends a request from c, then asks every client for the events it has.
func (d *differ) do(c *rawClient, op wire.Op, body func(*wire.Encoder)) frame {
	f, events, err := c.call(op, body)
	for _, e := range events {
		d.say("%s got %s", d.names[c], e)
	}
	if err != nil {
		d.say("%s %s: connection ended", d.names[c], op)
		d.leave(c)
	} else {
		d.reply(c, op, f)
	}
	for _, o := range slices.Clone(d.clients) {
		_, events, err := o.call(wire.OpPing, nil)
		for _, e := range events {
			d.say("%s got %s", d.names[o], e)
		}
		if err != nil {
			d.say("%s: connection ended", d.names[o])
			d.leave(o)
		}
	}
	return f
}

// alone sends a request from c whose consequences for others come when they
// come: see await.
func (d *differ) alone(c *rawClient, op wire.Op, body func(*wire.Encoder)) {
	d.reply(c, op, c.must(op, body))
}

// await reads n events that c gets by itself, in no order of their own.
func (d *differ) await(c *rawClient, n int) {
	var events []string
	for range n {
		f, err := c.next()
		require.NoError(d.t, err)
		events = append(events, eventString(f))
	}
	d.say("%s got %s", d.names[c], sorted(events))
}

func (d *differ) reply(c *rawClient, op wire.Op, f frame) {
	if (op.Commits() || op == wire.OpCloseSession) && f.Zxid > 0 && !slices.Contains(d.zxids, f.Zxid) {
		d.zxids = append(d.zxids, f.Zxid)
	}
	name := d.names[c]
	d.lines = append(d.lines, func(d *differ) string {
		return strings.ReplaceAll(fmt.Sprintf("%s %s: err=%d zxid=%s%s", name, op, f.Err, d.rank(f.Zxid), d.body(op, f)), d.root, "ROOT")
	})
}

func (d *differ) body(op wire.Op, f frame) string {
	if f.Err != 0 || len(f.body) == 0 {
		return fmt.Sprintf(" %d bytes", len(f.body))
	}
	r := wire.NewDecoder(f.body)
	out := d.record(op, r)
	if r.Err() != nil || r.Len() > 0 {
		out += fmt.Sprintf(" (err %v, %d bytes left)", r.Err(), r.Len())
	}
	return out
}

func (d *differ) record(op wire.Op, r *wire.Decoder) string {
	switch op {
	case wire.OpCreate, wire.OpSync:
		return " path=" + r.String()
	case wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL:
		return " path=" + r.String() + d.stat(r)
	case wire.OpExists, wire.OpSetData, wire.OpSetACL:
		return d.stat(r)
	case wire.OpGetData:
		data := r.Buffer()
		return fmt.Sprintf(" data=%q nil=%v", data, data == nil) + d.stat(r)
	case wire.OpGetChildren:
		return fmt.Sprintf(" children=%q", sorted(r.Strings()))
	case wire.OpGetChildren2:
		return fmt.Sprintf(" children=%q", sorted(r.Strings())) + d.stat(r)
	case wire.OpGetACL:
		var list []string
		for i, n := 0, r.Count(12); i < n; i++ {
			list = append(list, fmt.Sprintf("%d %s:%s", r.Int32(), r.String(), r.String()))
		}
		return fmt.Sprintf(" acl=%q", list) + d.stat(r)
	case wire.OpMulti, wire.OpMultiRead:
		return d.results(r)
	case wire.OpGetEphemerals:
		return fmt.Sprintf(" ephemerals=%q", sorted(r.Strings()))
	case wire.OpGetAllChildren:
		return fmt.Sprintf(" number=%d", r.Int32())
	case wire.OpWhoAmI:
		var list []string
		for i, n := 0, r.Count(8); i < n; i++ {
			list = append(list, r.String()+":"+r.String())
		}
		return fmt.Sprintf(" ids=%q", list)
	case wire.OpAddWatch:
		return fmt.Sprintf(" error=%d", r.Int32())
	case wire.OpSASL:
		token := r.Buffer()
		return fmt.Sprintf(" token=%q nil=%v", token, token == nil)
	}
	return fmt.Sprintf(" body=%x", r.Rest())
}

func (d *differ) results(r *wire.Decoder) string {
	var out strings.Builder
	for r.Err() == nil {
		op, done, code := wire.Op(r.Int32()), r.Bool(), r.Int32()
		fmt.Fprintf(&out, " {%d %v %d", op, done, code)
		if done {
			return out.String() + "}"
		}
		switch op {
		case wire.OpError:
			fmt.Fprintf(&out, " %d", r.Int32())
		case wire.OpCreate, wire.OpCreate2, wire.OpSetData, wire.OpGetData, wire.OpGetChildren:
			if op == wire.OpSetData {
				op = wire.OpExists
			}
			out.WriteString(d.record(op, r))
		}
		out.WriteString("}")
	}
	return out.String()
}

func (d *differ) stat(r *wire.Decoder) string {
	s := readStat(r)
	return fmt.Sprintf(" {c=%s m=%s p=%s v=%d cv=%d av=%d owner=%s len=%d kids=%d}", d.rank(s.czxid), d.rank(s.mzxid), d.rank(s.pzxid),
		s.version, s.cversion, s.aversion, d.owner(s.owner), s.dataLength, s.children)
}

func sorted(s []string) []string {
	slices.Sort(s)
	return s
}

// play runs a script and returns its transcript.
func play(t *testing.T, addr string, script func(*differ)) []string {
	d := &differ{t: t, addr: addr, root: fmt.Sprintf("/zkfence-differ-%016x", rand.Uint64()), names: map[*rawClient]string{}}
	script(d)
	var out []string
	for _, line := range d.lines {
		out = append(out, line(d))
	}
	sweep := connectRaw(t, addr)
	removeAll(sweep, d.root)
	sweep.must(wire.OpCloseSession, nil)
	return out
}

func removeAll(c *rawClient, path string) {
	f := c.must(wire.OpGetChildren, watched(path, false))
	if f.Err != 0 {
		return
	}
	for _, name := range wire.NewDecoder(f.body).Strings() {
		removeAll(c, path+"/"+name)
	}
	c.must(wire.OpDelete, versioned(path, -1))
}

var record = flag.Bool("record", false, "write what the server at ZKFENCE_ZK answers to testdata")

// TestTranscripts plays every script and compares with what a real ZooKeeper
// 3.8 answered when it was recorded.
func TestTranscripts(t *testing.T) {
	for _, s := range scripts {
		t.Run(s.name, func(t *testing.T) {
			text, err := os.ReadFile(transcriptFile(s))
			require.NoError(t, err)
			compare(t, strings.Split(strings.TrimSuffix(string(text), "\n"), "\n"), play(t, compared(t).Addr(), s.run))
		})
	}
}

// TestDiffer keeps the server honest: the same bytes to it and to a real
// ZooKeeper must bring the same answers.
func TestDiffer(t *testing.T) {
	real := os.Getenv("ZKFENCE_ZK")
	if real == "" {
		t.Skip("ZKFENCE_ZK is not set: nothing to compare with but the transcripts")
	}
	real, _, _ = strings.Cut(real, ",")
	for _, s := range scripts {
		t.Run(s.name, func(t *testing.T) {
			want := play(t, real, s.run)
			if *record {
				require.NoError(t, os.WriteFile(transcriptFile(s), []byte(strings.Join(want, "\n")+"\n"), 0o644))
			}
			compare(t, want, play(t, compared(t).Addr(), s.run))
		})
	}
}

// compared starts a server that is set up as .ci/zookeeper sets up a real one, as
// far as a client can tell; but its reaper is in a hurry.
func compared(t *testing.T) *zktest.Server {
	return zktest.New(t, zktest.WithContainerInterval(100*time.Millisecond))
}

func transcriptFile(s script) string { return filepath.Join("testdata", "transcripts", s.name+".txt") }

func compare(t *testing.T, want, got []string) {
	t.Helper()
	require.NotEmpty(t, got)
	if !slices.Equal(want, got) {
		t.Errorf("a real server and zktest differ:\n%s", sideBySide(want, got))
	}
}

func sideBySide(want, got []string) string {
	var b strings.Builder
	for i := range max(len(want), len(got)) {
		w, g := "(nothing)", "(nothing)"
		if i < len(want) {
			w = want[i]
		}
		if i < len(got) {
			g = got[i]
		}
		if w == g {
			fmt.Fprintf(&b, "      %s\n", w)
			continue
		}
		fmt.Fprintf(&b, "real  %s\nours  %s\n", w, g)
	}
	return b.String()
}

package zktest_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/wire"
	"github.com/zkfence/zkfence/zktest"
)

// words are those that both servers answer.
var words = []string{"ruok", "isro", "srvr", "stat", "cons", "crst", "srst", "mntr", "conf", "dump", "wchs", "wchp", "wchc", "envi", "dirs", "gtmk"}

// ask sends a word and returns the whole answer.
func ask(t *testing.T, addr, word string) string {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.SetDeadline(time.Now().Add(30*time.Second)))
	_, err = c.Write([]byte(word))
	require.NoError(t, err)
	return readAll(t, c)
}

// visit leaves something to see for the words: a session that has done its
// share, one that has come back and done nothing, ephemerals, and watches.
func visit(t *testing.T, addr, path string) {
	a := connectRaw(t, addr)
	a.must(wire.OpCreate, create(path, "data", 1, open...))
	a.must(wire.OpExists, watched(path, true))
	a.must(wire.OpGetChildren, watched("/", true))
	b := connectRaw(t, addr)
	again := dialRaw(t, addr)
	_, err := again.again(b, 0)
	require.NoError(t, err)
	t.Cleanup(func() {
		a.must(wire.OpCloseSession, nil)
		again.must(wire.OpCloseSession, nil)
	})
}

// shapes returns the different lines of an answer, sorted, with their values
// taken out. Those of ZooKeeper's that name a top-level znode are left out: see
// the package's list of differences.
func shapes(answer, path string) []string {
	for _, r := range []struct{ pattern, with string }{
		{regexp.QuoteMeta(path), "PATH"},
		{`3\.8\.0-\S+, built on [-\d]+ [:\d]+ UTC`, "VERSION"},
		{`/[\d.]+:\d+`, "/ADDRESS"},
		{`0x[0-9a-f]+`, "HEX"},
		{`\w{3} \w{3} \d\d \d\d:\d\d:\d\d UTC \d{4}`, "DATE"},
		{`Dir=.*`, "Dir=DIR"},
		{`((?:host|java|os|user)\.[\w.]+)=.*`, "$1=TEXT"},
		{`lop=\w+`, "lop=OP"},
		{`-?\d+\.\d+(?:E-?\d+)?([\n/])`, "FLOAT$1"},
		{`([ =(\t/\[:])-?\d+`, "${1}INT"},
		{`(?m)^\d+`, "INT"},
	} {
		answer = regexp.MustCompile(r.pattern).ReplaceAllString(answer, r.with)
	}
	lines := slices.DeleteFunc(strings.SplitAfter(answer, "\n"), func(l string) bool {
		return l == "" || strings.Contains(l, "_per_namespace")
	})
	slices.Sort(lines)
	return slices.Compact(lines)
}

func TestFourLetterWords(t *testing.T) {
	t.Run("LookLikeTheRealOnes", func(t *testing.T) {
		real, _, _ := strings.Cut(os.Getenv("ZKFENCE_ZK"), ",")
		path := fmt.Sprintf("/zkfence-words-%d", time.Now().UnixNano())
		if real != "" {
			visit(t, real, path)
		}
		s := zktest.New(t)
		visit(t, s.Addr(), path)
		for _, word := range words {
			file := filepath.Join("testdata", "words", word+".txt")
			if real != "" && *record {
				require.NoError(t, os.WriteFile(file, []byte(strings.Join(shapes(ask(t, real, word), path), "")), 0o644))
			}
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			want := strings.SplitAfter(string(text), "\n")
			want = slices.DeleteFunc(want, func(l string) bool { return l == "" })
			require.Equal(t, want, shapes(ask(t, s.Addr(), word), path), "the answer to %s", word)
			if real != "" {
				// Other tests may be using it, and add lines.
				require.Subset(t, shapes(ask(t, real, word), path), want, "the real answer to %s", word)
			}
		}
	})

	t.Run("TellWhatIsTrueHere", func(t *testing.T) {
		s := zktest.New(t, zktest.WithTick(time.Second))
		a, b := connectRaw(t, s.Addr()), connectRaw(t, s.Addr())
		a.must(wire.OpCreate, create("/a", "data", 0, open...))
		a.must(wire.OpCreate, create("/e", "", 1, open...))
		b.must(wire.OpExists, watched("/a", true))
		b.must(wire.OpExists, watched("/none", true))
		a.must(wire.OpAddWatch, versioned("/a", recursiveWatch))
		hex := func(session int64) string { return fmt.Sprintf("%#x", uint64(session)) }

		srvr := ask(t, s.Addr(), "srvr")
		require.Contains(t, srvr, "\nConnections: 3\n")
		require.Contains(t, srvr, "\nZxid: 0x4\nMode: standalone\nNode count: 7\n")
		for _, line := range []string{"znode_count\t7", "ephemerals_count\t1", "watch_count\t4", "global_sessions\t2",
			"num_alive_connections\t3", "approximate_data_size\t52"} {
			require.Contains(t, ask(t, s.Addr(), "mntr"), "\nzk_"+line+"\n")
		}
		cons := ask(t, s.Addr(), "cons")
		require.Contains(t, cons, "(queued=0,recved=4,sent=4,sid="+hex(a.session)+",lop=ADDW,est=")
		require.Contains(t, cons, ",to=10000,lcxid=0x3,lzxid=0x4,")
		require.Contains(t, cons, "(queued=0,recved=3,sent=3,sid="+hex(b.session)+",lop=EXIS,est=")
		require.Contains(t, cons, "[0](queued=0,recved=1,sent=0)\n\n", "the asker itself")
		require.Equal(t, "2 connections watching 2 paths\nTotal watches:3\n", ask(t, s.Addr(), "wchs"))
		require.Equal(t, "/a\n\t"+hex(a.session)+"\n\t"+hex(b.session)+"\n/none\n\t"+hex(b.session)+"\n\n", ask(t, s.Addr(), "wchp"))
		require.Equal(t, hex(a.session)+"\n\t/a\n"+hex(b.session)+"\n\t/a\n\t/none\n\n", ask(t, s.Addr(), "wchc"))
		require.Contains(t, ask(t, s.Addr(), "dump"), "\nSessions with Ephemerals (1):\n"+hex(a.session)+":\n\t/e\n")
		require.Contains(t, ask(t, s.Addr(), "conf"), "\ntickTime=1000\nmaxClientCnxns=0\nminSessionTimeout=2000\nmaxSessionTimeout=20000\n")

		ask(t, s.Addr(), "crst")
		ask(t, s.Addr(), "srst")
		require.Contains(t, ask(t, s.Addr(), "cons"), "(queued=0,recved=0,sent=0,sid="+hex(a.session)+",lop=NA,est=")
		require.Contains(t, ask(t, s.Addr(), "stat"), "\nReceived: 2\nSent: 2\n")
	})

	t.Run("AreNoWordsToAnybodyWhoHasSaidHello", func(t *testing.T) {
		s := zktest.New(t)
		c := connectRaw(t, s.Addr())
		_, err := c.nc.Write([]byte("ruok"))
		require.NoError(t, err)
		c.gone()
	})

	t.Run("EndTheConnectionIfUnknown", func(t *testing.T) {
		require.Empty(t, ask(t, zktest.New(t).Addr(), "what"))
	})
}

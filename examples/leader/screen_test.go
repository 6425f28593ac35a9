package main

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/election"
	"github.com/zkfence/zkfence/fencing"
)

// A terminal is put back as it was, and keeps the timeline.
func TestTheTableComesAndGoes(t *testing.T) {
	t.Parallel()
	out := newPrinted()
	screen := newScreen(out, size{24, 80}, true, true)
	keys, typing := io.Pipe()
	defer func() { _ = typing.Close() }()
	p := play{candidates: 2, timeout: 2 * time.Second, limit: time.Minute, keys: keys, out: out, screen: screen}
	ended := make(chan error, 1)
	go func() { ended <- p.run(t.Context()) }()
	out.await(t, enterScreen, "▶", "leads", "█", "stands by", "▶")
	_, err := io.WriteString(typing, "\n")
	require.NoError(t, err)
	out.await(t, "> ", "> ")
	_, err = io.WriteString(typing, "q\n")
	require.NoError(t, err)
	require.NoError(t, <-ended)
	table, timeline, found := strings.Cut(out.String(), leaveScreen)
	require.True(t, found)
	require.NotContains(t, timeline, "\x1b")
	require.Contains(t, timeline, "floor raised")
	require.Contains(t, timeline, "accepted stamps never went backwards")
	for frame := range strings.SplitSeq(table, saveCursor) {
		require.LessOrEqual(t, strings.Count(frame, eraseLine), 24)
	}
}

// It is drawn where nothing of it would be cut off, with the most candidates too.
func TestTheTableHasRoom(t *testing.T) {
	token, err := fencing.ParseToken("0x2ff0000001c")
	require.NoError(t, err)
	full := picture{leader: election.Leader{Info: "C9", Epoch: token.Uint64()}, known: fencing.Stamp{Token: token, Seq: 123456}, accepted: 123456, refused: 100}
	for n := range most {
		full.rows = append(full.rows, row{
			name: fmt.Sprintf("C%d", n+1), pid: 4194304, role: "stopped " + seconds(5*time.Minute), state: "Releasing", token: token.String(),
			trust: time.Minute, timeout: time.Minute, accepted: 123456, refused: 100, announced: true,
		})
	}
	screen := newScreen(io.Discard, size{leastLines, leastColumns}, false, true)
	screen.title.Store("in-memory ZooKeeper at 127.0.0.1:65535 · session timeout 1m0s")
	screen.picture = func(time.Time) picture { return full }
	_, _ = io.WriteString(screen.tape, "titles\n")
	_, _ = io.WriteString(screen.tape, strings.Repeat("event ", 30)+"\n")
	frame := screen.frame(time.Now())
	require.Contains(t, frame, "event")
	require.Contains(t, frame, helpAlone)
	lines := strings.Split(frame, eraseLine)[1:]
	require.LessOrEqual(t, len(lines), leastLines-2, "one for what is typed, one below")
	for _, line := range lines {
		line, _, _ = strings.Cut(line, "\x1b")
		require.LessOrEqual(t, utf8.RuneCountInString(line), leastColumns, "%q", line)
	}
	require.True(t, size{leastLines, leastColumns}.fits())
	require.False(t, size{leastLines - 1, leastColumns}.fits())
	require.False(t, size{leastLines, leastColumns - 1}.fits())
}

// Where no table has room the timeline says so, and what can be typed. Of a ledger
// that nobody has spoken to nothing is proven.
func TestWithoutATable(t *testing.T) {
	t.Parallel()
	out := newPrinted()
	p := play{servers: []string{"127.0.0.1:1"}, candidates: 2, timeout: time.Second, limit: 300 * time.Millisecond, script: true, out: out, small: size{10, 40}, keys: strings.NewReader("")}
	require.ErrorContains(t, p.run(t.Context()), "127.0.0.1:1", "%s", out)
	for _, text := range []string{"it needs 80 columns and 22 lines, and this terminal has 40 and 10", helpKeys, helpAlone} {
		require.Contains(t, out.String(), text)
	}
	require.NotContains(t, out.String(), "proof")
}

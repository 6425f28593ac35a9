package zktest_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/wire"
)

// rawClient speaks the protocol frame by frame, so that a test sees exactly
// what a server sends.
type rawClient struct {
	t        testing.TB
	nc       net.Conn
	r        *bufio.Reader
	xid      int32
	session  int64
	password []byte
	timeout  time.Duration
}

type rawACL struct {
	perms        int32
	scheme, name string
}

var open = []rawACL{{31, "world", "anyone"}}

// frame is one frame from the server after the handshake.
type frame struct {
	wire.ReplyHeader
	body []byte
}

func connectRaw(t testing.TB, addr string) *rawClient {
	t.Helper()
	c := dialRaw(t, addr)
	resp, err := c.handshake(wire.ConnectRequest{TimeoutMs: 10_000, Password: make([]byte, 16), HasReadOnly: true})
	require.NoError(t, err)
	require.NotZero(t, resp.Session)
	return c
}

func dialRaw(t testing.TB, addr string) *rawClient {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	return rawOver(t, nc)
}

func rawOver(t testing.TB, nc net.Conn) *rawClient {
	c := &rawClient{t: t, nc: nc, r: bufio.NewReader(nc)}
	t.Cleanup(func() { _ = nc.Close() })
	return c
}

func (c *rawClient) handshake(r wire.ConnectRequest) (wire.ConnectResponse, error) {
	c.write(r.Append(nil))
	payload, err := wire.ReadFrame(c.r, wire.MaxFrame)
	if err != nil {
		return wire.ConnectResponse{}, err
	}
	resp, err := wire.ParseConnectResponse(payload)
	require.NoError(c.t, err)
	c.session, c.password = resp.Session, resp.Password
	c.timeout = time.Duration(resp.TimeoutMs) * time.Millisecond
	return resp, nil
}

// again is the handshake of a client that comes back with its session.
func (c *rawClient) again(old *rawClient, zxid int64) (wire.ConnectResponse, error) {
	return c.handshake(wire.ConnectRequest{LastZxid: zxid, TimeoutMs: 10_000, Session: old.session, Password: old.password, HasReadOnly: true})
}

func (c *rawClient) write(payload []byte) {
	_, err := c.nc.Write(wire.AppendFrame(nil, payload))
	require.NoError(c.t, err)
}

// send writes a request and does not wait.
func (c *rawClient) send(op wire.Op, body func(*wire.Encoder)) int32 {
	c.xid++
	xid := c.xid
	if op == wire.OpPing {
		xid = wire.XidPing
	}
	e := &wire.Encoder{}
	e.Buf = wire.RequestHeader{Xid: xid, Op: op}.Append(nil)
	if body != nil {
		body(e)
	}
	// If the server has hung up, reading says so.
	_, _ = c.nc.Write(wire.AppendFrame(nil, e.Buf))
	return xid
}

// next reads one frame.
func (c *rawClient) next() (frame, error) {
	require.NoError(c.t, c.nc.SetReadDeadline(time.Now().Add(30*time.Second)))
	payload, err := wire.ReadFrame(c.r, 64<<20)
	if err != nil {
		return frame{}, err
	}
	h, err := wire.ParseReplyHeader(payload)
	require.NoError(c.t, err)
	return frame{h, payload[wire.ReplyHeaderLen:]}, nil
}

// call sends a request and returns its reply and the events before it.
func (c *rawClient) call(op wire.Op, body func(*wire.Encoder)) (reply frame, events []string, err error) {
	xid := c.send(op, body)
	for {
		f, err := c.next()
		if err != nil || f.Xid == xid {
			return f, events, err
		}
		if f.Xid != wire.XidEvent {
			events = append(events, fmt.Sprintf("reply to %d where one to %d was due: %x", f.Xid, xid, f.body))
			continue
		}
		events = append(events, eventString(f))
	}
}

// must is call for a reply that has to be there.
func (c *rawClient) must(op wire.Op, body func(*wire.Encoder)) frame {
	c.t.Helper()
	f, _, err := c.call(op, body)
	require.NoError(c.t, err)
	return f
}

// gone checks that the server closes the connection and sends nothing first.
func (c *rawClient) gone() {
	c.t.Helper()
	f, err := c.next()
	require.Error(c.t, err, "frame %+v", f)
	require.NotErrorIs(c.t, err, os.ErrDeadlineExceeded, "it is still open")
	require.NotErrorIs(c.t, err, os.ErrDeadlineExceeded, "the connection is still there")
}

func eventString(f frame) string {
	d := wire.NewDecoder(f.body)
	kind, state := d.Int32(), d.Int32()
	return fmt.Sprintf("event type=%d state=%d path=%s zxid=%d", kind, state, d.String(), f.Zxid)
}

func create(path, data string, flags int32, list ...rawACL) func(*wire.Encoder) {
	return func(e *wire.Encoder) {
		e.String(path)
		e.Buffer([]byte(data))
		encodeACL(e, list)
		e.Int32(flags)
	}
}

func createTTL(path, data string, flags int32, ttl int64, list ...rawACL) func(*wire.Encoder) {
	return func(e *wire.Encoder) {
		create(path, data, flags, list...)(e)
		e.Int64(ttl)
	}
}

func encodeACL(e *wire.Encoder, list []rawACL) {
	e.Int32(int32(len(list)))
	for _, a := range list {
		e.Int32(a.perms)
		e.String(a.scheme)
		e.String(a.name)
	}
}

func onPath(path string) func(*wire.Encoder) {
	return func(e *wire.Encoder) { e.String(path) }
}

// versioned is a path and a number: a version, a watch's mode or kind.
func versioned(path string, version int32) func(*wire.Encoder) {
	return func(e *wire.Encoder) {
		e.String(path)
		e.Int32(version)
	}
}

func setData(path, data string, version int32) func(*wire.Encoder) {
	return func(e *wire.Encoder) {
		e.String(path)
		e.Buffer([]byte(data))
		e.Int32(version)
	}
}

func setACL(path string, version int32, list ...rawACL) func(*wire.Encoder) {
	return func(e *wire.Encoder) {
		e.String(path)
		encodeACL(e, list)
		e.Int32(version)
	}
}

func watched(path string, watch bool) func(*wire.Encoder) {
	return func(e *wire.Encoder) {
		e.String(path)
		e.Bool(watch)
	}
}

func auth(scheme, secret string) func(*wire.Encoder) {
	return func(e *wire.Encoder) {
		e.Int32(0)
		e.String(scheme)
		e.Buffer([]byte(secret))
	}
}

func setWatches(relative int64, data, exist, children []string) func(*wire.Encoder) {
	return func(e *wire.Encoder) {
		e.Int64(relative)
		e.Strings(data)
		e.Strings(exist)
		e.Strings(children)
	}
}

func setWatches2(relative int64, data, exist, children, persistent, recursive []string) func(*wire.Encoder) {
	return func(e *wire.Encoder) {
		setWatches(relative, data, exist, children)(e)
		e.Strings(persistent)
		e.Strings(recursive)
	}
}

// Modes of addWatch, and the kinds of watches that checkWatches and
// removeWatches name.
const (
	persistentWatch, recursiveWatch          int32 = 0, 1
	childrenWatches, dataWatches, anyWatches int32 = 1, 2, 3
)

func reconfig(joining, leaving, members string, config int64) func(*wire.Encoder) {
	return func(e *wire.Encoder) {
		e.String(joining)
		e.String(leaving)
		e.String(members)
		e.Int64(config)
	}
}

// sub is one operation of a multi.
type sub struct {
	op   wire.Op
	body func(*wire.Encoder)
}

func multi(subs ...sub) func(*wire.Encoder) {
	return func(e *wire.Encoder) {
		for _, s := range subs {
			e.Int32(int32(s.op))
			e.Bool(false)
			e.Int32(-1)
			s.body(e)
		}
		e.Int32(-1)
		e.Bool(true)
		e.Int32(-1)
	}
}

// rawStat mirrors the wire, in order.
type rawStat struct {
	czxid, mzxid, ctime, mtime  int64
	version, cversion, aversion int32
	owner                       int64
	dataLength, children        int32
	pzxid                       int64
}

func readStat(d *wire.Decoder) rawStat {
	return rawStat{d.Int64(), d.Int64(), d.Int64(), d.Int64(), d.Int32(), d.Int32(), d.Int32(), d.Int64(), d.Int32(), d.Int32(), d.Int64()}
}

func (f frame) stat(t testing.TB) rawStat {
	d := wire.NewDecoder(f.body)
	s := readStat(d)
	require.NoError(t, d.Err())
	return s
}

func (f frame) path() string { return strings.Clone(wire.NewDecoder(f.body).String()) }

func readAll(t testing.TB, r io.Reader) string {
	t.Helper()
	b, err := io.ReadAll(r)
	require.NoError(t, err)
	return string(b)
}

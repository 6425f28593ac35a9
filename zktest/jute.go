package zktest

import (
	"github.com/zkfence/zkfence/internal/wire"
)

// Stat is a znode's metadata, as ZooKeeper shows it to clients.
type Stat struct {
	Czxid, Mzxid   int64 // zxids that created it and last changed its data
	Ctime, Mtime   int64 // when, in milliseconds since 1970 on the server's clock
	Version        int32 // changes of its data
	Cversion       int32 // twice the creates of children ever, less the children there are
	Aversion       int32 // changes of its ACL
	EphemeralOwner int64 // session that an ephemeral belongs to, else 0
	DataLength     int32
	NumChildren    int32
	Pzxid          int64 // zxid that last created or deleted a child
}

func (s Stat) encode(e *wire.Encoder) {
	e.Int64(s.Czxid)
	e.Int64(s.Mzxid)
	e.Int64(s.Ctime)
	e.Int64(s.Mtime)
	e.Int32(s.Version)
	e.Int32(s.Cversion)
	e.Int32(s.Aversion)
	e.Int64(s.EphemeralOwner)
	e.Int32(s.DataLength)
	e.Int32(s.NumChildren)
	e.Int64(s.Pzxid)
}

// Types of watch events.
const (
	eventCreated         int32 = 1
	eventDeleted         int32 = 2
	eventDataChanged     int32 = 3
	eventChildrenChanged int32 = 4
)

// stateConnected is the state in every event that a server sends.
const stateConnected int32 = 3

// count reads the length of a vector whose elements take at least min bytes
// each. Lengths below zero are none, -1 a null.
func count(d *wire.Decoder, min int) (n int, isNull bool) {
	if b := d.Rest(); len(b) >= 4 && int8(b[0]) < 0 {
		n := d.Int32()
		return 0, n == -1
	}
	return d.Count(min), false
}

// texts reads a vector of strings, nil for a null.
func texts(d *wire.Decoder) []string {
	n, isNull := count(d, 4)
	if isNull {
		return nil
	}
	list := make([]string, 0, n)
	for i := 0; i < n && d.Err() == nil; i++ {
		list = append(list, text(d))
	}
	return list
}

// createRequest is the body of create, create2, createContainer and createTTL.
type createRequest struct {
	path  string
	data  []byte
	acl   []acl
	flags int32
	ttl   int64 // in milliseconds; -1 where none is given
}

func decodeCreate(op Op, d *wire.Decoder) createRequest {
	r := createRequest{path: text(d), data: d.Buffer(), acl: decodeACLs(d), flags: d.Int32(), ttl: -1}
	if op == OpCreateTTL {
		r.ttl = d.Int64()
	}
	return r
}

// versioned is the body of delete and check, and of the requests about watches,
// whose mode or kind stands where the version does.
type versioned struct {
	path    string
	version int32
}

func decodeVersioned(d *wire.Decoder) versioned {
	return versioned{path: text(d), version: d.Int32()}
}

type setDataRequest struct {
	path    string
	data    []byte
	version int32
}

func decodeSetData(d *wire.Decoder) setDataRequest {
	return setDataRequest{path: text(d), data: d.Buffer(), version: d.Int32()}
}

type setACLRequest struct {
	path    string
	acl     []acl
	version int32
}

func decodeSetACL(d *wire.Decoder) setACLRequest {
	return setACLRequest{path: text(d), acl: decodeACLs(d), version: d.Int32()}
}

// watched is the body of the reads that can leave a watch.
type watched struct {
	path  string
	watch bool
}

func decodeWatched(d *wire.Decoder) watched {
	return watched{path: text(d), watch: d.Bool()}
}

// setWatchesRequest is the body of setWatches, with two more lists that of
// setWatches2.
type setWatchesRequest struct {
	relative              int64
	data, exist, children []string
	lasting, below        []string
}

func decodeSetWatches(op Op, d *wire.Decoder) setWatchesRequest {
	r := setWatchesRequest{relative: d.Int64(), data: texts(d), exist: texts(d), children: texts(d)}
	if r.lasting, r.below = []string{}, []string{}; op == OpSetWatches2 {
		r.lasting, r.below = texts(d), texts(d)
	}
	return r
}

// decodeReconfig checks that there is all of a reconfig's body, which is not
// used.
func decodeReconfig(d *wire.Decoder) {
	for range 3 { // servers that join, that leave, or all of them
		text(d)
	}
	d.Int64()
}

type authRequest struct {
	kind   int32
	scheme string
	auth   []byte
}

func decodeAuth(d *wire.Decoder) authRequest {
	return authRequest{kind: d.Int32(), scheme: text(d), auth: d.Buffer()}
}

// acl is one entry of a znode's access control list.
type acl struct {
	perms int32
	id
}

// id is who a client is, or who an acl means.
type id struct{ scheme, name string }

// minACL is the length in bytes of an acl with empty strings.
const minACL = 12

func decodeACLs(d *wire.Decoder) []acl {
	n, _ := count(d, minACL)
	var list []acl
	for i := 0; i < n && d.Err() == nil; i++ {
		list = append(list, acl{perms: d.Int32(), id: id{scheme: text(d), name: text(d)}})
	}
	return list
}

func encodeACLs(e *wire.Encoder, list []acl) {
	e.Int32(int32(len(list)))
	for _, a := range list {
		e.Int32(a.perms)
		putText(e, a.scheme)
		putText(e, a.name)
	}
}

// newFrame returns an encoder whose first four bytes wait for the length.
func newFrame(h wire.ReplyHeader) *wire.Encoder {
	e := &wire.Encoder{Buf: make([]byte, 4, 64)}
	e.Buf = h.Append(e.Buf)
	return e
}

// sealFrame writes the length and returns the whole frame.
func sealFrame(e *wire.Encoder) []byte {
	n := len(e.Buf) - 4
	e.Buf[0], e.Buf[1], e.Buf[2], e.Buf[3] = byte(n>>24), byte(n>>16), byte(n>>8), byte(n)
	return e.Buf
}

func eventFrame(kind int32, path string) []byte {
	e := newFrame(wire.ReplyHeader{Xid: wire.XidEvent, Zxid: -1})
	e.Int32(kind)
	e.Int32(stateConnected)
	putText(e, path)
	return sealFrame(e)
}

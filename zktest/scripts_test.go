package zktest_test

import (
	"slices"
	"strings"

	"github.com/zkfence/zkfence/internal/wire"
)

type script struct {
	name string
	run  func(*differ)
}

// scripts is what the server is compared by.
var scripts = slices.Concat(basicScripts, watchScripts, readScripts, authScripts, ttlScripts)

var basicScripts = []script{
	{"StatsAndVersions", func(d *differ) {
		a := d.client("A")
		d.do(a, wire.OpCreate, create(d.root, "data", 0, open...))
		d.do(a, wire.OpExists, watched(d.root, false))
		d.do(a, wire.OpSetData, setData(d.root, "longer data", 0))
		d.do(a, wire.OpSetData, setData(d.root, "x", 0))
		d.do(a, wire.OpSetData, setData(d.root, "x", 7))
		d.do(a, wire.OpSetData, setData(d.root, "", -1))
		d.do(a, wire.OpGetData, watched(d.root, false))
		d.do(a, wire.OpSetData, func(e *wire.Encoder) { e.String(d.root); e.Buffer(nil); e.Int32(-1) })
		d.do(a, wire.OpGetData, watched(d.root, false))
		d.do(a, wire.OpCreate, create(d.root+"/b", "", 1, open...))
		d.do(a, wire.OpCreate, create(d.root+"/a", "", 0, open...))
		d.do(a, wire.OpExists, watched(d.root+"/b", false))
		d.do(a, wire.OpGetChildren, watched(d.root, false))
		d.do(a, wire.OpGetChildren2, watched(d.root, false))
		d.do(a, wire.OpDelete, versioned(d.root, -1))
		d.do(a, wire.OpDelete, versioned(d.root+"/a", 3))
		d.do(a, wire.OpDelete, versioned(d.root+"/a", 0))
		d.do(a, wire.OpDelete, versioned(d.root+"/a", 0))
		d.do(a, wire.OpExists, watched(d.root, false))
		d.do(a, wire.OpGetChildren2, watched(d.root, false))
		d.do(a, wire.OpCreate2, create(d.root+"/c2-", "d", 2, open...))
		d.do(a, wire.OpSync, onPath(d.root))
		d.do(a, wire.OpSync, onPath("/nowhere/at/all"))
		d.do(a, wire.OpPing, nil)
	}},
	{"SequencesCountCreates", func(d *differ) {
		a := d.client("A")
		d.do(a, wire.OpCreate, create(d.root, "", 0, open...))
		for _, flags := range []int32{2, 3, 0, 2, 3} {
			d.do(a, wire.OpCreate, create(d.root+"/n-", "", flags, open...))
		}
		d.do(a, wire.OpDelete, versioned(d.root+"/n-0000000000", -1))
		d.do(a, wire.OpCreate, create(d.root+"/n-", "", 2, open...))
		d.do(a, wire.OpMulti, multi(
			sub{wire.OpCreate, create(d.root+"/m-", "", 2, open...)},
			sub{wire.OpDelete, versioned(d.root+"/absent", -1)}))
		d.do(a, wire.OpCreate, create(d.root+"/n-", "", 2, open...))
		d.do(a, wire.OpCreate, create(d.root+"/", "", 2, open...))
		d.do(a, wire.OpExists, watched(d.root, false))
	}},
	{"CreateChecksInOrder", func(d *differ) {
		a := d.client("A")
		d.do(a, wire.OpCreate, create(d.root, "", 0, open...))
		d.do(a, wire.OpCreate, create(d.root+"/e", "", 1, open...))
		for _, flags := range []int32{-1, 4, 5, 6, 7, 99} {
			d.do(a, wire.OpCreate, create(d.root+"/flags", "", flags, open...))
			d.do(a, wire.OpExists, watched(d.root+"/flags", false))
		}
		for _, path := range []string{"", "/", "x", "//", "/zookeeper", "/zookeeper/quota", "/zookeeper/config",
			"/a/", d.root + "/", d.root + "//x", d.root + "/.", d.root + "/..", d.root + "/a/../b", d.root + "/\x00", d.root + "/\x1f",
			d.root + "/\u007f", d.root + "/\u0085", d.root + "/\ue000", d.root + "/\ufff0", d.root + "/😀", d.root + "/é", d.root + "/.hidden", d.root + "/...",
			d.root + "/none/x", d.root + "/e/x", d.root + "/e", d.root} {
			d.do(a, wire.OpCreate, create(path, "", 0, open...))
			d.do(a, wire.OpCreate, create(path, "", 0))
			d.do(a, wire.OpCreate, create(path, "", 9))
			d.do(a, wire.OpDelete, versioned(path, 77))
			d.do(a, wire.OpSetData, setData(path, "", 77))
			d.do(a, wire.OpSetACL, setACL(path, 77, open...))
			d.do(a, wire.OpSetACL, setACL(path, 77))
			d.do(a, wire.OpMulti, multi(sub{wire.OpCheck, versioned(path, 77)}))
			if len(path) > 1 { // the root's own Stat is everybody's
				d.do(a, wire.OpExists, watched(path, false))
				d.do(a, wire.OpGetData, watched(path, false))
				d.do(a, wire.OpGetChildren, watched(path, false))
				d.do(a, wire.OpGetACL, onPath(path))
			}
		}
		d.do(a, wire.OpCreate, create(d.root+"/bad", "", 0, rawACL{31, "nobody", "x"}))
		d.do(a, wire.OpCreate, create(d.root+"/bad", "", 0, rawACL{31, "world", "x"}))
		d.do(a, wire.OpCreate, create(d.root+"/bad", "", 0, rawACL{31, "digest", "x"}))
		d.do(a, wire.OpCreate, create(d.root+"/bad", "", 0, rawACL{31, "ip", "x"}))
		d.do(a, wire.OpCreate, create(d.root+"/bad", "", 0, rawACL{31, "ip", "127.0.0.1/33"}))
		d.do(a, wire.OpCreate, create(d.root+"/bad", "", 0, rawACL{31, "auth", ""}))
		d.do(a, wire.OpCreate, create(d.root+"/none/bad", "", 0, rawACL{31, "auth", ""}))
	}},
	{"Containers", func(d *differ) {
		a := d.client("A")
		d.do(a, wire.OpCreateContainer, create(d.root, "", 4, open...))
		d.do(a, wire.OpExists, watched(d.root, false))
		d.do(a, wire.OpCreateContainer, create(d.root+"/c", "x", 4, open...))
		d.do(a, wire.OpCreateContainer, create(d.root+"/c", "x", 4, open...))
		d.do(a, wire.OpMulti, multi(sub{wire.OpCreate, create(d.root+"/d", "x", 4, open...)}, sub{wire.OpCreateContainer, create(d.root+"/e", "x", 0, open...)},
			sub{wire.OpCreate2, create(d.root+"/f", "x", 0, open...)}))
		d.do(a, wire.OpExists, watched(d.root+"/d", false))
		for _, flags := range []int32{0, 1, 2, 3} {
			d.do(a, wire.OpCreateContainer, create(d.root+"/k", "x", flags, open...))
			d.do(a, wire.OpExists, watched(d.root+"/k", false))
		}
	}},
	{"Multi", func(d *differ) {
		a := d.client("A")
		d.do(a, wire.OpCreate, create(d.root, "", 0, open...))
		d.do(a, wire.OpMulti, multi())
		d.do(a, wire.OpMulti, multi(
			sub{wire.OpCreate, create(d.root+"/n-", "v", 3, open...)},
			sub{wire.OpSetData, setData(d.root, "token", -1)}))
		d.do(a, wire.OpMulti, multi(
			sub{wire.OpCheck, versioned(d.root, 1)},
			sub{wire.OpCreate, create(d.root+"/x", "v", 0, open...)},
			sub{wire.OpCreate, create(d.root+"/x/y", "v", 0, open...)},
			sub{wire.OpSetData, setData(d.root+"/x", "w", 0)},
			sub{wire.OpDelete, versioned(d.root+"/x/y", 0)},
			sub{wire.OpDelete, versioned(d.root+"/x", 1)},
			sub{wire.OpCreate, create(d.root+"/x", "v", 0, open...)}))
		d.do(a, wire.OpExists, watched(d.root+"/x", false))
		d.do(a, wire.OpExists, watched(d.root, true))
		d.do(a, wire.OpMulti, multi(
			sub{wire.OpSetData, setData(d.root, "lost", -1)},
			sub{wire.OpCreate, create(d.root+"/x", "v", 0, open...)},
			sub{wire.OpCheck, versioned(d.root, -1)}))
		d.do(a, wire.OpMulti, multi(sub{wire.OpDelete, versioned(d.root+"/x", -1)}, sub{wire.OpDelete, versioned(d.root, -1)}))
		d.do(a, wire.OpMulti, multi(sub{wire.OpCheck, versioned(d.root+"/gone", -1)}))
		d.do(a, wire.OpMulti, multi(sub{wire.OpCheck, versioned(d.root, -1)}))
		d.do(a, wire.OpMulti, multi(sub{wire.OpCreate, create(d.root+"/bad", "", 0)}))
		d.do(a, wire.OpMulti, multi(sub{wire.OpCreate, create(d.root+"/bad", "", 8, open...)}))
		d.do(a, wire.OpMulti, multi(sub{wire.OpGetACL, onPath(d.root)}))
		d.do(a, wire.OpMulti, multi(sub{99, onPath(d.root)}))
		d.do(a, wire.OpMulti, func(e *wire.Encoder) { e.Int32(1); e.Bool(false) })
		d.do(a, wire.OpGetData, watched(d.root, false))
		b := d.client("B")
		d.do(b, wire.OpGetChildren, watched(d.root, true))
		d.do(b, wire.OpGetData, watched(d.root, true))
		d.do(b, wire.OpExists, watched(d.root+"/later", true))
		d.do(a, wire.OpMulti, multi(
			sub{wire.OpSetData, setData(d.root, "1", -1)},
			sub{wire.OpCreate, create(d.root+"/later", "", 0, open...)},
			sub{wire.OpSetData, setData(d.root+"/later", "2", -1)}))
	}},
	{"SessionsEndInOneTransaction", func(d *differ) {
		a, b := d.client("A"), d.client("B")
		d.do(b, wire.OpCreate, create(d.root, "", 0, open...))
		d.do(a, wire.OpCreate, create(d.root+"/only", "", 1, open...))
		d.do(a, wire.OpGetData, watched(d.root+"/only", true))
		d.do(b, wire.OpGetData, watched(d.root+"/only", true))
		d.do(b, wire.OpGetChildren, watched(d.root, true))
		d.do(a, wire.OpCloseSession, nil)
		d.do(b, wire.OpExists, watched(d.root, false))
	}},
	{"Moves", func(d *differ) {
		a := d.client("A")
		d.do(a, wire.OpCreate, create(d.root, "", 0, open...))
		d.do(a, wire.OpCreate, create(d.root+"/e", "", 1, open...))
		again := dialRaw(d.t, d.addr)
		resp, err := again.again(a, 0)
		d.say("moved: same session %v, timeout %d, same password %v, err %v", resp.Session == a.session, resp.TimeoutMs, string(resp.Password) == string(a.password), err)
		d.do(a, wire.OpSync, onPath("/"))
		d.join("A2", again)
		d.do(again, wire.OpExists, watched(d.root+"/e", false))
		wrong := dialRaw(d.t, d.addr)
		resp, err = wrong.handshake(wire.ConnectRequest{TimeoutMs: 10_000, Session: a.session, Password: make([]byte, 16), HasReadOnly: true})
		d.say("wrong password: session %d timeout %d password %x err %v", resp.Session, resp.TimeoutMs, resp.Password, err)
		d.do(again, wire.OpSync, onPath("/"))
		unknown := dialRaw(d.t, d.addr)
		resp, err = unknown.handshake(wire.ConnectRequest{TimeoutMs: 10_000, Session: 0x1234, Password: make([]byte, 16)})
		d.say("unknown: session %d timeout %d ro %v err %v", resp.Session, resp.TimeoutMs, resp.HasReadOnly, err)
		_, err = unknown.next()
		d.say("then: %v", err)
		ahead := dialRaw(d.t, d.addr)
		_, err = ahead.again(a, 1<<60)
		d.say("ahead: %v", err != nil)
		back := dialRaw(d.t, d.addr)
		resp, err = back.again(a, 0)
		d.say("back: same session %v, err %v", resp.Session == a.session, err)
		d.join("A3", back)
		d.do(back, wire.OpExists, watched(d.root+"/e", false))
		d.do(back, wire.OpCloseSession, nil)
	}},
	{"NonsenseEndsTheConnection", func(d *differ) {
		a := d.client("A")
		d.do(a, wire.OpCreate, create(d.root, "", 0, open...))
		for _, op := range []wire.Op{0, 10, 50, 4096, -1} {
			c := d.client("C")
			d.do(c, op, onPath(d.root))
			d.do(c, wire.OpSync, onPath("/"))
		}
		for _, op := range []wire.Op{wire.OpCreate, wire.OpDelete, wire.OpExists, wire.OpGetData, wire.OpSetData, wire.OpGetACL, wire.OpSetACL,
			wire.OpGetChildren, wire.OpGetChildren2, wire.OpSync, wire.OpMulti, wire.OpSetWatches, wire.OpCreate2, wire.OpCreateContainer, wire.OpCheck} {
			c := d.client("C")
			d.do(c, op, func(e *wire.Encoder) { e.Buf = append(e.Buf, 0, 0) })
			d.do(c, wire.OpSync, onPath("/"))
			d.do(c, op, func(e *wire.Encoder) { e.Int32(1 << 30) })
			d.do(c, wire.OpSync, onPath("/"))
		}
		c := d.client("C")
		d.do(c, wire.OpSetData, setData(d.root, strings.Repeat("x", 0xfff00), -1))
		d.do(c, wire.OpExists, watched(d.root, false))
		d.do(c, wire.OpSetData, setData(d.root, strings.Repeat("x", 0xfffff), -1))
	}},
	{"ACheckAloneIsRefusedLikeOneInAMulti", func(d *differ) {
		// One that succeeds is left out: it would kill the real server.
		a := d.client("A")
		d.do(a, wire.OpCreate, create(d.root, "", 0, open...))
		d.do(a, wire.OpCheck, versioned(d.root, 4))
		d.do(a, wire.OpCheck, versioned(d.root+"/none", 4))
		d.do(a, wire.OpSync, onPath("/"))
	}},
}

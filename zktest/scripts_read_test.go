package zktest_test

import (
	"strings"

	"github.com/zkfence/zkfence/internal/wire"
)

var readScripts = []script{
	{"MultiRead", func(d *differ) {
		a, b := d.client("A"), d.client("B")
		d.do(a, wire.OpSetAuth, auth("digest", "ann:secret"))
		d.do(a, wire.OpCreate, create(d.root, "data", 0, open...))
		d.do(a, wire.OpCreate, create(d.root+"/k", "", 0, open...))
		d.do(a, wire.OpCreate, create(d.root+"/mine", "mine", 0, rawACL{31, "auth", ""}))
		data := func(path string) sub { return sub{wire.OpGetData, watched(path, true)} }
		children := func(path string) sub { return sub{wire.OpGetChildren, watched(path, true)} }
		for _, c := range []*rawClient{a, b} {
			d.do(c, wire.OpMultiRead, multi())
			d.do(c, wire.OpMultiRead, multi(data(d.root), children(d.root), data(d.root+"/none"), data(d.root+"/mine"), children(d.root+"/mine"), data(d.root+"/k")))
			d.do(c, wire.OpMultiRead, multi(children(d.root+"/none")))
		}
		d.do(b, wire.OpCheckWatches, versioned(d.root, anyWatches)) // a watch is not left
		d.do(a, wire.OpMultiRead, multi(data(d.root), sub{wire.OpSetData, setData(d.root, "x", -1)}))
		d.do(a, wire.OpMultiRead, multi(sub{wire.OpSetData, setData(d.root, "x", -1)}))
		d.do(a, wire.OpMultiRead, multi(sub{wire.OpCreate, create(d.root+"/new", "x", 0, open...)}, data(d.root)))
		d.do(a, wire.OpMultiRead, multi(sub{wire.OpExists, watched(d.root, true)}))
		d.do(a, wire.OpMultiRead, multi(sub{wire.OpGetChildren2, watched(d.root, true)}))
		d.do(a, wire.OpMultiRead, multi(data("x"), children("x")))
		d.do(a, wire.OpMultiRead, func(e *wire.Encoder) {
			e.Int32(4)
			e.Bool(false)
			e.Int32(-1)
			e.Int32(-1)
			e.Bool(false)
			e.Int32(-1)
			e.Bool(true)
			e.Int32(-1)
		})
		d.do(a, wire.OpMultiRead, func(e *wire.Encoder) { e.Int32(4); e.Bool(false) })
		d.do(a, wire.OpMultiRead, multi(data(d.root), data(d.root+"/none"), sub{wire.OpGetData, func(e *wire.Encoder) { e.Int32(-1); e.Bool(false) }}, data(d.root)))
		d.do(a, wire.OpMulti, multi(data(d.root)))
		d.do(a, wire.OpMulti, multi(data(d.root), sub{wire.OpSetData, setData(d.root, "x", -1)}))
		d.do(a, wire.OpMulti, multi(sub{wire.OpSetData, setData(d.root, "x", -1)}, data(d.root)))
		d.do(a, wire.OpGetData, watched(d.root, false))
	}},
	{"EphemeralsAndCounts", func(d *differ) {
		a, b := d.client("A"), d.client("B")
		d.do(a, wire.OpGetEphemerals, onPath(""))
		d.do(a, wire.OpCreate, create(d.root, "", 0, open...))
		d.do(a, wire.OpCreate, create(d.root+"/p", "", 0, open...))
		for _, name := range []string{"/e1", "/e2", "/p/e3", "/p/e1"} {
			d.do(a, wire.OpCreate, create(d.root+name, "", 1, open...))
		}
		d.do(b, wire.OpCreate, create(d.root+"/b", "", 1, open...))
		for _, c := range []*rawClient{a, b} {
			for _, prefix := range []string{"", "/", " ", " / ", "\t", d.root, d.root + "/", d.root + "/p", d.root + "/e", d.root + "/e1", d.root + "/e1/", " " + d.root, "x", d.root + "/none"} {
				d.do(c, wire.OpGetEphemerals, onPath(prefix))
			}
			d.do(c, wire.OpGetEphemerals, func(e *wire.Encoder) { e.Int32(-1) })
		}
		for _, path := range []string{d.root, d.root + "/p", d.root + "/p/e3", d.root + "/none", d.root + "/", "x", "/zookeeper", "/zookeeper/config"} {
			d.do(b, wire.OpGetAllChildren, onPath(path))
		}
		d.do(a, wire.OpDelete, versioned(d.root+"/p/e3", -1))
		d.do(a, wire.OpGetEphemerals, onPath(""))
		d.do(b, wire.OpGetAllChildren, onPath(d.root))
		d.do(a, wire.OpSetAuth, auth("digest", "ann:secret"))
		d.do(a, wire.OpCreate, create(d.root+"/mine", "", 0, rawACL{31, "auth", ""}))
		d.do(a, wire.OpGetAllChildren, onPath(d.root+"/mine"))
		d.do(b, wire.OpGetAllChildren, onPath(d.root+"/mine"))
	}},
	{"TheServersOwnNodes", func(d *differ) {
		a := d.client("A")
		for _, path := range []string{"/zookeeper", "/zookeeper/config", "/zookeeper/quota"} {
			d.do(a, wire.OpGetData, watched(path, false))
			d.do(a, wire.OpGetChildren2, watched(path, false))
			d.do(a, wire.OpGetACL, onPath(path))
			d.do(a, wire.OpDelete, versioned(path, -1))
		}
		d.do(a, wire.OpSetData, setData("/zookeeper/config", "x", -1))
		d.do(a, wire.OpSetACL, setACL("/zookeeper/config", -1, open...))
		d.do(a, wire.OpCreate, create("/zookeeper/config/x", "", 0, open...))
	}},
	{"WhatAStandaloneServerDoesNotDo", func(d *differ) {
		a := d.client("A")
		d.do(a, wire.OpCreate, create(d.root, "", 0, open...))
		d.do(a, wire.OpReconfig, reconfig("server.9=h:1:2;3", "", "", -1))
		d.do(a, wire.OpReconfig, reconfig("", "1", "", -1))
		d.do(a, wire.OpReconfig, reconfig("", "", "server.1=h:1:2;3", 5))
		d.do(a, wire.OpReconfig, onPath("x"))
		d.do(a, wire.OpSetData, setData(d.root, "x", -1))
		d.do(a, wire.OpDeleteContainer, onPath(d.root))
		d.do(a, wire.OpDeleteContainer, nil)
		d.do(a, wire.OpSetData, setData(d.root, "x", -1))
		token := func(s string) func(*wire.Encoder) { return func(e *wire.Encoder) { e.Buffer([]byte(s)) } }
		d.do(a, wire.OpSASL, token(""))
		d.do(a, wire.OpSASL, token("token"))
		d.do(a, wire.OpSync, onPath("/"))
		none := d.client("N")
		d.do(none, wire.OpSASL, func(e *wire.Encoder) { e.Int32(-1) })
		short := d.client("S")
		d.do(short, wire.OpSASL, func(e *wire.Encoder) { e.Buf = append(e.Buf, 0) })
		d.do(a, wire.OpSync, onPath("/"))
	}},
	{"ReadsOfStrangePaths", func(d *differ) {
		a := d.client("A")
		d.do(a, wire.OpCreate, create(d.root, "", 0, open...))
		null := func(e *wire.Encoder) { e.Int32(-1); e.Bool(false) }
		for _, op := range []wire.Op{wire.OpExists, wire.OpGetData, wire.OpGetChildren, wire.OpGetChildren2, wire.OpGetACL, wire.OpSync,
			wire.OpGetAllChildren, wire.OpDelete, wire.OpSetData, wire.OpSetACL, wire.OpCheck, wire.OpCreate, wire.OpCreate2} {
			d.do(a, op, func(e *wire.Encoder) { null(e); e.Buf = append(e.Buf, make([]byte, 64)...) })
			d.do(a, op, func(e *wire.Encoder) { e.String(d.root + "/\xff"); e.Buf = append(e.Buf, make([]byte, 64)...) })
		}
		d.do(a, wire.OpSync, onPath("\xff"))
		a.write(wire.RequestHeader{Xid: 77, Op: wire.OpPing}.Append(nil))
		f, err := a.next()
		d.say("a ping with xid 77 is answered with xid %d, err %v", f.Xid, err)
		d.do(a, wire.OpPing, nil)
		d.do(a, wire.OpExists, watched(d.root, false))
		d.do(a, wire.OpSetWatches, func(e *wire.Encoder) { e.Int64(0); e.Int32(-1); e.Int32(-1); e.Int32(-1) })
		lists := func(path func(*wire.Encoder), at int) func(*wire.Encoder) {
			return func(e *wire.Encoder) {
				e.Int64(0)
				for i := range 5 {
					e.Int32(2)
					e.String(d.root)
					if i == at {
						path(e)
					} else {
						e.String(d.root)
					}
				}
			}
		}
		for i := range 5 {
			if i < 3 { // the real server takes the other two, and trips over them later
				d.do(a, wire.OpSetWatches2, lists(func(e *wire.Encoder) { e.Int32(-1) }, i))
			}
			d.do(a, wire.OpSetWatches2, func(e *wire.Encoder) {
				e.Int64(0)
				for k := range 5 {
					if k == i {
						e.Int32(-1)
					} else {
						e.Strings([]string{d.root})
					}
				}
			})
			d.do(a, wire.OpRemoveWatches, versioned(d.root, anyWatches))
		}
		d.do(a, wire.OpCreate, func(e *wire.Encoder) { e.String(d.root + "/x"); e.Int32(-1); e.Int32(-7); e.Int32(0) })
		d.do(a, wire.OpCreate, func(e *wire.Encoder) { e.String(d.root + "/x"); e.Int32(-1); e.Int32(-1); e.Int32(0) })
		d.do(a, wire.OpSetData, setData(d.root, strings.Repeat("x", 1000), -1))
	}},
}

package zktest_test

import "github.com/zkfence/zkfence/internal/wire"

var ttlScripts = []script{
	{"CreateTTL", func(d *differ) {
		a := d.client("A")
		const hour, longest = 3_600_000, 1<<40 - 1
		d.do(a, wire.OpCreate, create(d.root, "", 0, open...))
		for _, flags := range []int32{5, 6} {
			for _, ttl := range []int64{hour, longest, longest + 1, 0, -1, -1 << 63, 1<<63 - 1} {
				d.do(a, wire.OpCreateTTL, createTTL(d.root+"/t", "x", flags, ttl, open...))
			}
		}
		d.do(a, wire.OpExists, watched(d.root+"/t", false))
		d.do(a, wire.OpCreate, create(d.root+"/t/child", "", 1, open...))
		d.do(a, wire.OpCreateTTL, createTTL(d.root+"/t/child/x", "", 5, hour, open...))
		d.do(a, wire.OpSetData, setData(d.root+"/t", "y", 0))
		d.do(a, wire.OpGetData, watched(d.root+"/t", false))
		// Without a TTL it must have none; one that says so kills the real server.
		for _, flags := range []int32{0, 1, 2, 3, 4, 7, -1} {
			d.do(a, wire.OpCreateTTL, createTTL(d.root+"/plain", "", flags, hour, open...))
			d.do(a, wire.OpCreateTTL, createTTL(d.root+"/plain", "", flags, 0, open...))
			d.do(a, wire.OpCreateTTL, createTTL(d.root+"/none/plain", "", flags, -1, open...))
			d.do(a, wire.OpCreateTTL, createTTL("plain", "", flags, -5, open...))
		}
		for _, op := range []wire.Op{wire.OpCreate, wire.OpCreate2, wire.OpCreateContainer} {
			d.do(a, op, create(d.root+"/plain", "", 5, open...))
			d.do(a, op, create(d.root+"/plain", "", 6, open...))
		}
		d.do(a, wire.OpCreateTTL, createTTL(d.root+"/bad", "", 5, hour))
		d.do(a, wire.OpCreateTTL, createTTL("bad", "", 5, hour, open...))
		d.do(a, wire.OpCreateTTL, create(d.root+"/bad", "", 5, open...))
		d.do(a, wire.OpSync, onPath("/"))
	}},
	{"CreateTTLInAMulti", func(d *differ) {
		a := d.client("A")
		const hour = 3_600_000
		d.do(a, wire.OpCreate, create(d.root, "", 0, open...))
		d.do(a, wire.OpMulti, multi(
			sub{wire.OpCreateTTL, createTTL(d.root+"/t", "x", 5, hour, open...)},
			sub{wire.OpCreateTTL, createTTL(d.root+"/t/s-", "x", 6, hour, open...)},
			sub{wire.OpSetData, setData(d.root+"/t", "y", 0)}))
		d.do(a, wire.OpMulti, multi(sub{wire.OpCreateTTL, createTTL(d.root+"/bad", "x", 5, 0, open...)}, sub{wire.OpCheck, versioned(d.root, -1)}))
		d.do(a, wire.OpMulti, multi(sub{wire.OpCheck, versioned(d.root, -1)}, sub{wire.OpCreateTTL, createTTL(d.root+"/bad", "x", 6, 1<<40, open...)}))
		for _, flags := range []int32{0, 1, 2, 3, 4, 7} {
			for _, ttl := range []int64{-1, 0, hour} {
				d.do(a, wire.OpMulti, multi(sub{wire.OpCreateTTL, createTTL(d.root+"/flags", "x", flags, ttl, open...)}))
				d.do(a, wire.OpDelete, versioned(d.root+"/flags", -1))
			}
		}
		for _, op := range []wire.Op{wire.OpCreate, wire.OpCreate2, wire.OpCreateContainer} {
			for _, flags := range []int32{5, 6} {
				with := sub{op, create(d.root+"/x", "", flags, open...)}
				d.do(a, wire.OpMulti, multi(sub{wire.OpCreate, create(d.root+"/before", "", 0, open...)}, with))
				d.do(a, wire.OpMulti, multi(sub{wire.OpCheck, versioned(d.root+"/none", 0)}, with))
				d.do(a, wire.OpExists, watched(d.root+"/before", false))
			}
		}
		d.do(a, wire.OpMulti, multi(sub{wire.OpCreateTTL, create(d.root+"/bad", "", 5, open...)}))
		d.do(a, wire.OpGetChildren, watched(d.root, false))
	}},
	{"TheReaper", func(d *differ) {
		a, b := d.client("A"), d.client("B")
		d.do(a, wire.OpCreate, create(d.root, "", 0, open...))
		d.do(a, wire.OpCreateContainer, create(d.root+"/unused", "", 4, open...))
		d.do(a, wire.OpCreateContainer, create(d.root+"/parent", "", 4, open...))
		d.do(a, wire.OpCreate, create(d.root+"/parent/child", "", 0, open...))
		d.do(a, wire.OpCreateTTL, createTTL(d.root+"/hour", "", 5, 3_600_000, open...))
		d.do(a, wire.OpMulti, multi(
			sub{wire.OpCreateTTL, createTTL(d.root+"/protected", "", 5, 1, open...)},
			sub{wire.OpCreate, create(d.root+"/protected/child", "", 0, open...)},
			sub{wire.OpCreate, create(d.root+"/flag", "", 4, open...)},
			sub{wire.OpCreateContainer, create(d.root+"/emptied", "", 4, open...)},
			sub{wire.OpCreate, create(d.root+"/emptied/child", "", 0, open...)}))
		d.do(b, wire.OpAddWatch, versioned(d.root, recursiveWatch))
		d.alone(a, wire.OpMulti, multi(
			sub{wire.OpCreateTTL, createTTL(d.root+"/short", "", 5, 1, open...)},
			sub{wire.OpDelete, versioned(d.root+"/emptied/child", -1)}))
		d.await(b, 4)
		d.do(a, wire.OpGetChildren, watched(d.root, false))
		d.alone(a, wire.OpMulti, multi(
			sub{wire.OpDelete, versioned(d.root+"/protected/child", -1)},
			sub{wire.OpDelete, versioned(d.root+"/parent/child", -1)}))
		d.await(b, 4)
		d.do(a, wire.OpGetChildren, watched(d.root, false))
	}},
}

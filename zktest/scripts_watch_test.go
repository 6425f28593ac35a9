package zktest_test

import "github.com/zkfence/zkfence/internal/wire"

var watchScripts = []script{
	{"Watches", func(d *differ) {
		a, b := d.client("A"), d.client("B")
		for _, c := range []*rawClient{a, b} {
			d.do(c, wire.OpExists, watched(d.root, true))
			d.do(c, wire.OpGetData, watched(d.root, true))
			d.do(c, wire.OpGetChildren, watched(d.root, true))
		}
		d.do(a, wire.OpCreate, create(d.root, "", 0, open...))
		for _, c := range []*rawClient{a, b} {
			d.do(c, wire.OpGetData, watched(d.root, true))
			d.do(c, wire.OpGetChildren2, watched(d.root, true))
			d.do(c, wire.OpExists, watched(d.root+"/k", true))
		}
		d.do(a, wire.OpSetACL, setACL(d.root, -1, open...))
		d.do(a, wire.OpCreate, create(d.root+"/k", "", 1, open...))
		d.do(a, wire.OpSetData, setData(d.root, "1", -1))
		d.do(a, wire.OpSetData, setData(d.root, "2", -1))
		for _, c := range []*rawClient{a, b} {
			d.do(c, wire.OpGetData, watched(d.root+"/k", true))
			d.do(c, wire.OpGetChildren, watched(d.root+"/k", true))
			d.do(c, wire.OpGetChildren, watched(d.root, true))
		}
		d.do(b, wire.OpDelete, versioned(d.root+"/k", -1))
		d.do(b, wire.OpSetWatches, setWatches(0, []string{d.root, d.root + "/gone"}, []string{d.root, d.root + "/new"}, []string{d.root, d.root + "/gone"}))
		last := d.do(b, wire.OpSync, onPath("/")).Zxid
		d.do(b, wire.OpSetWatches, setWatches(last, []string{d.root}, nil, []string{d.root}))
		d.do(a, wire.OpCreate, create(d.root+"/new", "", 0, open...))
		d.do(a, wire.OpSetData, setData(d.root, "3", -1))
		d.do(a, wire.OpDelete, versioned(d.root+"/new", -1))
	}},
	{"PersistentWatches", func(d *differ) {
		a, b, c := d.client("A"), d.client("B"), d.client("C")
		d.do(a, wire.OpAddWatch, versioned(d.root, persistentWatch))
		d.do(b, wire.OpAddWatch, versioned(d.root, recursiveWatch))
		d.do(c, wire.OpCreate, create(d.root, "", 0, open...))
		d.do(c, wire.OpSetData, setData(d.root, "1", -1))
		d.do(c, wire.OpSetData, setData(d.root, "2", -1))
		d.do(c, wire.OpCreate, create(d.root+"/k", "", 0, open...))
		d.do(c, wire.OpCreate, create(d.root+"/k/deep", "", 0, open...))
		d.do(c, wire.OpSetData, setData(d.root+"/k/deep", "3", -1))
		d.do(c, wire.OpSetACL, setACL(d.root, -1, open...))
		d.do(c, wire.OpDelete, versioned(d.root+"/k/deep", -1))
		d.do(c, wire.OpDelete, versioned(d.root+"/k", -1))
		d.do(c, wire.OpCreate, create(d.root+"-sibling", "", 0, open...))
		d.do(c, wire.OpDelete, versioned(d.root+"-sibling", -1))
		d.do(c, wire.OpMulti, multi(
			sub{wire.OpCreate, create(d.root+"/m", "", 0, open...)},
			sub{wire.OpSetData, setData(d.root+"/m", "x", 0)},
			sub{wire.OpSetData, setData(d.root, "x", -1)},
			sub{wire.OpDelete, versioned(d.root+"/m", 1)}))
		d.do(c, wire.OpCreate, create(d.root+"/e", "", 1, open...))
		d.do(c, wire.OpCloseSession, nil)
		d.do(a, wire.OpDelete, versioned(d.root, -1))
		d.do(a, wire.OpCreate, create(d.root, "", 0, open...))
	}},
	{"SeveralWatchesOfOneConnection", func(d *differ) {
		a, b := d.client("A"), d.client("B")
		d.do(b, wire.OpCreate, create(d.root, "", 0, open...))
		d.do(a, wire.OpAddWatch, versioned(d.root, recursiveWatch))
		d.do(a, wire.OpAddWatch, versioned(d.root+"/k", recursiveWatch))
		d.do(a, wire.OpAddWatch, versioned(d.root+"/p", persistentWatch))
		for _, name := range []string{"/k", "/p", "/plain"} {
			d.do(b, wire.OpCreate, create(d.root+name, "", 0, open...))
			d.do(b, wire.OpSetData, setData(d.root+name, "1", -1))
			d.do(b, wire.OpCreate, create(d.root+name+"/x", "", 0, open...))
			d.do(a, wire.OpGetChildren, watched(d.root+name, true))
			d.do(b, wire.OpDelete, versioned(d.root+name+"/x", -1))
			d.do(a, wire.OpGetChildren, watched(d.root+name, true))
			d.do(a, wire.OpExists, watched(d.root+name, true))
			d.do(b, wire.OpDelete, versioned(d.root+name, -1))
			d.do(b, wire.OpCreate, create(d.root+name, "", 0, open...))
			d.do(b, wire.OpDelete, versioned(d.root+name, -1))
		}
	}},
	{"APlainWatchTakesThePlaceOfAPersistentOne", func(d *differ) {
		a, b := d.client("A"), d.client("B")
		d.do(b, wire.OpCreate, create(d.root, "", 0, open...))
		for _, mode := range []int32{persistentWatch, recursiveWatch} {
			for _, op := range []wire.Op{wire.OpExists, wire.OpGetChildren} {
				d.do(a, wire.OpAddWatch, versioned(d.root, mode))
				d.do(a, op, watched(d.root, true))
				for _, data := range []string{"1", "2"} {
					d.do(b, wire.OpSetData, setData(d.root, data, -1))
					d.do(b, wire.OpCreate, create(d.root+"/"+data, "", 0, open...))
					d.do(b, wire.OpDelete, versioned(d.root+"/"+data, -1))
				}
				d.do(a, wire.OpRemoveWatches, versioned(d.root, childrenWatches))
				d.do(a, wire.OpRemoveWatches, versioned(d.root, dataWatches))
			}
		}
		d.do(a, wire.OpExists, watched(d.root, true))
		d.do(a, wire.OpAddWatch, versioned(d.root, persistentWatch))
		d.do(a, wire.OpAddWatch, versioned(d.root, recursiveWatch))
		d.do(b, wire.OpCreate, create(d.root+"/x", "", 0, open...))
		d.do(a, wire.OpAddWatch, versioned(d.root, persistentWatch))
		d.do(b, wire.OpCreate, create(d.root+"/x/y", "", 0, open...))
		d.do(b, wire.OpSetData, setData(d.root, "3", -1))
		d.do(b, wire.OpDelete, versioned(d.root+"/x/y", -1))
		d.do(b, wire.OpDelete, versioned(d.root+"/x", -1))
	}},
	{"RemovedAndCheckedWatches", func(d *differ) {
		a, b := d.client("A"), d.client("B")
		d.do(b, wire.OpCreate, create(d.root, "", 0, open...))
		kinds := []int32{childrenWatches, dataWatches, anyWatches, 0, 4, -1}
		look := func(c *rawClient) {
			for _, kind := range kinds {
				d.do(c, wire.OpCheckWatches, versioned(d.root, kind))
			}
		}
		set := []func(c *rawClient){
			func(*rawClient) {},
			func(c *rawClient) { d.do(c, wire.OpExists, watched(d.root, true)) },
			func(c *rawClient) { d.do(c, wire.OpGetChildren, watched(d.root, true)) },
			func(c *rawClient) { d.do(c, wire.OpAddWatch, versioned(d.root, persistentWatch)) },
			func(c *rawClient) { d.do(c, wire.OpAddWatch, versioned(d.root, recursiveWatch)) },
		}
		for _, watch := range set {
			watch(a)
			look(a)
			look(b)
			for _, kind := range kinds {
				watch(a)
				d.do(b, wire.OpRemoveWatches, versioned(d.root, kind))
				d.do(a, wire.OpRemoveWatches, versioned(d.root, kind))
				d.do(b, wire.OpSetData, setData(d.root, "x", -1))
				d.do(b, wire.OpCreate, create(d.root+"/k", "", 0, open...))
				d.do(b, wire.OpDelete, versioned(d.root+"/k", -1))
			}
			d.do(a, wire.OpRemoveWatches, versioned(d.root, anyWatches))
			look(a)
		}
		d.do(a, wire.OpAddWatch, versioned(d.root, recursiveWatch))
		d.do(a, wire.OpCheckWatches, versioned(d.root+"/below", anyWatches))
		d.do(a, wire.OpRemoveWatches, versioned(d.root+"/below", anyWatches))
		d.do(a, wire.OpRemoveWatches, versioned(d.root, anyWatches))
	}},
	{"StrangePathsOfWatches", func(d *differ) {
		a, b := d.client("A"), d.client("B")
		d.do(b, wire.OpCreate, create(d.root, "", 0, open...))
		for _, mode := range []int32{-1, 2, 3, 99} {
			d.do(a, wire.OpAddWatch, versioned(d.root, mode))
		}
		for _, path := range []string{"", "x", "x/y", "//", d.root + "/", d.root + "/none", d.root + "/\x00", "/zookeeper/config"} {
			for _, kind := range []int32{dataWatches, anyWatches} {
				d.do(a, wire.OpCheckWatches, versioned(path, kind))
				d.do(a, wire.OpRemoveWatches, versioned(path, kind))
			}
			d.do(a, wire.OpAddWatch, versioned(path, recursiveWatch))
			d.do(a, wire.OpCheckWatches, versioned(path, anyWatches))
			d.do(b, wire.OpCheckWatches, versioned(path, anyWatches))
			d.do(b, wire.OpSetData, setData(d.root, "x", -1))
			d.do(a, wire.OpRemoveWatches, versioned(path, anyWatches))
		}
		for _, op := range []wire.Op{wire.OpAddWatch, wire.OpCheckWatches, wire.OpRemoveWatches} {
			d.do(a, op, versioned(d.root+"/void", recursiveWatch))
			d.do(a, op, onPath(d.root))
			d.do(a, op, func(e *wire.Encoder) { e.Int32(-1); e.Int32(anyWatches) })
		}
		d.do(a, wire.OpSync, onPath("/"))
	}},
	{"WatchesComeBackWithTheConnection", func(d *differ) {
		a, b := d.client("A"), d.client("B")
		d.do(b, wire.OpCreate, create(d.root, "", 0, open...))
		d.do(b, wire.OpCreate, create(d.root+"/k", "", 0, open...))
		d.do(b, wire.OpSetData, setData(d.root, "1", -1))
		d.do(b, wire.OpCreate, create(d.root+"/k/x", "", 0, open...))
		last := d.do(b, wire.OpSync, onPath("/")).Zxid
		gone, none := []string{d.root + "/gone"}, []string(nil)
		for _, relative := range []int64{0, last - 1, last} {
			for _, paths := range [][]string{{d.root}, {d.root + "/k", d.root}, gone} {
				d.do(a, wire.OpSetWatches2, setWatches2(relative, paths, none, none, none, none))
				d.do(a, wire.OpSetWatches2, setWatches2(relative, none, paths, none, none, none))
				d.do(a, wire.OpSetWatches2, setWatches2(relative, none, none, paths, none, none))
			}
		}
		d.do(a, wire.OpSetWatches2, setWatches2(last, none, none, none, []string{d.root}, []string{d.root + "/k"}))
		d.do(b, wire.OpSetData, setData(d.root, "1", -1))
		d.do(b, wire.OpSetData, setData(d.root, "2", -1))
		d.do(b, wire.OpSetData, setData(d.root+"/k/x", "2", -1))
		d.do(b, wire.OpCreate, create(d.root+"/gone", "", 0, open...))
		d.do(b, wire.OpDelete, versioned(d.root+"/k/x", -1))
		d.do(b, wire.OpDelete, versioned(d.root+"/k", -1))
		d.do(a, wire.OpSetWatches2, setWatches(last, none, none, none))
		// Persistent watches first: what follows in the lists takes their place.
		d.do(a, wire.OpAddWatch, versioned(d.root, persistentWatch))
		last = d.do(b, wire.OpSync, onPath("/")).Zxid
		d.do(a, wire.OpSetWatches2, setWatches2(last, []string{d.root}, none, none, none, none))
		d.do(b, wire.OpSetData, setData(d.root, "3", -1))
		d.do(b, wire.OpSetData, setData(d.root, "4", -1))
		d.do(b, wire.OpCreate, create(d.root+"/k", "", 0, open...))
		d.do(b, wire.OpDelete, versioned(d.root+"/k", -1))
	}},
	{"EventsAskForPermission", func(d *differ) {
		a, b := d.client("A"), d.client("B")
		mine := rawACL{31, "auth", ""}
		d.do(b, wire.OpSetAuth, auth("digest", "bob:secret"))
		d.do(b, wire.OpCreate, create(d.root, "", 0, open...))
		d.do(a, wire.OpAddWatch, versioned(d.root, recursiveWatch))
		d.do(a, wire.OpExists, watched(d.root+"/mine", true))
		d.do(b, wire.OpCreate, create(d.root+"/mine", "", 0, mine))
		d.do(b, wire.OpSetData, setData(d.root+"/mine", "", -1))
		d.do(b, wire.OpCreate, create(d.root+"/mine/open", "", 0, open...))
		d.do(b, wire.OpSetData, setData(d.root+"/mine/open", "", -1))
		d.do(b, wire.OpCreate, create(d.root+"/write", "", 0, rawACL{30, "world", "anyone"}))
		// A plain watch that may not be told of an event is gone all the same.
		d.do(a, wire.OpExists, watched(d.root+"/mine", true))
		d.do(a, wire.OpAddWatch, versioned(d.root+"/mine", persistentWatch))
		d.do(a, wire.OpCheckWatches, versioned(d.root+"/mine", dataWatches))
		d.do(a, wire.OpExists, watched(d.root+"/mine", true))
		d.do(b, wire.OpSetData, setData(d.root+"/mine", "", -1))
		d.do(a, wire.OpCheckWatches, versioned(d.root+"/mine", dataWatches))
		d.do(b, wire.OpDelete, versioned(d.root+"/mine/open", -1))
		d.do(a, wire.OpSetWatches, setWatches(0, []string{d.root + "/mine"}, []string{d.root + "/mine"}, []string{d.root + "/mine"}))
		d.do(a, wire.OpSetAuth, auth("digest", "bob:secret"))
		d.do(a, wire.OpExists, watched(d.root+"/mine", true))
		d.do(b, wire.OpSetData, setData(d.root+"/mine", "", -1))
		d.do(b, wire.OpSetACL, setACL(d.root+"/mine", -1, rawACL{4, "world", "anyone"}))
		d.do(b, wire.OpCreate, create(d.root+"/mine/x", "", 0, open...))
		d.do(b, wire.OpDelete, versioned(d.root+"/mine/x", -1))
		d.do(b, wire.OpDelete, versioned(d.root+"/mine", -1))
	}},
}

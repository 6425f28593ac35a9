package zktest_test

import (
	"fmt"

	"github.com/zkfence/zkfence/internal/wire"
)

var authScripts = []script{
	{"AccessControl", func(d *differ) {
		a, b := d.client("A"), d.client("B")
		mine := rawACL{31, "auth", ""}
		d.do(a, wire.OpSetAuth, auth("digest", "ann:secret"))
		d.do(a, wire.OpSetAuth, auth("digest", "ann:secret"))
		d.do(a, wire.OpCreate, create(d.root, "", 0, open...))
		d.do(a, wire.OpCreate, create(d.root+"/mine", "", 0, mine, mine))
		d.do(a, wire.OpGetACL, onPath(d.root+"/mine"))
		d.do(b, wire.OpGetACL, onPath(d.root+"/mine"))
		d.do(b, wire.OpGetData, watched(d.root+"/mine", true))
		d.do(b, wire.OpGetChildren, watched(d.root+"/mine", true))
		d.do(b, wire.OpExists, watched(d.root+"/mine", true))
		d.do(b, wire.OpSetData, setData(d.root+"/mine", "", 5))
		d.do(b, wire.OpSetACL, setACL(d.root+"/mine", 5, open...))
		d.do(b, wire.OpCreate, create(d.root+"/mine/x", "", 0, open...))
		d.do(b, wire.OpMulti, multi(sub{wire.OpCheck, versioned(d.root+"/mine", 5)}))
		d.do(a, wire.OpCreate, create(d.root+"/mine/x", "", 0, open...))
		d.do(b, wire.OpDelete, versioned(d.root+"/mine/x", 5))
		d.do(b, wire.OpDelete, versioned(d.root+"/mine/none", 5))
		d.do(a, wire.OpCreate, create(d.root+"/read", "", 0, rawACL{1, "world", "anyone"}, rawACL{16, "digest", "ann:x"}))
		d.do(b, wire.OpGetACL, onPath(d.root+"/read"))
		d.do(b, wire.OpGetData, watched(d.root+"/read", false))
		d.do(b, wire.OpSetData, setData(d.root+"/read", "", 0))
		d.do(a, wire.OpCreate, create(d.root+"/ip", "", 0, rawACL{31, "ip", "127.0.0.0/8"}))
		d.do(b, wire.OpSetData, setData(d.root+"/ip", "", 0))
		d.do(a, wire.OpCreate, create(d.root+"/ip2", "", 0, rawACL{15, "ip", "10.0.0.1"}, rawACL{16, "world", "anyone"}))
		d.do(b, wire.OpSetData, setData(d.root+"/ip2", "", 0))
		d.do(b, wire.OpSetACL, setACL(d.root+"/ip2", 3, open...))
		d.do(b, wire.OpSetACL, setACL(d.root+"/ip2", 0, open...))
		d.do(b, wire.OpGetACL, onPath(d.root+"/ip2"))
		d.do(b, wire.OpSetAuth, auth("digest", "bob"))
		d.do(b, wire.OpSetData, setData(d.root+"/mine", "", 5))
		d.do(b, wire.OpCreate, create(d.root+"/bobs", "", 0, rawACL{31, "auth", "ignored"}))
		d.do(b, wire.OpGetACL, onPath(d.root+"/bobs"))
		d.do(b, wire.OpDelete, versioned(d.root+"/bobs", 0))
		d.do(b, wire.OpSetAuth, auth("ip", "whatever"))
		d.do(b, wire.OpSetAuth, auth("digest", "ann:secret"))
		d.do(b, wire.OpDelete, versioned(d.root+"/mine/x", 0))
		c := d.client("C")
		d.do(c, wire.OpSetAuth, auth("nonsense", ""))
		w := d.client("W")
		d.do(w, wire.OpSetAuth, auth("world", "anyone"))
		d.do(a, wire.OpGetACL, onPath("/zookeeper/config"))
		d.do(a, wire.OpGetACL, onPath("/zookeeper/quota"))
	}},
	{"WhoAmI", func(d *differ) {
		a := d.client("A")
		d.do(a, wire.OpWhoAmI, nil)
		d.do(a, wire.OpSetAuth, auth("digest", "ann:secret"))
		d.do(a, wire.OpWhoAmI, nil)
		d.do(a, wire.OpSetAuth, auth("digest", "ann:secret"))
		d.do(a, wire.OpSetAuth, auth("digest", "bob"))
		d.do(a, wire.OpSetAuth, auth("digest", ""))
		d.do(a, wire.OpSetAuth, auth("digest", ":x"))
		d.do(a, wire.OpSetAuth, auth("digest", "a:b:c"))
		d.do(a, wire.OpSetAuth, auth("ip", ""))
		d.do(a, wire.OpSetAuth, func(e *wire.Encoder) { e.Int32(7); e.String("ip"); e.Int32(-1) })
		d.do(a, wire.OpSetAuth, auth("digest", "\xff\xfe:p"))
		d.do(a, wire.OpSetAuth, auth("digest", "\xed\xa0\x80é😀:\xf0\x90"))
		d.do(a, wire.OpWhoAmI, onPath("what is it to you"))
		d.do(a, wire.OpCreate, create(d.root, "", 0, rawACL{31, "auth", ""}, rawACL{1, "world", "anyone"}))
		d.do(a, wire.OpGetACL, onPath(d.root))
		for i := range 30 { // past two growths of a hash table
			d.do(a, wire.OpSetAuth, auth("digest", fmt.Sprintf("user%d:p", i*i)))
			d.do(a, wire.OpWhoAmI, nil)
		}
		d.do(a, wire.OpSetACL, setACL(d.root, -1, rawACL{31, "auth", ""}))
		d.do(a, wire.OpGetACL, onPath(d.root))
	}},
	{"SchemesThatAreNotThere", func(d *differ) {
		a := d.client("A")
		d.do(a, wire.OpCreate, create(d.root, "", 0, open...))
		for _, scheme := range []string{"world", "auth", "super", "x509", "sasl", "host", "DIGEST", "", "digest "} {
			c := d.client("C")
			d.do(c, wire.OpSetAuth, auth(scheme, "anyone"))
			d.do(a, wire.OpCreate, create(d.root+"/"+"s", "", 0, rawACL{31, scheme, "anyone"}))
		}
		for _, body := range []func(*wire.Encoder){
			func(e *wire.Encoder) { e.Int32(0); e.Int32(-1); e.Int32(-1) },
			func(e *wire.Encoder) { e.Int32(0); e.String("digest"); e.Int32(-1) },
			func(e *wire.Encoder) { e.Int32(0); e.String("digest") },
			func(e *wire.Encoder) { e.Int32(0) },
			nil,
		} {
			c := d.client("C")
			d.do(c, wire.OpSetAuth, body)
			d.do(a, wire.OpSync, onPath("/"))
		}
	}},
	{"ACLsAreJudged", func(d *differ) {
		a, b := d.client("A"), d.client("B")
		d.do(a, wire.OpCreate, create(d.root, "", 0, open...))
		d.do(a, wire.OpCreate, create(d.root+"/n", "", 0, open...))
		for _, name := range []string{"", ":", "a", "a:", ":b", "a:b", "a:b:", "a:b::", "a:b:c", "::", "::b"} {
			d.do(a, wire.OpSetACL, setACL(d.root+"/n", -1, rawACL{31, "world", "anyone"}, rawACL{31, "digest", name}))
		}
		for _, name := range []string{"", "127.0.0.1", "127.0.0.1/32", "127.0.0.1/0", "127.0.0.1/33", "127.0.0.1/-1", "127.0.0.1/", "127.0.0.1/8/8", "127.0.0", "127.0.0.1.2",
			"127.0.0.256", "127.0.0.-1", "+127.00.0.01", "127.0.0.", "::1", "::1/128", "localhost", "1.2.3.4/ 8", "1.2.3.4/+8"} {
			d.do(a, wire.OpSetACL, setACL(d.root+"/n", -1, rawACL{31, "world", "anyone"}, rawACL{31, "ip", name}))
		}
		d.do(a, wire.OpSetACL, setACL(d.root+"/n", -1, rawACL{31, "world", "everyone"}))
		d.do(a, wire.OpSetACL, setACL(d.root+"/n", -1, rawACL{0, "world", "anyone"}, rawACL{-1, "world", "anyone"}, rawACL{1 << 20, "world", "anyone"}))
		d.do(a, wire.OpGetACL, onPath(d.root+"/n"))
		d.do(b, wire.OpSetData, setData(d.root+"/n", "x", -1))
		null := func(scheme, name bool, text string) func(*wire.Encoder) {
			return func(e *wire.Encoder) {
				e.String(d.root + "/null")
				e.Buffer(nil)
				e.Int32(1)
				e.Int32(31)
				for _, is := range []bool{scheme, name} {
					if is {
						e.Int32(-1)
					} else {
						e.String(text)
					}
				}
				e.Int32(0)
			}
		}
		for _, scheme := range []string{"world", "digest", "ip", "auth", "none"} {
			d.do(a, wire.OpCreate, null(false, true, scheme))
			d.do(a, wire.OpCreate, null(true, false, scheme))
		}
	}},
	{"EachPermission", func(d *differ) {
		a, b := d.client("A"), d.client("B")
		d.do(a, wire.OpSetAuth, auth("digest", "ann:secret"))
		d.do(a, wire.OpCreate, create(d.root, "", 0, open...))
		for _, perms := range []int32{0, 1, 2, 4, 8, 16, 31} {
			d.do(a, wire.OpCreate, create(d.root+"/n", "", 0, rawACL{31, "auth", ""}, rawACL{perms, "world", "anyone"}))
			d.do(b, wire.OpExists, watched(d.root+"/n", false))
			d.do(b, wire.OpGetData, watched(d.root+"/n", false))
			d.do(b, wire.OpGetChildren, watched(d.root+"/n", false))
			d.do(b, wire.OpGetChildren2, watched(d.root+"/n", false))
			d.do(b, wire.OpGetAllChildren, onPath(d.root+"/n"))
			d.do(b, wire.OpGetACL, onPath(d.root+"/n"))
			d.do(b, wire.OpMulti, multi(sub{wire.OpCheck, versioned(d.root+"/n", -1)}))
			d.do(b, wire.OpMultiRead, multi(sub{wire.OpGetData, watched(d.root+"/n", false)}))
			d.do(b, wire.OpAddWatch, versioned(d.root+"/n", persistentWatch))
			d.do(b, wire.OpRemoveWatches, versioned(d.root+"/n", anyWatches))
			d.do(b, wire.OpSetData, setData(d.root+"/n", "x", -1))
			d.do(b, wire.OpCreate, create(d.root+"/n/x", "", 0, open...))
			d.do(a, wire.OpCreate, create(d.root+"/n/y", "", 0, rawACL{0, "world", "anyone"}))
			d.do(b, wire.OpDelete, versioned(d.root+"/n/y", -1))
			d.do(b, wire.OpSetACL, setACL(d.root+"/n", -1, rawACL{31, "world", "anyone"}))
			for _, name := range []string{"/x", "/y", ""} {
				d.do(a, wire.OpDelete, versioned(d.root+"/n"+name, -1))
			}
		}
	}},
}

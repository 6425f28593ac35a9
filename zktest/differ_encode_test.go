package zktest_test

import (
	"bytes"
	"encoding/hex"
	"strings"

	"github.com/zkfence/zkfence/internal/wire"
)

// nullPath stands for a string that is not there, which a client may send,
// notUTF8 for one that no text is.
const (
	nullPath = "(null)"
	notUTF8  = "~/(not UTF-8)"
)

// acls are the lists that scripts use. Somebody whom sweep can be may always
// administer, so that what a script has made can be removed.
var acls = map[string][]rawACL{
	"open":      open,
	"twice":     {open[0], open[0]},
	"read":      {{1, "world", "anyone"}, {31, "digest", "ann:7RJfAeIvrl4zdj6sS2fXrQHDvHM="}},
	"ann":       {{31, "digest", "ann:7RJfAeIvrl4zdj6sS2fXrQHDvHM="}},
	"auth":      {{31, "auth", ""}},
	"auth+":     {{1, "world", "anyone"}, {30, "auth", "ignored"}},
	"ip":        {{31, "ip", "127.0.0.1"}},
	"net":       {{31, "ip", "127.0.0.0/8"}},
	"elsewhere": {{15, "ip", "10.0.0.1"}, {16, "world", "anyone"}},
	"admin":     {{16, "world", "anyone"}},
	"write":     {{18, "world", "anyone"}},
	"create":    {{20, "world", "anyone"}},
	"delete":    {{24, "world", "anyone"}},
	"strange":   {{-1, "world", "anyone"}, {64, "world", "anyone"}},
	"none":      {},
	"null":      nil,
	"nobody":    {{31, "nobody", "x"}},
	"world":     {{31, "world", "x"}},
	"digest":    {{31, "digest", "x"}},
	"badip":     {{31, "ip", "127.0.0.1/33"}},
	"emptied":   {{31, "", ""}},
	"late":      {open[0], {31, "nobody", "x"}},
	"foreign":   {{16, "world", "anyone"}, {31, "digest", "é:x"}, {31, "digest", "😀:x"}, {31, "digest", ":"}},
	"nulls":     {{31, nullPath, nullPath}},
}

// encoder turns a script's values into bytes.
type encoder struct {
	root string
	seen func(back int) int64
}

func (c encoder) path(p string) string { return strings.Replace(p, "~", c.root, 1) }

func (c encoder) string(e *wire.Encoder, p string) {
	if p == nullPath {
		e.Int32(-1)
		return
	}
	if p == notUTF8 {
		e.String(c.root + "/\xff\xfe\xc3\x28\xed\xa0\xbd\xe2\x82/\xf0\x9f\x98a\xf4\x90\x80\x80\xc0\x80\xf8\x88\x80\x80\xe0\x80\x80\xf0\x80\x80\xf1\x80(\xe2\x82")
		return
	}
	e.String(c.path(p))
}

func (c encoder) data(e *wire.Encoder, r request) {
	switch {
	case r.Null:
		e.Buffer(nil)
	case r.Size > 0:
		e.Buffer(bytes.Repeat([]byte("x"), r.Size))
	default:
		e.Buffer([]byte(r.Data))
	}
}

func (c encoder) acl(e *wire.Encoder, name string) {
	if name == "" {
		name = "open"
	}
	list, ok := acls[name]
	if !ok {
		panic("no such acl: " + name)
	}
	if list == nil {
		e.Int32(-1)
		return
	}
	e.Int32(int32(len(list)))
	for _, a := range list {
		e.Int32(a.perms)
		c.string(e, a.scheme)
		c.string(e, a.name)
	}
}

// body appends what follows a request's header.
func (c encoder) body(e *wire.Encoder, r request) {
	start := len(e.Buf)
	c.fields(e, r)
	if r.Cut > 0 {
		e.Buf = e.Buf[:max(start, len(e.Buf)-r.Cut)]
	}
	for range -r.Cut {
		e.Buf = append(e.Buf, 1)
	}
}

func (c encoder) fields(e *wire.Encoder, r request) {
	switch op := wire.Op(r.Op); op {
	case wire.OpCreate, wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL:
		c.string(e, r.Path)
		c.data(e, r)
		c.acl(e, r.ACL)
		e.Int32(r.Flags)
		if op == wire.OpCreateTTL {
			e.Int64(r.TTL)
		}
	case wire.OpDelete, wire.OpCheck:
		c.string(e, r.Path)
		e.Int32(r.Version)
	case wire.OpSetData:
		c.string(e, r.Path)
		c.data(e, r)
		e.Int32(r.Version)
	case wire.OpSetACL:
		c.string(e, r.Path)
		c.acl(e, r.ACL)
		e.Int32(r.Version)
	case wire.OpExists, wire.OpGetData, wire.OpGetChildren, wire.OpGetChildren2:
		c.string(e, r.Path)
		e.Bool(r.Watch)
	case wire.OpAddWatch, wire.OpRemoveWatches, wire.OpCheckWatches:
		c.string(e, r.Path)
		e.Int32(r.Mode)
	case wire.OpMulti, wire.OpMultiRead:
		for _, s := range r.Subs {
			e.Int32(int32(s.Op))
			e.Bool(false)
			e.Int32(-1)
			c.body(e, s)
		}
		e.Int32(-1)
		e.Bool(true)
		e.Int32(-1)
	case wire.OpSetWatches, wire.OpSetWatches2:
		e.Int64(c.seen(r.Back))
		lists := r.Paths[:3]
		if op == wire.OpSetWatches2 {
			lists = r.Paths[:]
		}
		for _, list := range lists {
			e.Int32(int32(len(list)))
			for _, p := range list {
				c.string(e, p)
			}
		}
	case wire.OpSetAuth:
		e.Int32(0)
		e.String(r.Scheme)
		c.data(e, r)
	case wire.OpReconfig:
		e.String("")
		e.String("")
		c.string(e, r.Path)
		e.Int64(int64(r.Version))
	case wire.OpPing, wire.OpCloseSession, wire.OpWhoAmI:
	default:
		c.string(e, r.Path)
	}
}

func mustHex(text string) []byte {
	b, err := hex.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return b
}

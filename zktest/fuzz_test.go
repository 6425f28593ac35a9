package zktest

import (
	"slices"
	"testing"
	"time"

	"github.com/zkfence/zkfence/internal/wire"
)

// seeds are the bodies of valid requests, of every operation there is.
func seeds() [][]byte {
	path := func(p string) func(*wire.Encoder) { return func(e *wire.Encoder) { e.String(p) } }
	acls := func(e *wire.Encoder) {
		e.Int32(1)
		e.Int32(permAll)
		e.String("world")
		e.String("anyone")
	}
	create := func(p string, flags int32) func(*wire.Encoder) {
		return func(e *wire.Encoder) {
			e.String(p)
			e.Buffer([]byte("data"))
			acls(e)
			e.Int32(flags)
		}
	}
	versioned := func(p string) func(*wire.Encoder) { return func(e *wire.Encoder) { e.String(p); e.Int32(-1) } }
	flagged := func(p string) func(*wire.Encoder) { return func(e *wire.Encoder) { e.String(p); e.Bool(true) } }
	setData := func(e *wire.Encoder) { e.String("/a"); e.Buffer([]byte("more")); e.Int32(-1) }
	kinded := func(e *wire.Encoder) { e.String("/a"); e.Int32(1) }
	many := func(op Op, bodies ...func(*wire.Encoder)) func(*wire.Encoder) {
		return func(e *wire.Encoder) {
			for _, b := range bodies {
				multiHeader{op: op, err: -1}.encode(e)
				b(e)
			}
			multiHeader{op: wire.OpError, done: true, err: -1}.encode(e)
		}
	}
	lists := func(n int) func(*wire.Encoder) {
		return func(e *wire.Encoder) {
			e.Int64(0)
			for range n {
				e.Strings([]string{"/", "/a", "/gone"})
			}
		}
	}
	var out [][]byte
	add := func(op Op, bodies ...func(*wire.Encoder)) {
		for _, b := range bodies {
			out = append(out, request(7, op, b))
		}
	}
	add(wire.OpPing, nil)
	add(OpCreate, create("/a", 0), create("/e", 1), create("/s-", 2), create("/es-", 3))
	add(OpCreate2, create("/a", 0))
	add(OpCreateContainer, create("/k", 4), create("/k/x", 0))
	add(wire.OpCreateTTL, func(e *wire.Encoder) { create("/t", 5)(e); e.Int64(1000) })
	add(OpDelete, versioned("/a"), versioned("/k/x"))
	add(wire.OpCheck, versioned("/"))
	add(OpSetData, setData)
	add(OpSetACL, func(e *wire.Encoder) { e.String("/a"); acls(e); e.Int32(-1) })
	add(OpGetACL, path("/"))
	add(OpSync, path("/"))
	for _, op := range []Op{OpExists, OpGetData, OpGetChildren, OpGetChildren2} {
		add(op, flagged("/"), flagged("/gone"))
	}
	for _, op := range []Op{wire.OpGetEphemerals, wire.OpGetAllChildren} {
		add(op, path("/"))
	}
	for _, op := range []Op{wire.OpCheckWatches, wire.OpRemoveWatches, wire.OpAddWatch} {
		add(op, kinded)
	}
	add(OpSetWatches, lists(3))
	add(wire.OpSetWatches2, lists(5))
	add(OpMulti, many(OpCreate, create("/a", 0), create("/a/b", 3)), many(OpSetData, setData), many(OpMulti, many(wire.OpCheck, versioned("/"))))
	add(wire.OpMultiRead, many(OpGetChildren, path("/"), path("/gone")), many(OpGetData, flagged("/")))
	add(OpSetAuth, func(e *wire.Encoder) { e.Int32(0); e.String("digest"); e.Buffer([]byte("ann:secret")) })
	add(wire.OpWhoAmI, nil)
	add(OpCloseSession, nil)
	return out
}

// framed puts payloads into one stream of frames.
func framed(payloads ...[]byte) (stream []byte) {
	for _, p := range payloads {
		stream = wire.AppendFrame(stream, p)
	}
	return stream
}

var hello = wire.ConnectRequest{TimeoutMs: 10_000}.Append(nil)

// FuzzRequests sends whole frames whose contents are anybody's guess.
func FuzzRequests(f *testing.F) {
	all := seeds()
	for i, first := range all {
		f.Add(first, all[(i+1)%len(all)], all[(i+7)%len(all)])
	}
	f.Add([]byte{0, 0}, []byte{}, hello)
	f.Fuzz(func(t *testing.T, first, second, third []byte) {
		underSiege(t, func(s *siege) {
			for _, stream := range [][]byte{framed(hello, first, second, third), framed(first, second, hello)} {
				nc := s.dial("assailant")
				_, err := nc.Write(stream)
				_ = err // if the server has hung up, so be it
				heard, _ := s.hear(nc)
				s.wellFormed(heard)
				s.stands()
			}
		})
	})
}

// FuzzStream sends bytes that need not be frames at all, after a handshake and
// in its place, cut into writes at the places given.
func FuzzStream(f *testing.F) {
	all := seeds()
	for i := range all {
		f.Add(framed(all[i], all[(i+3)%len(all)]), []byte{byte(i), 3}, true)
	}
	f.Add(framed(slices.Concat([][]byte{hello}, all)...), []byte{200, 100}, false)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff}, []byte{1}, true)     // a negative length
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0}, []byte{}, true)      // empty frames
	f.Add([]byte{0, 0x10, 0, 0}, []byte{}, true)               // one byte above the limit
	f.Add([]byte{0, 0, 0, 40, 0, 0, 0, 1}, []byte{2, 2}, true) // half a frame
	f.Add([]byte("stat"), []byte{1, 1}, false)                 // a word
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"), []byte{}, false)   // of the wrong language
	f.Add(framed(hello)[:20], []byte{4, 4, 4, 4}, false)       // half a handshake
	f.Add(framed(hello, hello), []byte{44}, false)             // two of them
	lies := wire.Encoder{}
	for range 4 { // a relative zxid, then the largest count there is, again and again
		lies.Int64(0x7fffffff)
	}
	for _, op := range []Op{OpCreate, OpSetACL, OpSetWatches, wire.OpSetWatches2, OpSetAuth, OpMulti, wire.OpMultiRead} {
		f.Add(framed(request(1, op, func(e *wire.Encoder) { e.Buf = append(e.Buf, lies.Buf...) })), []byte{}, true)
	}
	f.Add([]byte{0x7f, 0xff, 0xff, 0xff, 0}, []byte{1, 1}, true) // the largest length there is
	f.Fuzz(func(t *testing.T, stream, cuts []byte, greeted bool) {
		underSiege(t, func(s *siege) {
			nc := s.dial("assailant")
			if greeted {
				_, _ = nc.Write(framed(hello))
			}
			rest := stream
			for _, c := range cuts {
				n := min(int(c), len(rest))
				_, _ = nc.Write(rest[:n])
				rest = rest[n:]
				time.Sleep(time.Millisecond)
			}
			_, _ = nc.Write(rest)
			heard, _ := s.hear(nc)
			if greeted || len(stream) < 4 || stream[0] < 'a' {
				s.wellFormed(heard)
			}
			s.stands()
		})
	})
}

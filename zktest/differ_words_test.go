package zktest_test

import (
	"math"
	"math/rand/v2"

	"github.com/zkfence/zkfence/internal/wire"
)

// secrets are whom a client can be.
var secrets = []string{"ann:secret", "bob:pw", "nocolon"}

// opDeleteContainer is what a server asks of itself. A client that does is
// refused like one that asks for a bad path: the server reads the whole request,
// header and all, as the path.
const opDeleteContainer wire.Op = 20

// requestOps are the operations that scripts send, with how often. What is not
// in it may end the connection.
var requestOps = map[wire.Op]int{
	wire.OpCreate: 16, wire.OpCreate2: 8, wire.OpCreateContainer: 2, wire.OpCreateTTL: 4, wire.OpDelete: 12,
	wire.OpSetData: 10, wire.OpSetACL: 5, wire.OpGetACL: 4, wire.OpGetData: 8, wire.OpExists: 8,
	wire.OpGetChildren: 5, wire.OpGetChildren2: 5, wire.OpSync: 1, wire.OpMulti: 12, wire.OpMultiRead: 4,
	wire.OpSetWatches: 3, wire.OpSetWatches2: 4, wire.OpAddWatch: 7, wire.OpRemoveWatches: 5, wire.OpCheckWatches: 3,
	wire.OpGetEphemerals: 2, wire.OpGetAllChildren: 2, wire.OpWhoAmI: 2, wire.OpPing: 1, wire.OpReconfig: 1, wire.OpCheck: 1,
	opDeleteContainer: 1,
}

// weighted is a list of values with how often each is drawn.
type weighted[T any] []struct {
	weight int
	value  T
}

func draw[T any](r *rand.Rand, list weighted[T]) T {
	total := 0
	for _, w := range list {
		total += w.weight
	}
	n := r.IntN(total)
	for _, w := range list {
		if n -= w.weight; n < 0 {
			return w.value
		}
	}
	panic("unreachable")
}

// paths are few, so that what one step does matters to the next. Below ~/k are
// containers; nothing below them is ever deleted, because the real server reaps
// an emptied one whenever it likes.
var paths = weighted[string]{
	{3, "~"}, {9, "~/a"}, {5, "~/b"}, {2, "~/ab"}, {7, "~/a/x"}, {4, "~/a/y"}, {3, "~/a/x/p"}, {2, "~/b/e"}, {3, "~/e"},
	{2, "~/n-0000000000"}, {2, "~/n-0000000002"}, {1, "~/a/n-0000000001"}, {1, "~/a/0000000001"}, {1, "~/é"}, {1, "~/.hidden"},
}

var containers = weighted[string]{{3, "~/k"}, {2, "~/k/c"}, {1, "~/a/k"}}

var badPaths = weighted[string]{
	{1, ""}, {1, "/"}, {1, "x"}, {1, "//"}, {1, "~/"}, {1, "~//a"}, {1, "~/./a"}, {1, "~/../a"}, {1, "~/a/.."}, {1, "~/a/"}, {1, "~/\x00"},
	{1, "~/a\x1f"}, {1, "~/\u007f"}, {1, "~/\u0085"}, {1, "~/\ue000"}, {1, "~/\ufff0"}, {1, "~/😀"}, {1, "~/\U00010000"}, {1, "~/\ufffd"}, {1, notUTF8}, {1, "~/none/x"}, {1, "/zookeeper"},
	{1, "/zookeeper/quota"}, {1, "/zookeeper/config"}, {1, nullPath}, {1, " "},
}

var aclNames = weighted[string]{
	{110, ""}, {2, "twice"}, {3, "read"}, {2, "ann"}, {4, "auth"}, {2, "auth+"}, {2, "ip"}, {2, "net"}, {2, "elsewhere"}, {2, "admin"}, {2, "write"},
	{2, "create"}, {2, "delete"}, {1, "strange"}, {1, "none"}, {1, "null"}, {1, "nobody"}, {1, "world"}, {1, "digest"}, {1, "badip"}, {1, "emptied"}, {1, "late"}, {2, "foreign"}, {1, "nulls"},
}

var versions = weighted[int32]{{50, -1}, {20, 0}, {10, 1}, {5, 2}, {2, 3}, {2, 77}, {1, -2}, {1, math.MaxInt32}}

var createFlags = weighted[int32]{{14, 0}, {8, 1}, {5, 2}, {5, 3}, {1, -1}, {1, 5}, {1, 6}, {1, 7}, {1, 99}}

var datas = weighted[request]{
	{80, request{}}, {80, request{Data: "a"}}, {60, request{Data: "longer data"}}, {30, request{Null: true}}, {20, request{Size: 3000}},
	{1, request{Size: 0xfff00}}, // next to the limit
}

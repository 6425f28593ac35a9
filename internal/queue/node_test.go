package queue

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const guid = "0f8fad5b-d9cb-469f-a165-70867728950e"

func TestOurNamesAreByteForByteTheSharedForm(t *testing.T) {
	for range 100 {
		require.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, newGUID())
	}
	require.Equal(t, "_c_"+guid+"-lock-", prefix(guid))
	n := Parse(prefix(guid) + "0000000007")
	require.Equal(t, Contender, n.Kind)
	require.EqualValues(t, 7, n.Seq)
}

func TestContendersOfEveryLibrary(t *testing.T) {
	for name, seq := range map[string]int64{
		"_c_" + guid + "-lock-0000000000":                     0,  // Curator, ours
		"_c_0f8fad5bd9cb469fa16570867728950e-lock-0000000012": 12, // go-zookeeper
		"0f8fad5bd9cb469fa16570867728950e__lock__0000000003":  3,  // kazoo
		"0f8fad5bd9cb469fa16570867728950e__rlock__0000000004": 4,
		"lock-0000000005":                                         5,
		"block-0000000006":                                        6, // Curator sorts it as one
		"_c_" + guid + "-lock-2147483647":                         math.MaxInt32,
		"_c_" + guid + "-lock--2147483648":                        math.MinInt32,
		"_c_" + guid + "-lock--000000001":                         -1,
		"_c_" + guid + "-lock-99999999999":                        99999999999,
		"_c_" + guid + "-lock-9223372036854775807":                math.MaxInt64,
		"lock-latch-lock-0000000001":                              1,
		"__READ__0000000001lock-0000000002":                       2,
		"lock-00000000000000000000000000000000000000000000000009": 9,
	} {
		require.Equal(t, Name{Child: name, Kind: Contender, Seq: seq}, Parse(name), name)
	}
}

func TestOtherRecipesAreForeign(t *testing.T) {
	for _, name := range []string{
		"_c_" + guid + "-latch-0000000001", "_c_" + guid + "-lease-0000000002",
		"_c_" + guid + "-__READ__0000000003", "_c_" + guid + "-__WRIT__0000000004", "lock-latch-0000000001",
	} {
		require.Equal(t, Foreign, Parse(name).Kind, name)
	}
}

// Each of these stood in somebody's lock directory and made a library panic, wait
// for ever or let two holders in.
func TestStrangersTakeNoPart(t *testing.T) {
	for _, name := range []string{
		"", "-", "config", "leases", "_c_", "_c_x", "_c_-lock-", "lock-", "lock--", "lock--1", "lock-1", "lock-000000001",
		"lock-+000000001", "lock-000000000x", "lock- 000000001", "lock-0000000001 ", "lock-0000000001/x", "lock----------",
		"lock-٠١٢٣٤٥٦٧٨٩", "lock-00000００００１", "LOCK-0000000001", "__lock__", "__rlock__x",
		"latch-", "latch-1", "__READ__", "lease-0", "_c_" + guid + "-lock-", "\x00", "\xff\xfe", "lock-\xff000000001",
		"lock-9223372036854775808", "lock--9223372036854775808", "lock-" + strings.Repeat("9", 5000), strings.Repeat("a", 5000),
	} {
		require.Equal(t, Name{Child: name}, Parse(name), "%q", name)
	}
}

func TestWhatTheServerAppendsIsRead(t *testing.T) {
	for _, seq := range []int32{0, 1, 9, math.MaxInt32 - 1, math.MaxInt32, math.MinInt32, math.MinInt32 + 1, -1, -999999999, -1000000000} {
		n := Parse(fmt.Sprintf("%s%010d", prefix(guid), seq))
		require.Equal(t, Contender, n.Kind)
		require.EqualValues(t, seq, n.Seq)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "_c_", "lock-", "lock--1", "lock-99999999999", prefix(guid) + "0000000001", "__lock__-000000001", "latch-0000000000"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, child string) {
		n := Parse(child)
		if n.Child != child {
			t.Fatalf("%q became %q", child, n.Child)
		}
		if n.Kind == Stranger {
			if n.Seq != 0 {
				t.Fatalf("%q: a stranger with number %d", child, n.Seq)
			}
			return
		}
		// A number that takes part is one that the name really ends with.
		i := len(child)
		for i > 0 && child[i-1] >= '0' && child[i-1] <= '9' {
			i--
		}
		digits := strings.TrimLeft(child[i:], "0")
		if digits == "" {
			digits = "0"
		}
		if got := strings.TrimPrefix(fmt.Sprint(n.Seq), "-"); got != digits {
			t.Fatalf("%q: number %d, digits %s", child, n.Seq, digits)
		}
	})
}

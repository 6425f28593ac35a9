package zklock

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBadPathsAreErrorsThatNameFieldAndValue(t *testing.T) {
	for _, bad := range []string{
		"", "x", "x/y", "/", "//", "/x/", "/x//y", "//x", "/..", "/.", "/x/..", "/x/../y", "/x/./y", "./x",
		"/x\x00y", "/\x00", "/x\x01", "/x\x1f", "/x\n", "/x\x7f", "/x\u0080", "/x\u009f",
		"/x\ue000", "/x\uf8ff", "/x\ufff0", "/x\uffff", "/x\ufffd", "/x\xff", "/x\xc3", "/\U0001f512",
	} {
		_, err := fullPath("", bad)
		require.Errorf(t, err, "%q", bad)
		require.Containsf(t, err.Error(), "path = ", "%q", bad)
		require.True(t, strings.HasPrefix(err.Error(), "zklock: "), err.Error())
	}
}

func TestGoodPathsAreBelowTheRoot(t *testing.T) {
	for _, good := range []string{"/x", "/x/y", "/...", "/x..y", "/.x", "/x.", "/ä/日本", "/a b", "/_c_"} {
		got, err := fullPath("/app", good)
		require.NoErrorf(t, err, "%q", good)
		require.Equal(t, "/app"+good, got)
	}
}

func TestBadOptionsNameTheValue(t *testing.T) {
	for want, opt := range map[string]Option{
		"max hold = 0s":  WithMaxHold(0),
		"max hold = -1s": WithMaxHold(-time.Second),
		"max queue = 0":  WithMaxQueue(0),
		"max queue = -3": WithMaxQueue(-3),
		"trace = nil":    WithTrace(nil),
	} {
		require.ErrorContains(t, opt(&config{}), want)
	}
}

func TestNewWithoutAClient(t *testing.T) {
	_, err := New(nil, "/x")
	require.ErrorContains(t, err, "client = nil")
}

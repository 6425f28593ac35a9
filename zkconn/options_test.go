package zkconn_test

import (
	"context"
	"crypto/tls"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zkconn"
)

// Bad input is refused before anything is dialled, by an error that names the
// field and the values.
func TestBadInputNamesTheFieldAndTheValues(t *testing.T) {
	good := []string{"127.0.0.1:1"}
	tests := []struct {
		name    string
		servers []string
		opts    []zkconn.Option
		want    []string
	}{
		{"NoServers", nil, nil, []string{"servers", "empty"}},
		{"AnEmptyServer", []string{""}, nil, []string{"servers[0]", `""`}},
		{"APortThatIsNone", []string{"a:1", "b:x"}, nil, []string{"servers[1]", `"b:x"`, "1 and 65535"}},
		{"PortZero", []string{"a:0"}, nil, []string{"servers[0]"}},
		{"AConnectionString", []string{"a:1,b:2"}, nil, []string{"servers[0]", `"a:1,b:2"`}},
		{"AnotherClientsList", []string{"a:1,b:2"}, nil, []string{"servers[0]", "one server per element"}},
		{"AListWithAChroot", []string{"a:1,b:2/app"}, nil, []string{"servers[0]", "one server per element"}},
		{"AChroot", []string{"zk1:2181/chroot"}, nil, []string{"servers[0]", `"zk1:2181/chroot"`, "no chroot here; use WithRoot"}},
		{"AURL", []string{"a:1", "http://zk1:2181"}, nil, []string{"servers[1]", `"http://zk1:2181"`, "host:port without a scheme"}},
		{"ABlankBefore", []string{" a:1"}, nil, []string{"servers[0]", `" a:1"`, "blanks before or after it"}},
		{"ANewlineAfter", []string{"a:1\n"}, nil, []string{"servers[0]", `"a:1\n"`, "blanks before or after it"}},
		{"ABlankInside", []string{"a b:1"}, nil, []string{"servers[0]", `"a b:1"`, "blanks inside it"}},
		{"TimeoutZero", good, []zkconn.Option{zkconn.WithSessionTimeout(0)}, []string{"session timeout", "0s"}},
		{"TimeoutNegative", good, []zkconn.Option{zkconn.WithSessionTimeout(-time.Second)}, []string{"session timeout", "-1s"}},
		{"TimeoutOver31BitsOfMilliseconds", good, []zkconn.Option{zkconn.WithSessionTimeout(1000 * time.Hour)}, []string{"session timeout", "1000h"}},
		{"TickZero", good, []zkconn.Option{zkconn.WithServerTick(0)}, []string{"server tick", "0s"}},
		{"TickAboveHalfTheTimeout", good, []zkconn.Option{zkconn.WithSessionTimeout(4 * time.Second), zkconn.WithServerTick(3 * time.Second)}, []string{"server tick", "3s", "4s"}},
		{"MarginNegative", good, []zkconn.Option{zkconn.WithSafetyMargin(-1)}, []string{"safety margin", "-1ns"}},
		{"NoTrustedTimeLeft", good, []zkconn.Option{zkconn.WithSessionTimeout(6 * time.Second), zkconn.WithServerTick(2 * time.Second), zkconn.WithSafetyMargin(3 * time.Second)}, []string{"margin 3s", "tick 2s", "timeout 6s"}},
		{"TheLargestMargin", good, []zkconn.Option{zkconn.WithSafetyMargin(math.MaxInt64)}, []string{"margin 2562047h", "leaves no trusted time"}},
		{"EmptyACL", good, []zkconn.Option{zkconn.WithACL([]zk.ACL{})}, []string{"ACL", "empty"}},
		{"NilACL", good, []zkconn.Option{zkconn.WithACL(nil)}, []string{"ACL", "empty"}},
		{"ACLWithoutPermissions", good, []zkconn.Option{zkconn.WithACL([]zk.ACL{{Scheme: "world", ID: "anyone"}})}, []string{"ACL[0]", "perms 0", "world"}},
		{"AuthACLWithoutAuth", good, []zkconn.Option{zkconn.WithACL(append(zk.WorldACL(zk.PermRead), zk.AuthACL(zk.PermAll)...))}, []string{"ACL[1]", `"auth"`, "WithAuth", "there are none"}},
		{"AuthWithoutScheme", good, []zkconn.Option{zkconn.WithAuth("", []byte("x"))}, []string{"auth[0]", "scheme"}},
		{"RelativeRoot", good, []zkconn.Option{zkconn.WithRoot("app")}, []string{"root", `"app"`, "absolute"}},
		{"RootWithATrailingSlash", good, []zkconn.Option{zkconn.WithRoot("/app/")}, []string{"root", `"/app/"`}},
		{"RootWithDots", good, []zkconn.Option{zkconn.WithRoot("/a/../b")}, []string{"root", "relative"}},
		{"IdentityTooLong", good, []zkconn.Option{zkconn.WithIdentity(strings.Repeat("x", 257))}, []string{"identity", "257 bytes", "256"}},
		{"IdentityNotUTF8", good, []zkconn.Option{zkconn.WithIdentity("\xff")}, []string{"identity", "UTF-8"}},
		{"IdentityWithAnEscape", good, []zkconn.Option{zkconn.WithIdentity("\x1b[2J")}, []string{"identity", `"\x1b[2J"`, "control characters"}},
		{"NilTLS", good, []zkconn.Option{zkconn.WithTLS(nil)}, []string{"TLS"}},
		{"NilDialer", good, []zkconn.Option{zkconn.WithDialer(nil)}, []string{"dialer"}},
		{"NilLogger", good, []zkconn.Option{zkconn.WithLogger(nil)}, []string{"logger"}},
		{"NilOption", good, []zkconn.Option{nil}, []string{"option", "nil"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := zkconn.Dial(ctx, tt.servers, tt.opts...)
			require.Error(t, err)
			for _, w := range tt.want {
				require.ErrorContains(t, err, w)
			}
			require.True(t, strings.HasPrefix(err.Error(), "zkconn: "), "%v", err)
		})
	}
}

func TestACancelledDialDialsNobody(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	begin := time.Now()
	_, err := zkconn.Dial(ctx, []string{"127.0.0.1:1"}, zkconn.WithTLS(&tls.Config{}))
	require.ErrorIs(t, err, context.Canceled)
	require.Less(t, time.Since(begin), 2*time.Second)
}

// Whether the options come in this order or the other, and credentials by a
// certificate, are no reason to refuse an ACL that names them.
func TestAnAuthACLWithCredentialsIsNoBadInput(t *testing.T) {
	acl := zkconn.WithACL(zk.AuthACL(zk.PermAll))
	auth := zkconn.WithAuth("digest", []byte("a:b"))
	for name, opts := range map[string][]zkconn.Option{
		"AuthLast":  {acl, auth},
		"AuthFirst": {auth, acl},
		"TLS":       {acl, zkconn.WithTLS(&tls.Config{})},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, err := zkconn.Dial(ctx, []string{"127.0.0.1:1"}, opts...)
			require.ErrorIs(t, err, context.Canceled)
		})
	}
}

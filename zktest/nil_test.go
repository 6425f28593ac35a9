package zktest_test

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zktest"
)

// What is missing is named at once, and not by a nil pointer's trace later.
func TestWhatIsMissingIsNamed(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = ln.Close() })
	one := func(o zktest.Option) error { _, err := zktest.Start(o); return err }
	three := func(o zktest.Option) error { _, err := zktest.StartEnsemble(3, o); return err }
	for _, c := range []struct {
		err  error
		want string
	}{
		{one(nil), "an Option is nil"},
		{three(nil), "an Option is nil"},
		{one(zktest.WithListener(nil)), "WithListener: the listener is nil"},
		{three(zktest.WithListener(nil)), "WithListener: the listener is nil"},
		{three(zktest.WithListeners(ln, nil, ln)), "WithListeners: listener 2 of 3 is nil"},
		{three(zktest.WithListeners()), "0 listeners for an ensemble of 3"},
		{one(zktest.WithListeners()), "WithListeners is for an ensemble"},
		{one(zktest.WithSyncLimit(5)), "WithSyncLimit is for an ensemble"},
		{one(zktest.WithPeerDelay(0, time.Second)), "WithPeerDelay is for an ensemble"},
		{one(zktest.WithApplyDelay(0, time.Second)), "WithApplyDelay is for an ensemble"},
		{one(zktest.WithElectionTime(0, time.Second)), "WithElectionTime is for an ensemble"},
	} {
		require.ErrorContains(t, c.err, c.want)
	}

	s := zktest.New(t)
	for want, call := range map[string]func(){
		"zktest: OnRequest: the function is nil": func() { s.OnRequest(nil) },
		"zktest: OnReply: the function is nil":   func() { s.OnReply(nil) },
		"zktest: At: the function is nil":        func() { s.At(zktest.AnyOp, nil) },
		"zktest: AtReply: the function is nil":   func() { s.AtReply(zktest.AnyOp, nil) },
		"zktest: Follow: the function is nil":    func() { s.Follow(nil) },
		"zktest: LogTo: the logger is nil":       func() { zktest.LogTo(nil) },
	} {
		require.PanicsWithValue(t, want, call)
	}
}

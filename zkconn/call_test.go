package zkconn_test

import (
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zktest"
)

func TestACallThatCannotRunSaysWhy(t *testing.T) {
	op := func(*zk.Conn) (int, error) { return 1, nil }
	for name, s := range map[string]*zkconn.Session{"NilSession": nil, "ZeroSession": {}} {
		t.Run(name, func(t *testing.T) {
			_, err := zkconn.Call(t.Context(), s, op)
			require.ErrorContains(t, err, "zkconn: call: the session is nil or a zero Session")
		})
	}
	t.Run("NilOp", func(t *testing.T) {
		server := zktest.New(t)
		c, err := zkconn.Dial(t.Context(), []string{server.Addr()})
		require.NoError(t, err)
		s, err := c.Session(t.Context())
		require.NoError(t, err)
		_, err = zkconn.Call[int](t.Context(), s, nil)
		require.EqualError(t, err, "zkconn: call: op = nil")
		require.NoError(t, c.Close(t.Context()))
	})
}

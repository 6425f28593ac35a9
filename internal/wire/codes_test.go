package wire_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/wire"
)

func TestCodesAndOpsHaveNames(t *testing.T) {
	require.Equal(t, "no node", wire.NoNode.String())
	require.Equal(t, "ok", wire.OK.String())
	require.Equal(t, "code(-777)", wire.Code(-777).String())
	require.Equal(t, "createContainer", wire.OpCreateContainer.String())
	require.Equal(t, "op(4096)", wire.Op(4096).String())
}

func TestOpNamedIsTheOtherWayRound(t *testing.T) {
	for op := wire.Op(-20); op < 200; op++ {
		named, ok := wire.OpNamed(op.String())
		require.Equal(t, op.String() != "op("+strconv.Itoa(int(op))+")", ok)
		require.True(t, !ok || named == op)
	}
	for _, name := range []string{"", "Create", "op(4096)"} {
		_, ok := wire.OpNamed(name)
		require.False(t, ok, name)
	}
}

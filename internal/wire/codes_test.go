package wire_test

import (
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

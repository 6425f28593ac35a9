package ensemble_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/integration/ensemble"
)

// Where there is an engine and no image, and no registry to ask for one, the error
// is one line that says what to set and what makes it.
func TestAMissingImageIsAnErrorThatSaysWhatToDo(t *testing.T) {
	ens, err := ensemble.Start(t.Context(), ensemble.WithImage("127.0.0.1:1/none:1")) // where nobody listens
	if errors.Is(err, ensemble.ErrNoEngine) {
		t.Skipf("SKIPPED: %v", err)
	}
	require.Nil(t, ens)
	require.ErrorIs(t, err, ensemble.ErrNoImage)
	require.NotContains(t, err.Error(), "\n")
	for _, said := range []string{"127.0.0.1:1/none:1", "ZKFENCE_ZK_IMAGE", "integration/image/build.sh"} {
		require.ErrorContains(t, err, said)
	}
}

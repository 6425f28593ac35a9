package zktest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zktest"
)

// What is asked of a closed server must not seem to have happened.
func TestAClosedServerDoesNothing(t *testing.T) {
	s := zktest.New(t)
	require.NoError(t, s.Create("/a", nil))
	id := connectRaw(t, s.Addr()).session
	s.Close()
	for name, do := range map[string]func() error{
		"Create":      func() error { return s.Create("/b", nil) },
		"Delete":      func() error { return s.Delete("/a") },
		"Expire":      func() error { return s.Expire(id) },
		"SetSequence": func() error { return s.SetSequence("/a", 7) },
	} {
		require.ErrorIs(t, do(), zktest.ErrNotServing, name)
	}
	s.ExpireAll()
	s.ReapContainers()
	s.Wipe()
	require.True(t, s.Exists("/a"), "what there was can be looked at")
	require.False(t, s.Exists("/b"))
	require.Len(t, s.Sessions(), 1)
}

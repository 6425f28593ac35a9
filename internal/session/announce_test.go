package session

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
)

// The monitor can be awake for another reason while the end is being announced:
// its timer, a poke. It must not say goodbye before the last holder knows.
func TestAMonitorThatIsAwakeDoesNotOvertakeTheEnd(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a")
		s := b.session(c)
		_, err := Call(b.Context(), s, func(z *zk.Conn) (string, error) {
			return z.Create("/held", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		})
		require.NoError(b, err)
		_, ok := s.Claim("/held", func(Reason) {
			s.wakeMonitor()
			time.Sleep(testTimeout / 32) // the goroutine that ends the session is not scheduled
		})
		require.True(b, ok)
		var existed []bool
		_, ok = s.Claim("/held", func(Reason) { existed = append(existed, b.server.Exists("/held")) })
		require.True(b, ok)
		b.close(c)
		require.Equal(b, []bool{true}, existed, "the server was told before the holder")
		require.False(b, b.server.Exists("/held"))
	})
}

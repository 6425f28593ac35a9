package session

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zktest"
)

func TestOnlyAKeptSessionProvesItself(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a")
		s := b.session(c)
		time.Sleep(time.Minute)
		require.Zero(b, b.server.Count(zktest.OpMulti), "a session that nobody keeps costs the quorum nothing")
		require.LessOrEqual(b, s.Remaining(), time.Duration(0), "and is trusted for nothing")
		require.NoError(b, s.Err())

		release := s.Keep()
		time.Sleep(testTimeout + testTimeout/16)
		n := b.server.Count(zktest.OpMulti)
		require.InDelta(b, 8, n, 2, "eight proofs per timeout")
		require.Greater(b, s.Remaining(), testTimeout/2)
		require.False(b, s.Suspect())
		release()
		release()
		before := b.server.Count(zktest.OpMulti)
		time.Sleep(time.Minute)
		require.Equal(b, before, b.server.Count(zktest.OpMulti))
		b.close(c)
	})
}

func TestClaimsAreToldBeforeTheServerIs(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a")
		s := b.session(c)
		_, err := Call(b.Context(), s, func(z *zk.Conn) (string, error) {
			return z.Create("/held", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		})
		require.NoError(b, err)
		var told []Reason
		var existed []bool
		claim, ok := s.Claim("/held", func(r Reason) {
			told = append(told, r)
			existed = append(existed, b.server.Exists("/held"))
		})
		require.True(b, ok)
		b.close(c)
		require.Equal(b, []Reason{Closed}, told)
		require.Equal(b, []bool{true}, existed)
		claim.Release()
		_, ok = s.Claim("/held", func(Reason) {})
		require.False(b, ok, "an ended session is claimed by nobody")
	})
}

func TestAProofSaysWhichHeldNodeIsGone(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a")
		s := b.session(c)
		gone := make(chan int, 40)
		for i := range 40 {
			node, err := Call(b.Context(), s, func(z *zk.Conn) (string, error) {
				return z.Create("/held-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
			})
			require.NoError(b, err)
			claim, ok := s.Claim(node, func(Reason) { gone <- i })
			require.True(b, ok)
			defer claim.Release()
		}
		nodes := b.server.Children("/")
		for _, n := range nodes {
			if n == "held-0000000007" || n == "held-0000000033" {
				require.NoError(b, b.server.Delete("/"+n))
			}
		}
		time.Sleep(testTimeout)
		require.Len(b, gone, 2, "40 nodes take three proofs, eight come in a timeout")
		require.ElementsMatch(b, []int{7, 33}, []int{<-gone, <-gone})
		require.NoError(b, s.Err())
		b.close(c)
	})
}

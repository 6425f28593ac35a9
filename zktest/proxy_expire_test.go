package zktest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zktest"
)

// What arrives on a session that its own client is closing at that moment is
// dropped by a real server without a word: Expire waited for an answer, and then
// said that it could not be done.
func TestExpireTriesAgainWhereItsOrderWasDropped(t *testing.T) {
	for claim, drops := range map[string]int{"Once": 1, "OnAServerThatDropsEveryOrderItSaysSo": 9} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			server := zktest.New(t)
			p := zktest.NewProxy(t, server.Addr())
			c := connectRaw(t, p.Addr())

			dropped := make(chan struct{}, drops)
			stop := server.OnRequest(func(r zktest.Request) {
				if r.Op == zktest.OpCloseSession && len(dropped) < drops {
					dropped <- struct{}{}
					server.For(c.session).Blackhole(true)
				} else if r.Op == zktest.OpCreateSession {
					server.For(c.session).Blackhole(false)
				}
			})
			defer stop()
			began := time.Now()
			err := p.Expire(c.session)
			if drops == 1 {
				require.NoError(t, err)
				require.Empty(t, server.Sessions())
				return
			}
			require.ErrorContains(t, err, "timeout")
			require.Less(t, time.Since(began), 20*time.Second)
			require.Len(t, server.Sessions(), 1)
		})
	}
}

package zktest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/wire"
	"github.com/zkfence/zkfence/zktest"
)

func TestEnsembleHandshakes(t *testing.T) {
	// How long a connection may have no session was still counted, for the answer
	// comes after the server has begun to wait for the next frame.
	t.Run("LetAClientBeSilentForAsLongAsItsSessionLives", func(t *testing.T) {
		inQuorum(t, func(q *quorum) {
			for _, s := range q.srv {
				c := q.raw(s, "A", 40*time.Second)
				q.silent(c, 39*time.Second)
				c.must(wire.OpPing, nil)
			}
		})
	})

	t.Run("OfOneSessionLeaveOneConnection", func(t *testing.T) {
		inQuorum(t, func(q *quorum) {
			c := q.raw(q.srv[0], "A", long)
			hello := wire.ConnectRequest{TimeoutMs: int32(c.timeout / time.Millisecond), Session: c.session, Password: c.password}
			first, second := q.dial(q.srv[0], "A"), q.dial(q.srv[0], "A")
			first.write(hello.Append(nil))
			time.Sleep(10 * time.Millisecond)
			resp, err := second.handshake(hello)
			require.NoError(q, err)
			require.Equal(q, c.session, resp.Session)
			second.must(wire.OpCreate, create("/n", "", 0, open...))
			_, err = wire.ReadFrame(first.r, wire.MaxFrame)
			if err == nil {
				first.gone()
			}
			c.gone()
			second.must(wire.OpExists, watched("/n", false))
		}, zktest.WithPeerDelay(50*time.Millisecond, 60*time.Millisecond))
	})
}

package session

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
)

func TestACallReturnsWithItsContext(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a")
		s := b.session(c)
		b.server.Refuse(true)
		b.server.Cut()
		time.Sleep(50 * time.Millisecond)
		cause := errors.New("no more patience")
		ctx, cancel := context.WithTimeoutCause(b.Context(), 300*time.Millisecond, cause)
		defer cancel()
		begin := time.Now()
		_, err := CallForeign(ctx, s, func(z *zk.Conn) (bool, error) { ok, _, err := z.Exists("/"); return ok, err })
		require.ErrorIs(b, err, cause)
		require.Equal(b, 300*time.Millisecond, time.Since(begin))

		// One that a server's word about another request has ended: see Ended.
		siblings, stop := context.WithCancelCause(b.Context())
		time.AfterFunc(300*time.Millisecond, func() { stop(zk.ErrNoNode) })
		_, err = CallForeign(siblings, s, func(z *zk.Conn) (bool, error) { ok, _, err := z.Exists("/"); return ok, err })
		require.EqualError(b, err, zk.ErrNoNode.Error())
		require.Equal(b, OutcomeUnknown, OutcomeOf(err))
		_, err = CallForeign(siblings, s, func(*zk.Conn) (bool, error) { panic("it ran") })
		require.Equal(b, OutcomeUnknown, OutcomeOf(err))

		_, err = CallForeign(b.Context(), s, func(z *zk.Conn) (bool, error) { ok, _, err := z.Exists("/"); return ok, err })
		require.ErrorIs(b, err, ErrLost, "a call outlasts an outage or ends with the session")
		b.server.Heal()
		b.close(c)
	})
}

func TestAPanicInACallIsTheCallers(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a")
		require.PanicsWithValue(b, "boom", func() {
			_, _ = CallForeign(b.Context(), b.session(c), func(*zk.Conn) (int, error) { panic("boom") })
		})
		b.close(c)
	})
}

// Credentials come before anything else on each connection, or a recovery read
// is refused and a lost create is taken for none.
func TestCredentialsComeFirstOnEachConnection(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a", func(c *Config) { c.Auth = []Auth{{"digest", []byte("a:b")}} })
		s := b.session(c)
		_, err := Call(b.Context(), s, func(z *zk.Conn) (string, error) { return z.Create("/mine", []byte("x"), 0, c.ACL()) })
		require.NoError(b, err)
		for range 20 {
			b.server.Cut()
			_, err := Call(b.Context(), s, func(z *zk.Conn) ([]byte, error) { d, _, err := z.Get("/mine"); return d, err })
			if OutcomeOf(err) != OutcomeUnknown {
				require.NoError(b, err)
			}
		}
		require.NoError(b, s.Err())
		b.close(c)
	})
}

func TestDialSaysWhatWasTried(t *testing.T) {
	virtually(t, func(b *bench) {
		ctx, cancel := context.WithTimeout(b.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		_, err := Dial(ctx, Config{Servers: []string{"192.0.2.9:2181", "192.0.2.8:2181"}, Dialer: b.net.Dialer("a"), Timeout: testTimeout, Tick: testTick})
		require.ErrorIs(b, err, context.DeadlineExceeded)
		require.ErrorContains(b, err, "192.0.2.9:2181: ")
		require.ErrorContains(b, err, "192.0.2.8:2181: ")
		require.LessOrEqual(b, time.Since(begin), 1300*time.Millisecond)
	})
	for name, fault := range map[string]func(*bench){
		"Blackhole":     func(b *bench) { b.server.Blackhole(true) },
		"HalfHandshake": func(b *bench) { b.server.HalfHandshake(true) },
		"Partition":     func(b *bench) { b.net.Partition("a", "192.0.2.1") },
	} {
		t.Run(name, func(t *testing.T) {
			virtually(t, func(b *bench) {
				fault(b)
				ctx, cancel := context.WithTimeout(b.Context(), time.Second)
				defer cancel()
				begin := time.Now()
				_, err := Dial(ctx, Config{Servers: []string{"192.0.2.1:2181"}, Dialer: b.net.Dialer("a"), Timeout: testTimeout, Tick: testTick})
				require.ErrorIs(b, err, context.DeadlineExceeded)
				require.LessOrEqual(b, time.Since(begin), 1300*time.Millisecond)
			})
		})
	}
}

// A server that accepts and then says nothing is not "no answer yet" for ever.
func TestDialSaysThatAHandshakeFailed(t *testing.T) {
	virtually(t, func(b *bench) {
		b.server.Blackhole(true)
		ctx, cancel := context.WithTimeout(b.Context(), testTimeout/2)
		defer cancel()
		_, err := Dial(ctx, Config{Servers: []string{"192.0.2.1:2181"}, Dialer: b.net.Dialer("a"), Timeout: testTimeout, Tick: testTick})
		require.ErrorContains(b, err, "192.0.2.1:2181: zkconn: handshake: no answer within 2s")
	})
}

// An op's own error is news even when the session has ended meanwhile.
func TestTheEndOfASessionDoesNotHideWhatAnOpSaid(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a")
		s := b.session(c)
		said := errors.New("sold out")
		p := Start(s, func(*zk.Conn) (int, error) { return 0, said })
		<-p.Done()
		b.close(c)
		_, err := Await(b.Context(), s, p)
		require.ErrorIs(b, err, said)
		require.ErrorIs(b, err, ErrLost)
	})
}

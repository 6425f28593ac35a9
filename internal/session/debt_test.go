package session

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zktest"
)

// The answer to a delete is lost: the debt is tried again on the very next
// connection, not after a pause.
func TestAFailedDebtIsTriedAgainOnReconnect(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a")
		s := b.session(c)
		require.NoError(b, b.server.Create("/n", nil))
		for range 4 { // the pause would grow
			b.server.DropRequest(zktest.OpDelete, 1)
			d := s.Owe(func(ctx context.Context) bool {
				_, err := Call(ctx, s, func(z *zk.Conn) (int, error) { return 0, z.Delete("/n", -1) })
				return OutcomeOf(err) != OutcomeUnknown
			})
			begin := time.Now()
			<-d.Done()
			require.Less(b, time.Since(begin), testTimeout/32)
		}
		require.False(b, b.server.Exists("/n"))
		b.close(c)
	})
}

func TestDebtsOutliveOutagesAndEndWithTheSession(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a")
		s := b.session(c)
		require.NoError(b, b.server.Create("/n", nil))
		b.server.Refuse(true)
		b.server.Cut()
		begin := time.Now()
		d := s.Owe(func(ctx context.Context) bool {
			_, err := Call(ctx, s, func(z *zk.Conn) (int, error) { return 0, z.Delete("/n", -1) })
			return err == nil
		})
		time.Sleep(time.Second)
		b.server.Heal()
		<-d.Done()
		require.False(b, b.server.Exists("/n"))
		require.Less(b, time.Since(begin), 2*time.Second)

		var tries atomic.Int32
		never := s.Owe(func(context.Context) bool { tries.Add(1); return false })
		time.Sleep(time.Minute)
		require.Less(b, tries.Load(), int32(20), "a debt that cannot be paid does not spin")
		b.close(c)
		<-never.Done()
		<-s.Owe(func(context.Context) bool { panic("the session has ended") }).Done()
	})
}

// A stream of debts that cannot be paid, as where a directory refuses deletes,
// must not put off for ever what only has to be tried again.
func TestDebtsThatKeepComingDoNotPutOffTheOthers(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a")
		s := b.session(c)
		var tries atomic.Int32
		d := s.Owe(func(context.Context) bool { return tries.Add(1) == 3 })
		begin := time.Now()
		for time.Since(begin) < testTimeout {
			s.Owe(func(context.Context) bool { return false })
			time.Sleep(testTimeout / 64)
		}
		select {
		case <-d.Done():
		default:
			b.Fatalf("tried %d times in a whole timeout", tries.Load())
		}
		b.close(c)
	})
}

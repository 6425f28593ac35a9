package repeat_test

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
)

// locks has clients contend for one lock.
func locks(s *scene) {
	for _, host := range hosts {
		time.Sleep(between(s.chance("start "+host), time.Millisecond, 20*time.Millisecond)) // or all would draw their GUIDs at once
		c, err := zkconn.Dial(s.T.Context(), s.Servers(), zkconn.WithDialer(s.Dialer(host)), zkconn.WithSessionTimeout(6*time.Second),
			zkconn.WithServerTick(100*time.Millisecond), zkconn.WithIdentity(host))
		require.NoError(s.T, err)
		s.Cleanup(func() { _ = c.Close(context.WithoutCancel(s.T.Context())) }) // its error is of no interest here
		m, err := zklock.New(c, "/locks/one")
		require.NoError(s.T, err)
		s.clients.Go(func() { s.contend(m, host) })
	}
}

func (s *scene) contend(m *zklock.Mutex, host string) {
	r := s.chance(host)
	for time.Now().Before(s.end) {
		ctx, cancel := context.WithTimeout(s.T.Context(), between(r, time.Second, 20*time.Second))
		if h, err := m.Lock(ctx); err == nil {
			select {
			case <-h.Context().Done():
			case <-time.After(between(r, 10*time.Millisecond, time.Second)):
			}
			_ = h.Unlock(ctx) // a hold that was lost is as good as one given up
		}
		cancel()
		time.Sleep(between(r, time.Millisecond, 300*time.Millisecond))
	}
}

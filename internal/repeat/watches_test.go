package repeat_test

import (
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
)

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// watches has clients of go-zookeeper watch the same few nodes, and write them;
// three of them share a host.
func watches(s *scene) {
	for _, name := range []string{"/x", "/y", "/z"} {
		require.NoError(s.T, s.Server.Create(name, nil))
	}
	for i := range 6 {
		host := hosts[min(i, len(hosts)-1)]
		conn, events, err := zk.Connect(s.Servers(), 4*time.Second, zk.WithDialer(s.Dialer(host)), zk.WithLogger(quiet{}),
			zk.WithMaxConnBufferSize(64<<10))
		require.NoError(s.T, err)
		s.Cleanup(func() {
			conn.Close()
			for range events {
			}
		})
		time.Sleep(time.Millisecond) // or two on one host would dial at one instant
		s.clients.Go(func() { s.watcher(conn, fmt.Sprintf("%s%d", host, i)) })
	}
}

// watcher is one client. What its calls return does not matter.
func (s *scene) watcher(conn *zk.Conn, name string) {
	r := s.chance(name)
	for time.Now().Before(s.end) {
		path := []string{"/x", "/y", "/z"}[r.IntN(3)]
		var changed <-chan zk.Event
		switch r.IntN(8) {
		case 0, 1:
			_, _, changed, _ = conn.GetW(path)
		case 2, 3:
			_, _, changed, _ = conn.ExistsW(path + "/missing")
		case 4, 5:
			_, _, changed, _ = conn.ChildrenW(path)
		case 6:
			_, _ = conn.Create(path+"/n-", []byte(name), zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
			aMoment()
			_, _ = conn.Create(path+"/missing", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		case 7:
			_, _ = conn.Set(path, []byte(name), -1)
			aMoment()
			_ = conn.Delete(path+"/missing", -1)
		}
		select {
		case <-changed:
		case <-time.After(between(r, time.Millisecond, time.Second)):
		}
		aMoment()
	}
}

// aMoment lets the instant go by in which a call has failed or a watch has come:
// go-zookeeper fails what waits to be sent just before or just after a request
// that is made in the very instant of a disconnection.
func aMoment() { time.Sleep(time.Nanosecond) }

package zktest_test

import (
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkfence/zkfence/zktest"
)

// One host is cut off and another is not: bytes wait, connections stay open, and
// nobody is told. In package bubble the wait for the session's end takes no time;
// here it is a short one.
func ExampleNetwork_Partition() {
	network := zktest.NewNetwork(1)
	defer network.Close()
	listener, err := network.Listen("192.0.2.1:2181")
	if err != nil {
		panic(err)
	}
	server, err := zktest.Start(zktest.WithListener(listener))
	if err != nil {
		panic(err)
	}
	defer server.Close()
	connect := func(host string, timeout time.Duration) (*zk.Conn, <-chan zk.Event) {
		client, states, err := zk.Connect([]string{server.Addr()}, timeout,
			zk.WithDialer(network.Dialer(host)), zk.WithLogger(quiet{}))
		if err != nil {
			panic(err)
		}
		return client, states
	}
	a, states := connect("a", time.Second)
	defer a.Close()
	b, _ := connect("b", 10*time.Second)
	defer b.Close()
	_, err = a.Create("/leader", []byte("a"), zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	fmt.Println("a leads:", err == nil)
	_, _, gone, err := b.GetW("/leader")
	fmt.Println("b watches:", err == nil)

	network.Partition("a", "192.0.2.1")
	fmt.Println("b sees", (<-gone).Type)
	network.Heal("a", "192.0.2.1")
	until(zk.StateExpired, states)
	fmt.Println("a has expired")
	// Output:
	// a leads: true
	// b watches: true
	// b sees EventNodeDeleted
	// a has expired
}

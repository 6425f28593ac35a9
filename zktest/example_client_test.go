package zktest_test

import (
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkfence/zkfence/zktest"
)

// example is what the examples begin with: a server, a client of it, and the
// client's states. In a test the server would come from New.
func example() (*zktest.Server, *zk.Conn, <-chan zk.Event) {
	server, err := zktest.Start()
	if err != nil {
		panic(err)
	}
	client, states, err := zk.Connect([]string{server.Addr()}, 10*time.Second, zk.WithLogger(quiet{}))
	if err != nil {
		panic(err)
	}
	return server, client, states
}

// until waits for a state of a client.
func until(want zk.State, states <-chan zk.Event) {
	for e := range states {
		if e.State == want {
			return
		}
	}
}

// A session expires on the server: its ephemeral znodes are gone at once, its
// client learns the reason when it connects again.
func ExampleServer_Expire() {
	server, client, states := example()
	defer server.Close()
	defer client.Close()
	_, err := client.Create("/leader", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	fmt.Println("created:", err == nil)

	err = server.Expire(client.SessionID())
	fmt.Println("expired:", err == nil)
	fmt.Println("exists:", server.Exists("/leader"))
	until(zk.StateExpired, states)
	fmt.Println("the client knows")
	// Output:
	// created: true
	// expired: true
	// exists: false
	// the client knows
}

// An operator deletes a lock's directory by hand: no client has asked for that,
// and watches fire as ever.
func ExampleServer_Delete() {
	server, client, _ := example()
	defer server.Close()
	defer client.Close()
	if err := server.Create("/locks/reports/lock-0000000000", []byte("W1")); err != nil {
		fmt.Println(err)
	}
	_, _, events, err := client.GetW("/locks/reports/lock-0000000000")
	fmt.Println("watched:", err == nil)

	err = server.Delete("/locks")
	fmt.Println("deleted:", err == nil)
	e := <-events
	fmt.Println(e.Type, e.Path)
	// Output:
	// watched: true
	// deleted: true
	// EventNodeDeleted /locks/reports/lock-0000000000
}

// A fault that one client suffers, and another does not.
func ExampleTarget_For() {
	server, client, _ := example()
	defer server.Close()
	defer client.Close()
	other, _, err := zk.Connect([]string{server.Addr()}, 10*time.Second, zk.WithLogger(quiet{}))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer other.Close()
	_, _, err = client.Exists("/") // which waits for the session
	fmt.Println("before:", err)

	server.For(client.SessionID()).DropRequest(zktest.OpCreate, 1)
	_, err = other.Create("/by-the-other", nil, 0, zk.WorldACL(zk.PermAll))
	fmt.Println("the other:", err)
	_, err = client.Create("/by-this-one", nil, 0, zk.WorldACL(zk.PermAll))
	fmt.Println("this one:", err)
	fmt.Println("there:", server.Children("/"))
	// Output:
	// before: <nil>
	// the other: <nil>
	// this one: zk: connection closed
	// there: [by-the-other zookeeper]
}

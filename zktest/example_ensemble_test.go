package zktest_test

import (
	"context"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkfence/zkfence/zktest"
)

// at returns a client with a session at one server of an ensemble. A list of
// servers would be shuffled.
func at(server *zktest.Server) (*zk.Conn, <-chan zk.Event) {
	client, states, err := zk.Connect([]string{server.Addr()}, 30*time.Second, zk.WithLogger(quiet{}))
	if err != nil {
		panic(err)
	}
	until(zk.StateHasSession, states)
	return client, states
}

// The leader's process ends. The others elect one of them, and nothing that a
// client was told is lost.
func ExampleEnsemble() {
	ensemble, err := zktest.StartEnsemble(3)
	if err != nil {
		panic(err)
	}
	defer ensemble.Close()
	client, states := at(ensemble.Followers()[0])
	defer client.Close()
	_, err = client.Create("/job", []byte("done"), 0, zk.WorldACL(zk.PermAll))
	fmt.Println("written:", err == nil)

	old := ensemble.Leader()
	ensemble.Kill(old)
	until(zk.StateDisconnected, states) // while they elect nobody serves
	leader, err := ensemble.AwaitLeader(context.Background())
	fmt.Println("another leads:", err == nil && leader != old)
	until(zk.StateHasSession, states)
	data, _, err := client.Get("/job")
	fmt.Printf("kept: %s, %v\n", data, err)
	// Output:
	// written: true
	// another leads: true
	// kept: done, <nil>
}

// A follower is late: who reads there sees what was, until a Sync.
func ExampleEnsemble_Lag() {
	ensemble, err := zktest.StartEnsemble(3)
	if err != nil {
		panic(err)
	}
	defer ensemble.Close()
	follower := ensemble.Followers()[0]
	writer, _ := at(ensemble.Leader())
	defer writer.Close()
	reader, _ := at(follower)
	defer reader.Close()

	ensemble.Lag(follower, time.Hour)
	_, err = writer.Create("/config", nil, 0, zk.WorldACL(zk.PermAll))
	fmt.Println("written:", err == nil)
	found, _, err := reader.Exists("/config")
	fmt.Println("read at the follower:", found, err)
	ensemble.Lag(follower, 0)
	_, err = reader.Sync("/")
	fmt.Println("synced:", err == nil)
	found, _, err = reader.Exists("/config")
	fmt.Println("read again:", found, err)
	// Output:
	// written: true
	// read at the follower: false <nil>
	// synced: true
	// read again: true <nil>
}

// A leader that is none any more, and does not know: even a Sync there brings an
// old answer.
func ExampleEnsemble_Depose() {
	// The limit is how long the old leader goes on; its default is half a second.
	ensemble, err := zktest.StartEnsemble(3, zktest.WithSyncLimit(600))
	if err != nil {
		panic(err)
	}
	defer ensemble.Close()
	stale, _ := at(ensemble.Leader())
	defer stale.Close()
	_, err = stale.Create("/owner", []byte("a"), 0, zk.WorldACL(zk.PermAll))
	fmt.Println("written:", err == nil)

	old := ensemble.Depose()
	leader, err := ensemble.AwaitLeader(context.Background())
	fmt.Println("another leads:", err == nil && leader != old)
	fmt.Println("set:", leader.Set("/owner", []byte("b")))
	_, err = stale.Sync("/owner")
	fmt.Println("synced at the old one:", err == nil)
	data, _, err := stale.Get("/owner")
	fmt.Printf("read there: %s, %v\n", data, err)
	ensemble.HealAll()
	// Output:
	// written: true
	// another leads: true
	// set: <nil>
	// synced at the old one: true
	// read there: a, <nil>
}

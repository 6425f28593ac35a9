package zktest_test

import (
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/zkfence/zkfence/zktest"
)

// A hook acts at the one moment that matters, here between a client's look and its
// step: without a sleep, and in every run.
func ExampleTarget_At() {
	server, client, _ := example()
	defer server.Close()
	defer client.Close()
	if err := server.Create("/config", []byte("old")); err != nil {
		fmt.Println(err)
	}

	server.At(zktest.OpSetData, func(r zktest.Request) {
		fmt.Println("somebody deletes", r.Path, "just before it is written:", server.Delete(r.Path) == nil)
	})
	_, stat, err := client.Get("/config")
	fmt.Println("read:", err)
	_, err = client.Set("/config", []byte("new"), stat.Version)
	fmt.Println("written:", err)
	// Output:
	// read: <nil>
	// somebody deletes /config just before it is written: true
	// written: zk: node does not exist
}

// How many requests does a wait cost? A watch is one, however long it lasts.
func ExampleTarget_Count() {
	server, client, _ := example()
	defer server.Close()
	defer client.Close()
	_, _, events, err := client.ExistsW("/start")
	fmt.Println("watched:", err == nil)
	if err := server.Create("/start", nil); err != nil {
		fmt.Println(err)
	}
	fmt.Println((<-events).Type)

	fmt.Println("requests:", server.Count(zktest.AnyOp))
	fmt.Println("of them exists:", server.Count(zktest.OpExists))
	for _, r := range server.Requests() {
		fmt.Println(r.Op, r.Path, r.Err)
	}
	// Output:
	// watched: true
	// EventNodeCreated
	// requests: 1
	// of them exists: 1
	// createSession  ok
	// exists /start no node
}

// A reply is held back for as long as the test likes, when its request has taken
// effect and its client does not know yet.
func ExampleTarget_AtReply() {
	server, client, _ := example()
	defer server.Close()
	defer client.Close()
	first := make(chan struct{})
	server.AtReply(zktest.OpCreate, func(r zktest.Request) {
		fmt.Println("created, and not told yet:", server.Exists(r.Path))
		<-first
	})
	told := make(chan error)
	go func() {
		_, err := client.Create("/job", nil, 0, zk.WorldACL(zk.PermAll))
		told <- err
	}()

	first <- struct{}{} // after whatever must have happened before
	fmt.Println("told:", <-told)
	// Output:
	// created, and not told yet: true
	// told: <nil>
}

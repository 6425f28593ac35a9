package zktest_test

import (
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkfence/zkfence/zktest"
)

// A reply is lost: the znode is there, and the client cannot know.
func ExampleTarget_DropReply() {
	server, err := zktest.Start()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	client, _, err := zk.Connect([]string{server.Addr()}, 5*time.Second, zk.WithLogger(quiet{}))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()

	server.DropReply(zktest.OpCreate, 1)
	_, err = client.Create("/job", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	fmt.Println("created:", err == nil)
	fmt.Println("exists: ", server.Exists("/job"))
	// Output:
	// created: false
	// exists:  true
}

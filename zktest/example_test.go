package zktest_test

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
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

// What the server sees goes to a log as it happens. At level info it has every
// request as well, at debug the pings, and a JSON handler makes lines of JSON.
func ExampleLogTo() {
	server, err := zktest.Start()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		Level: slog.LevelWarn,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr { // what differs from run to run
			if slices.Contains([]string{"time", "n", "at", "session"}, a.Key) {
				return slog.Attr{}
			}
			return a
		},
	}))
	stop := server.Follow(zktest.LogTo(log))
	defer stop()
	client, _, err := zk.Connect([]string{server.Addr()}, 5*time.Second, zk.WithLogger(quiet{}))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()

	server.DropReply(zktest.OpCreate, 1)
	_, err = client.Create("/job", nil, 0, zk.WorldACL(zk.PermAll))
	fmt.Println("the client is told:", err)
	// Output:
	// level=WARN msg=acted fault=DropReply note="create ×1"
	// level=WARN msg=broke conn=1 host=127.0.0.1 op=create path=/job xid=1 fault=DropReply
	// the client is told: zk: connection closed
}

package lostreply_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkfence/zkfence/zktest"
)

func TestLostReply(t *testing.T) {
	server := zktest.New(t)
	conn, _, err := zk.Connect([]string{server.Addr()}, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	server.DropReply(zktest.OpCreate, 1)
	_, err = conn.Create("/job", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	if err == nil {
		t.Error("the reply has arrived")
	}
	if !server.Exists("/job") {
		t.Error("the znode was not created")
	}
}

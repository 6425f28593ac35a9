//go:build linux

package neighbour

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkfence/zkfence/integration/worker"
)

// env makes the process be go-zookeeper's contender.
const env = "ZKFENCE_INTEGRATION_NEIGHBOUR"

// Main is what TestMain calls first. Where this process is to be go-zookeeper's
// contender, it is one, and does not return.
func Main() {
	if os.Getenv(env) == "" {
		return
	}
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "go-zookeeper:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func run(args []string, in io.Reader, out io.Writer) error {
	if len(args) != 5 {
		return fmt.Errorf("arguments %q: must be recipe, servers, milliseconds, path and name", args)
	}
	servers, path, name := strings.Split(args[1], ","), args[3], args[4]
	ms, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	orders, read := make(chan string), make(chan error, 1)
	go func() {
		lines := bufio.NewScanner(in)
		for lines.Scan() {
			orders <- lines.Text()
		}
		read <- lines.Err()
		close(orders)
		// Who waits for a lock would redial the servers for ever.
		<-time.After(10 * time.Second)
		os.Exit(1)
	}()
	conn, events, err := zk.Connect(servers, time.Duration(ms)*time.Millisecond, zk.WithLogger(silent{}))
	if err != nil {
		return err
	}
	defer func() {
		conn.Close()
		for range events { // closed once the client has ended
		}
	}()
	for e := range events {
		if e.State == zk.StateHasSession {
			break
		}
	}
	say := func(word string, rest ...any) {
		fmt.Fprintln(out, append([]any{word, worker.Now().Nanoseconds()}, rest...)...)
	}
	do := func(word string, f func() error) {
		if err := f(); err != nil {
			say("failed", err)
			return
		}
		say(word)
	}
	say("ready", conn.SessionID())
	lock := zk.NewLock(conn, path, zk.WorldACL(zk.PermAll))
	for order := range orders {
		switch order {
		case "lock":
			say("began")
			do("granted", func() error { return lock.LockWithData([]byte(name)) })
		case "unlock":
			say("unlocking")
			do("released", lock.Unlock)
		default:
			return fmt.Errorf("unknown order %q", order)
		}
	}
	return <-read
}

type silent struct{}

func (silent) Printf(string, ...any) {}

package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zktest"
)

// patience is for how long anybody looks for ZooKeeper, and how long it may take
// to say goodbye to it.
const patience = 10 * time.Second

const sessionTimeout = 10 * time.Second

// ensemble is what -zk names. Without it this process has a ZooKeeper to itself,
// and so nobody to share the work with: good for a look, and for nothing else.
func ensemble(zk string) []string {
	if zk != "" {
		return strings.Split(zk, ",")
	}
	server, err := zktest.Start() // ends with the process
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("in-memory ZooKeeper at %s; start another worker with -zk %s", server.Addr(), server.Addr())
	return []string{server.Addr()}
}

// hostname is what observers are shown while this process leads: a place for an
// address.
func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}

// dial connects, or says after a while that there is nobody.
func dial(ctx context.Context, servers []string) (*zkconn.Client, error) {
	dialing, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("gave up after %v", patience))
	defer cancel() // it bounds the dialing alone, never the client
	return zkconn.Dial(dialing, servers, zkconn.WithSessionTimeout(sessionTimeout))
}

// hangUp ends the session. The error says that it lives on until its timeout.
func hangUp(client *zkconn.Client) error {
	closing, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return client.Close(closing)
}

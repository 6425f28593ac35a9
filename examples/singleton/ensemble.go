package main

import (
	"log"
	"os"
	"strings"

	"github.com/zkfence/zkfence/zktest"
)

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

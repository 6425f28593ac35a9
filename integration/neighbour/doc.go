//go:build linux

// Package neighbour runs lock recipes of other libraries, Apache Curator's, kazoo's
// and go-zookeeper's, each contender in a process of its own, and tells a history
// what they do, so that it is judged by the rules that ours are judged by.
//
// They speak of no token. What stands for it is the czxid of the node that their
// session has, read by the test's own client and not by them. Nor do they say how
// long they may be trusted: each hold counts as a promise until it is given back or
// its process is killed.
//
// Curator and kazoo are Debian's libcurator-recipes-java and python3-kazoo, each
// with the language that it is made for.
package neighbour

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Recipe is a lock, or what is like one, of a library.
type Recipe string

// The recipes. kazoo's have been told of others' names, but for KazooUntold, and
// take names that others read where it says so.
const (
	CuratorMutex     Recipe = "curator mutex"     // InterProcessMutex
	CuratorSelector  Recipe = "curator selector"  // LeaderSelector
	CuratorLatch     Recipe = "curator latch"     // LeaderLatch
	CuratorRead      Recipe = "curator read"      // InterProcessReadWriteLock
	CuratorWrite     Recipe = "curator write"     // InterProcessReadWriteLock
	CuratorSemaphore Recipe = "curator semaphore" // InterProcessSemaphoreMutex
	KazooLock        Recipe = "kazoo lock"        // with names that Curator reads
	KazooOwnNames    Recipe = "kazoo own-names"   // Lock
	KazooUntold      Recipe = "kazoo untold"      // Lock as it comes
	KazooElection    Recipe = "kazoo election"    // with names that Curator reads
	KazooRead        Recipe = "kazoo read"        // ReadLock
	KazooWrite       Recipe = "kazoo write"       // WriteLock
	KazooSemaphore   Recipe = "kazoo semaphore"   // Semaphore of two leases
	GoZooKeeper      Recipe = "go-zookeeper lock" // zk.Lock
)

func (r Recipe) split() (library, name string) {
	library, name, _ = strings.Cut(string(r), " ")
	return library, name
}

// directory is where a holder's own node is.
func (r Recipe) directory(path string) string {
	if r == CuratorSemaphore {
		return path + "/leases"
	}
	return path
}

// python is Debian's own, which knows Debian's kazoo.
const python = "/usr/bin/python3"

//go:embed kazoo_neighbour.py
var kazoo string

//go:embed CuratorNeighbour.java
var curator string

// jars are those of libcurator-recipes-java and what it needs to lock.
func jars() (paths []string) {
	for _, jar := range []string{"curator-recipes", "curator-framework", "curator-client", "zookeeper", "zookeeper-jute", "guava", "slf4j-api", "slf4j-nop"} {
		paths = append(paths, "/usr/share/java/"+jar+".jar")
	}
	return paths
}

// Missing says what this machine lacks to run every Recipe; nil if it has all.
func Missing() error {
	for _, jar := range jars() {
		if _, err := os.Stat(jar); err != nil {
			return fmt.Errorf("neighbour: %w: install libcurator-recipes-java", err)
		}
	}
	// java compiles the file that it is given.
	if _, err := exec.LookPath("javac"); err != nil {
		return fmt.Errorf("neighbour: %w: install default-jdk-headless", err)
	}
	if err := exec.Command(python, "-c", "import kazoo").Run(); err != nil {
		return fmt.Errorf("neighbour: %s: import kazoo: %w: install python3-kazoo", python, err)
	}
	return nil
}

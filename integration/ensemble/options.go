package ensemble

import (
	"fmt"
	"os"
	"time"
)

// imageEnv names the image to run.
const imageEnv = "ZKFENCE_ZK_IMAGE"

const officialImage = "zookeeper:3.9"

// Option changes what Start starts.
type Option func(*options)

type options struct {
	servers              int
	image                string
	tick                 time.Duration
	initLimit, syncLimit int
	patience             time.Duration
	env                  map[string]string
	serverEnv            map[int]map[string]string
	wallClocks           bool
}

// WithServers sets how many servers there are, 1 to 7. Defaults to 3.
func WithServers(n int) Option { return func(o *options) { o.servers = n } }

// WithImage names the image. Defaults to what the environment variable
// ZKFENCE_ZK_IMAGE says, else to the official zookeeper:3.9.
func WithImage(name string) Option { return func(o *options) { o.image = name } }

// WithTick sets the servers' tickTime, 10 ms or more. Session timeouts are between
// two ticks and a minute. Defaults to 100 ms.
func WithTick(d time.Duration) Option { return func(o *options) { o.tick = d } }

// WithSyncLimit sets how many ticks it takes a follower to notice that its leader
// is silent, and a leader that its majority is. Defaults to 10.
func WithSyncLimit(ticks int) Option { return func(o *options) { o.syncLimit = ticks } }

// WithInitLimit sets how many ticks a follower may take to catch up with a leader.
// Defaults to 50.
func WithInitLimit(ticks int) Option { return func(o *options) { o.initLimit = ticks } }

// WithPatience bounds what Start and New wait for until the servers serve.
// Defaults to a minute: on a busy machine, three take a quarter of that.
func WithPatience(d time.Duration) Option { return func(o *options) { o.patience = d } }

// WithEnv sets an environment variable in every server's container, in place of
// what this package sets, which are those of the official image. May be repeated.
func WithEnv(name, value string) Option {
	return func(o *options) { o.env[name] = value }
}

// WithServerEnv is WithEnv for the server with that id, from 1. With the image that
// image/build.sh makes, ZOO_FAKETIME=+1h puts that server's wall clock ahead by an
// hour, or whatever else libfaketime understands. May be repeated.
func WithServerEnv(id int, name, value string) Option {
	return func(o *options) {
		if o.serverEnv[id] == nil {
			o.serverEnv[id] = map[string]string{}
		}
		o.serverEnv[id][name] = value
	}
}

func gather(opts []Option) (options, error) {
	o := options{
		servers: 3, image: os.Getenv(imageEnv), tick: 100 * time.Millisecond,
		initLimit: 50, syncLimit: 10, patience: time.Minute, env: map[string]string{},
		serverEnv: map[int]map[string]string{},
	}
	if o.image == "" {
		o.image = officialImage
	}
	for _, opt := range opts {
		opt(&o)
	}
	switch {
	case o.servers < 1 || o.servers > 7:
		return o, fmt.Errorf("ensemble: WithServers(%d): must be 1 to 7", o.servers)
	case o.image == "":
		return o, fmt.Errorf("ensemble: WithImage: empty")
	case o.tick < 10*time.Millisecond || o.tick%time.Millisecond != 0:
		return o, fmt.Errorf("ensemble: WithTick(%v): must be whole milliseconds, 10 or more", o.tick)
	case o.initLimit < 1 || o.syncLimit < 1:
		return o, fmt.Errorf("ensemble: WithInitLimit(%d), WithSyncLimit(%d): must be 1 or more", o.initLimit, o.syncLimit)
	case o.patience <= 0:
		return o, fmt.Errorf("ensemble: WithPatience(%v): must be positive", o.patience)
	}
	for id := range o.serverEnv {
		if id < 1 || id > o.servers {
			return o, fmt.Errorf("ensemble: WithServerEnv(%d, …): there are %d servers", id, o.servers)
		}
	}
	return o, nil
}

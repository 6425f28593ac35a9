package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/zkfence/zkfence/zktest"
)

// options are the command line.
type options struct {
	addr, proxy            string
	tick, container        time.Duration
	minTimeout, maxTimeout time.Duration
	seed                   uint64
	ensemble               int
	legacy                 bool
	commands, trace        bool
}

// parse reads the command line. Its error names the flag and the value.
func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("zktest", flag.ContinueOnError)
	f.SetOutput(io.Discard) // the caller prints the error, and usage only if asked
	f.StringVar(&o.addr, "addr", "127.0.0.1:2181", "address to serve on, `host:port`; port 0 is a free one")
	f.StringVar(&o.proxy, "proxy", "", "stand in front of the ZooKeeper at `host:port`, a loopback address, on a free port")
	f.DurationVar(&o.tick, "tick", 100*time.Millisecond, "unit in which sessions expire")
	f.DurationVar(&o.minTimeout, "min-timeout", 200*time.Millisecond, "shortest session timeout that is granted")
	f.DurationVar(&o.maxTimeout, "max-timeout", time.Minute, "longest session timeout that is granted")
	f.DurationVar(&o.container, "container-interval", time.Minute, "how often emptied containers and nodes past their TTL are deleted; 0: only by the command reap")
	f.Uint64Var(&o.seed, "seed", 1, "what session ids and passwords follow from")
	f.IntVar(&o.ensemble, "ensemble", 1, "how many servers; several are an ensemble, at the port of -addr and those that follow")
	f.BoolVar(&o.legacy, "legacy-sequence", false, "let sequence numbers wrap, as up to ZooKeeper 3.5; since 3.6 they stick at 2147483647")
	f.BoolVar(&o.commands, "commands", false, "read commands from standard input, and end with it")
	f.BoolVar(&o.trace, "trace", false, "log everything that happens to standard error")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(stderr, "zktest serves a ZooKeeper in memory, for tests.")
			f.SetOutput(stderr)
			f.PrintDefaults()
		}
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	return o, o.check(f)
}

// mostServers bounds -ensemble: no real one has more that vote.
const mostServers = 9

func (o options) check(f *flag.FlagSet) error {
	const least, most = time.Millisecond, math.MaxInt32 * time.Millisecond
	_, port, err := net.SplitHostPort(o.addr)
	if err != nil {
		return fmt.Errorf("-addr %q: must be host:port", o.addr)
	}
	first, err := strconv.Atoi(port)
	numbered := err == nil && first > 0
	switch {
	case o.tick < least:
		return fmt.Errorf("-tick %v: must be at least %v", o.tick, least)
	case o.minTimeout < least:
		return fmt.Errorf("-min-timeout %v: must be at least %v", o.minTimeout, least)
	case o.maxTimeout < o.minTimeout:
		return fmt.Errorf("-max-timeout %v: must not be less than -min-timeout %v", o.maxTimeout, o.minTimeout)
	case o.maxTimeout > most:
		return fmt.Errorf("-max-timeout %v: must be at most %v, for a handshake can tell no more", o.maxTimeout, most)
	case o.ensemble < 1 || o.ensemble > mostServers:
		return fmt.Errorf("-ensemble %d: must be from 1 to %d servers", o.ensemble, mostServers)
	case o.ensemble > 1 && numbered && first+o.ensemble-1 > math.MaxUint16:
		return fmt.Errorf("-ensemble %d -addr %s: the last server's port would be %d, and there are none above %d", o.ensemble, o.addr, first+o.ensemble-1, math.MaxUint16)
	case o.container != 0 && o.container < least:
		return fmt.Errorf("-container-interval %v: must be 0 or at least %v", o.container, least)
	case o.proxy == "":
		return nil
	}
	if _, _, err := net.SplitHostPort(o.proxy); err != nil {
		return fmt.Errorf("-proxy %q: must be host:port", o.proxy)
	}
	var wrong error
	f.Visit(func(given *flag.Flag) {
		switch given.Name {
		case "proxy", "commands", "trace":
		default:
			wrong = fmt.Errorf("-%s %s: has no meaning with -proxy, which takes a free port in front of a server that has settings of its own", given.Name, given.Value)
		}
	})
	return wrong
}

// start serves.
func (o options) start() (*target, error) {
	if o.proxy != "" {
		p, err := zktest.StartProxy(o.proxy)
		if err != nil {
			return nil, err
		}
		return &target{addr: p.Addr(), faults: []*zktest.Faults{p.Faults}, close: p.Close, expire: p.Expire}, nil
	}
	listeners, err := o.listen()
	if err != nil {
		return nil, err
	}
	if o.ensemble == 1 {
		s, err := zktest.Start(append(o.server(), zktest.WithListener(listeners[0]))...)
		if err != nil {
			return nil, errors.Join(err, listeners[0].Close())
		}
		return &target{addr: o.asked(s.Addr()), faults: []*zktest.Faults{s.Faults}, servers: []*zktest.Server{s}, close: s.Close, expire: s.Expire}, nil
	}
	e, err := zktest.StartEnsemble(o.ensemble, append(o.server(), zktest.WithListeners(listeners...))...)
	if err != nil {
		for _, l := range listeners {
			err = errors.Join(err, l.Close())
		}
		return nil, err
	}
	addrs := e.Addrs()
	for i, addr := range addrs {
		addrs[i] = o.asked(addr)
	}
	t := &target{addr: strings.Join(addrs, ","), servers: e.Servers(), ensemble: e, close: e.Close}
	t.expire = func(id int64) error { return t.head().Expire(id) }
	for _, s := range t.servers {
		t.faults = append(t.faults, s.Faults)
	}
	return t, nil
}

// listen takes the ports: the one of -addr and those that follow it, or free ones.
func (o options) listen() ([]net.Listener, error) {
	host, port, err := net.SplitHostPort(o.addr)
	if err != nil {
		return nil, err
	}
	var all []net.Listener
	for i := range o.ensemble {
		addr := o.addr
		if n, err := strconv.Atoi(port); err == nil && n != 0 {
			addr = net.JoinHostPort(host, strconv.Itoa(n+i))
		}
		l, err := net.Listen("tcp", addr)
		if err != nil {
			for _, l := range all {
				err = errors.Join(err, l.Close())
			}
			if i > 0 {
				return nil, fmt.Errorf("-ensemble %d -addr %s: server %d: %w", o.ensemble, o.addr, i+1, err)
			}
			return nil, fmt.Errorf("-addr %s: %w", addr, err)
		}
		all = append(all, l)
	}
	return all, nil
}

// asked returns an address that is served with the host that was asked for: who
// serves at 0.0.0.0 hears of [::], which not every client can dial.
func (o options) asked(addr string) string {
	host, _, err := net.SplitHostPort(o.addr)
	_, port, err2 := net.SplitHostPort(addr)
	if err != nil || err2 != nil || net.ParseIP(host) == nil {
		return addr
	}
	return net.JoinHostPort(host, port)
}

// server are the options of every server.
func (o options) server() []zktest.Option {
	opts := []zktest.Option{
		zktest.WithSeed(o.seed), zktest.WithTick(o.tick),
		zktest.WithSessionTimeouts(o.minTimeout, o.maxTimeout), zktest.WithContainerInterval(o.container),
	}
	if o.legacy {
		opts = append(opts, zktest.WithLegacySequence())
	}
	return opts
}

// openness says who else can reach an address, or nothing. Of several it is the
// first: all are on one host.
func openness(addr string) string {
	first, _, _ := strings.Cut(addr, ",")
	host, _, err := net.SplitHostPort(first)
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsLoopback() {
		return ""
	}
	return fmt.Sprintf("other machines may reach %s, and it lets everybody in", addr)
}

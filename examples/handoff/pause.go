package main

import "os"

// pauser takes W1 out of the world for a while: by stopping its process, or,
// where a system cannot do that, by freezing its connections. A stopped worker
// learns of nothing until it goes on; one that is frozen sees its trusted time run
// out, on its own clock and before anybody else can have the lock.
type pauser struct {
	servers []string // what W1 has to dial
	what    string   // "stopped" or "frozen"
	pause   func(*os.Process) error
	resume  func(*os.Process) error
	close   func()
}

func newPauser(freeze bool, servers []string) (*pauser, error) {
	if !freeze {
		return &pauser{servers: servers, what: "stopped", pause: stopProcess, resume: continueProcess, close: func() {}}, nil
	}
	p := &pauser{what: "frozen"}
	var relays []*relay
	each := func(on bool) func(*os.Process) error {
		return func(*os.Process) error {
			for _, r := range relays {
				r.freeze(on)
			}
			return nil
		}
	}
	p.pause, p.resume = each(true), each(false)
	p.close = func() {
		for _, r := range relays {
			r.close()
		}
	}
	for _, upstream := range servers {
		r, err := newRelay(upstream)
		if err != nil {
			p.close()
			return nil, err
		}
		relays = append(relays, r)
		p.servers = append(p.servers, r.addr())
	}
	return p, nil
}

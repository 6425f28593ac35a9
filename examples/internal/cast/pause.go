package cast

import "os"

// Pauser takes one process out of the world for a while: by stopping it, or,
// where a system cannot do that, by freezing its connections. A stopped process
// learns of nothing until it goes on; one that is frozen sees its trusted time run
// out, on its own clock and before anybody else can have the lock.
type Pauser struct {
	Servers []string // what the process has to dial
	What    string   // "stopped" or "frozen"

	pause, resume func(*os.Process) error
	relays        []*relay
}

// NewPauser returns a Pauser for a process that wants to reach servers. Where
// CanStop is false freeze is the only way that works. It must be closed.
func NewPauser(freeze bool, servers []string) (*Pauser, error) {
	if !freeze {
		return &Pauser{Servers: servers, What: "stopped", pause: stopProcess, resume: continueProcess}, nil
	}
	p := &Pauser{What: "frozen"}
	each := func(on bool) func(*os.Process) error {
		return func(*os.Process) error {
			for _, r := range p.relays {
				r.freeze(on)
			}
			return nil
		}
	}
	p.pause, p.resume = each(true), each(false)
	for _, upstream := range servers {
		r, err := newRelay(upstream)
		if err != nil {
			p.Close()
			return nil, err
		}
		p.relays = append(p.relays, r)
		p.Servers = append(p.Servers, r.addr())
	}
	return p, nil
}

// Pause takes the process out of the world.
func (p *Pauser) Pause(process *Process) error { return p.pause(process.OS()) }

// Resume lets it go on.
func (p *Pauser) Resume(process *Process) error { return p.resume(process.OS()) }

// Close ends the connections that go through the Pauser.
func (p *Pauser) Close() {
	for _, r := range p.relays {
		r.close()
	}
}

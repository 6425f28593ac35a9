package ensemble

import (
	"github.com/zkfence/zkfence/zktest"
)

// Route is a way to all servers for one client, or some, that can be broken
// without anybody else noticing: a proxy on 127.0.0.1 in front of each server. What
// the client talks to besides ZooKeeper, its database for one, does not pass here.
type Route struct {
	proxies []*zktest.Proxy
}

// Route makes a Route that tb's end closes.
func (e *Ensemble) Route(tb zktest.TB) *Route {
	tb.Helper()
	r := &Route{}
	for _, s := range e.servers {
		r.proxies = append(r.proxies, zktest.NewProxy(tb, s.Addr()))
	}
	return r
}

// Addrs returns where the client is to dial, in the order of the servers' ids.
func (r *Route) Addrs() []string {
	addrs := make([]string, len(r.proxies))
	for i, p := range r.proxies {
		addrs[i] = p.Addr()
	}
	return addrs
}

// Proxy returns the proxy in front of the server with that id, from 1, for every
// other fault that a Proxy has. It panics if there is none.
func (r *Route) Proxy(id int) *zktest.Proxy { return r.proxies[id-1] }

// Freeze cuts the client off as a lost link does: nobody is told, connections stay
// open, new ones are accepted, and no byte moves until Heal.
func (r *Route) Freeze() {
	for _, p := range r.proxies {
		p.Freeze(zktest.BothWays)
	}
}

// Cut closes the client's connections and refuses new ones until Heal.
func (r *Route) Cut() {
	for _, p := range r.proxies {
		p.Refuse(true)
		p.Cut()
	}
}

// Heal takes back Freeze, Cut and every other fault on the route. Connections that
// were closed stay so; what was frozen flows.
func (r *Route) Heal() {
	for _, p := range r.proxies {
		p.HealAll()
	}
}

package repeat_test

import (
	"math/rand/v2"
	"time"

	"github.com/zkfence/zkfence/zktest"
)

// fault breaks something and takes it back, or leaves that to another.
type fault func(s *scene, r *rand.Rand, host string, lasts time.Duration)

// weather makes faults until the end, and then takes all back.
func (s *scene) weather(faults func() []fault) {
	r, all := s.chance("weather"), faults()
	for time.Now().Before(s.end) {
		time.Sleep(between(r, 100*time.Millisecond, 3*time.Second))
		host, lasts := hosts[r.IntN(len(hosts))], between(r, 10*time.Millisecond, 6*time.Second)
		all[r.IntN(len(all))](s, r, host, lasts)
	}
	s.Net.HealAll()
	s.Server.HealAll()
}

// faultsForLocks leave out what makes several calls of one client fail at one
// instant again and again: their pauses draw from one source of chance.
func faultsForLocks() []fault {
	return []fault{
		func(s *scene, _ *rand.Rand, _ string, _ time.Duration) { s.Server.Cut() },
		func(s *scene, _ *rand.Rand, host string, _ time.Duration) { s.Server.From(host).Cut() },
		func(s *scene, _ *rand.Rand, _ string, _ time.Duration) { s.Server.DropReply(zktest.OpCreate, 1) },
		func(s *scene, r *rand.Rand, _ string, lasts time.Duration) {
			s.Server.Freeze([]zktest.Direction{zktest.ToServer, zktest.ToClient, zktest.BothWays}[r.IntN(3)])
			time.Sleep(lasts)
			s.Server.Unfreeze()
		},
		func(s *scene, _ *rand.Rand, _ string, lasts time.Duration) {
			s.Server.Stall(true)
			time.Sleep(lasts)
			s.Server.Stall(false)
		},
		func(s *scene, _ *rand.Rand, host string, lasts time.Duration) {
			s.Net.Partition(host, s.Server.Addr())
			time.Sleep(lasts)
			s.Net.HealAll()
		},
		func(s *scene, _ *rand.Rand, host string, _ time.Duration) {
			s.Net.PartitionOneWay(host, s.Server.Addr())
		},
		func(s *scene, _ *rand.Rand, _ string, _ time.Duration) { s.Net.HealAll() },
		func(s *scene, _ *rand.Rand, host string, _ time.Duration) { s.Net.Reset(host, s.Server.Addr()) },
		func(s *scene, r *rand.Rand, _ string, _ time.Duration) {
			if all := s.Server.Sessions(); len(all) > 0 {
				_ = s.Server.Expire(all[r.IntN(len(all))].ID) // it is there: nothing happens between
			}
		},
	}
}

func everyFault() []fault {
	return append(faultsForLocks(),
		func(s *scene, r *rand.Rand, _ string, _ time.Duration) { s.Server.DropReply(zktest.AnyOp, 1+r.IntN(3)) },
		func(s *scene, r *rand.Rand, _ string, _ time.Duration) {
			s.Server.DropRequest(zktest.AnyOp, 1+r.IntN(3))
		},
		func(s *scene, _ *rand.Rand, _ string, _ time.Duration) { s.Server.ExpireAll() },
		func(s *scene, _ *rand.Rand, host string, lasts time.Duration) {
			s.Server.From(host).Blackhole(true)
			time.Sleep(lasts)
			s.Server.From(host).Blackhole(false)
		},
		func(s *scene, _ *rand.Rand, _ string, lasts time.Duration) {
			s.Server.HalfHandshake(true)
			s.Server.Cut()
			time.Sleep(lasts)
			s.Server.HalfHandshake(false)
		},
	)
}

// reign breaks what the servers of an ensemble say to each other.
func (s *scene) reign() {
	r, e := s.chance("reign"), s.Ensemble
	for time.Now().Before(s.end) {
		time.Sleep(between(r, time.Second, 4*time.Second))
		server, lasts := e.Servers()[r.IntN(3)], between(r, 100*time.Millisecond, 4*time.Second)
		switch r.IntN(5) {
		case 0:
			e.Isolate(server)
		case 1:
			e.Depose()
		case 2:
			e.Elect()
		case 3:
			e.Lag(server, lasts)
		case 4:
			e.Kill(server)
		}
		time.Sleep(lasts)
		e.Heal()
		e.Restart(server)
	}
}

package stage

import "github.com/zkfence/zkfence/zktest"

// Silences are the ways in which a server or a network stops answering without
// ever saying "expired". In most of them the client's TCP connection stands, or
// is made again and again, and a client that takes this for health holds on.
func Silences() map[string]func(of *zktest.Target) {
	return map[string]func(of *zktest.Target){
		"Blackhole":                              func(of *zktest.Target) { of.Blackhole(true) },
		"ReconnectsIntoABlackhole":               func(of *zktest.Target) { of.Blackhole(true); of.Cut() },
		"Refuse":                                 func(of *zktest.Target) { of.Refuse(true); of.Cut() },
		"Freeze":                                 func(of *zktest.Target) { of.Freeze(zktest.BothWays) },
		"ReconnectsIntoAFreeze":                  func(of *zktest.Target) { of.Freeze(zktest.BothWays); of.Cut() },
		"NothingIsHeard":                         func(of *zktest.Target) { of.Freeze(zktest.ToClient) },
		"NothingArrives":                         func(of *zktest.Target) { of.Freeze(zktest.ToServer) },
		"AServerThatIsBehind":                    func(of *zktest.Target) { of.ZxidAhead(true); of.Cut() },
		"NothingButHandshakesAndPingsIsAnswered": func(of *zktest.Target) { of.DropRequest(zktest.AnyOp, -1); of.Cut() },
		"HalfAHandshake":                         func(of *zktest.Target) { of.HalfHandshake(true); of.Cut() },
	}
}

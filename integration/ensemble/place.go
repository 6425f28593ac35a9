package ensemble

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"strconv"

	"github.com/moby/moby/api/types/network"
)

// A place is where an ensemble stands: what must stay as it is when its servers
// are stopped and started again, and what another ensemble may have taken.
type place struct {
	ports  []int
	subnet netip.Prefix // of the quorum
}

// findPlace looks for free ports of 127.0.0.1 below those that kernels hand out by
// themselves. Somebody can still come first: Start then tries another place.
func findPlace(n int) (place, error) {
	p := place{subnet: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(200 + rand.IntN(50)), byte(rand.IntN(256)), byte(16 * rand.IntN(16))}), 28)}
	for range 200 {
		port := 20000 + rand.IntN(12000)
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			return place{}, err
		}
		p.ports = append(p.ports, port)
		if len(p.ports) == n {
			return p, nil
		}
	}
	return place{}, fmt.Errorf("ensemble: no %d free ports on 127.0.0.1", n)
}

// address is the i-th server's on the quorum network, for i from 1. The first
// address of the subnet is its gateway's.
func (p place) address(i int) netip.Addr {
	a := p.subnet.Addr().As4()
	a[3] += byte(i + 1)
	return netip.AddrFrom4(a)
}

func (p place) ipam() *network.IPAM {
	return &network.IPAM{Driver: "default", Config: []network.IPAMConfig{{Subnet: p.subnet, Gateway: p.subnet.Addr().Next()}}}
}

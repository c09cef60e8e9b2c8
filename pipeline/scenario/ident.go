package scenario

import (
	"fmt"
	"net/netip"
)

// host is one machine of the network.
type host struct {
	addr netip.Addr
	mac  [6]byte
	// free is when its port has sent what it has to send.
	free int64
	ipid uint16
	cnps map[int]*int64 // when it sent the last, by the host it went to, -1 for any
}

// hostAddr is the address of a host. There may be a few million.
func hostAddr(i int, v6 bool) netip.Addr {
	n := uint32(i + 1)
	if v6 {
		return netip.AddrFrom16([16]byte{0xfd, 0, 0, 0x10, 12: byte(n >> 24), 13: byte(n >> 16), 14: byte(n >> 8), 15: byte(n)})
	}
	return netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)})
}

// addr is the address of a host in this network.
func (s *simulation) addr(i int) netip.Addr {
	a := hostAddr(i, s.spec.Network.IPv6)
	if i == 0 && s.spec.Network.LinkLocal && a.Is6() {
		b := a.As16()
		copy(b[:8], []byte{0xfe, 0x80, 0, 0, 0, 0, 0, 0})
		a = netip.AddrFrom16(b)
	}
	return a
}

// hostMAC is locally administered.
func hostMAC(i int) [6]byte {
	n := uint32(i + 1)
	return [6]byte{0x02, 0x52, 0x4f, byte(n >> 16), byte(n >> 8), byte(n)}
}

func macString(m [6]byte) string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}

// qpnFlowLabel is the flow label that the kernel gives a connection that has
// none (rdma_calc_flow_label): the product of both QPNs, folded to 20 bits. It
// is the same in both directions.
func qpnFlowLabel(a, b uint32) uint32 {
	v := uint64(a) * uint64(b)
	v ^= v >> 20
	v ^= v >> 40
	return uint32(v & 0xfffff)
}

// labelPort is the UDP source port of a flow label, as the kernel derives it
// (rdma_flow_label_to_udp_sport): folded to 14 bits, in the dynamic range.
func labelPort(label uint32) uint16 {
	return uint16(label&0x3fff^label>>14&0x3f) | 0xc000
}

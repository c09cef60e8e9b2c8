package filter

import (
	"encoding/binary"

	"github.com/rocelens/rocelens/decode"
)

// flat reads a field from the packet's own fields: up to two values, and how
// many. It returns askTable where the packet does not say all of it.
type flat func(p *decode.Packet) (a, b uint64, n int)

const askTable = -1

// flats are the fields that most filters are about, all of them scalar.
var flats = makeFlats()

func makeFlats() map[string]flat {
	// Of a header that a packet has once.
	header := func(h decode.Headers, get func(p *decode.Packet) uint64) flat {
		return func(p *decode.Packet) (a, b uint64, n int) {
			switch {
			case p.Has&h != 0:
				return get(p), 0, 1
			case p.Plain():
				return 0, 0, 0
			}
			return 0, 0, askTable
		}
	}
	bth := func(get func(p *decode.Packet) uint64) flat { return header(decode.HasBTH, get) }
	bit := func(flag decode.BTHFlags) flat {
		return bth(func(p *decode.Packet) uint64 {
			if p.BTHFlags&flag != 0 {
				return 1
			}
			return 0
		})
	}
	frame := func(get func(p *decode.Packet) uint64) flat {
		return func(p *decode.Packet) (a, b uint64, n int) { return get(p), 0, 1 }
	}
	// Of the only IP header.
	ip := func(version decode.AddrKind, get func(p *decode.Packet) (a, b uint64, n int)) flat {
		return func(p *decode.Packet) (a, b uint64, n int) {
			switch {
			case !p.Plain() || p.AddrKind == decode.AddrNone:
				return 0, 0, askTable
			case p.AddrKind == version:
				return get(p)
			}
			return 0, 0, 0
		}
	}
	ip4 := func(get func(p *decode.Packet) uint64) flat {
		return ip(decode.AddrIPv4, func(p *decode.Packet) (a, b uint64, n int) { return get(p), 0, 1 })
	}
	ip6 := func(get func(p *decode.Packet) uint64) flat {
		return ip(decode.AddrIPv6, func(p *decode.Packet) (a, b uint64, n int) { return get(p), 0, 1 })
	}
	src := func(p *decode.Packet) uint64 { return p.Src.Lo & 0xffffffff }
	dst := func(p *decode.Packet) uint64 { return p.Dst.Lo & 0xffffffff }
	const aeth, deth, reth = decode.HasAETH, decode.HasDETH, decode.HasRETH
	return map[string]flat{
		"frame.number": frame(func(p *decode.Packet) uint64 { return p.Frame.Number }),
		"frame.len":    frame(func(p *decode.Packet) uint64 { return uint64(p.WireLen) }),

		"ip.src": ip4(src),
		"ip.dst": ip4(dst),
		"ip.addr": ip(decode.AddrIPv4, func(p *decode.Packet) (a, b uint64, n int) {
			return src(p), dst(p), 2
		}),
		"ip.dsfield":        ip4(func(p *decode.Packet) uint64 { return uint64(p.TOS) }),
		"ip.dsfield.dscp":   ip4(func(p *decode.Packet) uint64 { return uint64(p.DSCP()) }),
		"ip.dsfield.ecn":    ip4(func(p *decode.Packet) uint64 { return uint64(p.ECN()) }),
		"ip.ttl":            ip4(func(p *decode.Packet) uint64 { return uint64(p.TTL) }),
		"ip.id":             ip4(func(p *decode.Packet) uint64 { return uint64(p.IPID) }),
		"ipv6.tclass":       ip6(func(p *decode.Packet) uint64 { return uint64(p.TOS) }),
		"ipv6.tclass.dscp":  ip6(func(p *decode.Packet) uint64 { return uint64(p.DSCP()) }),
		"ipv6.tclass.ecn":   ip6(func(p *decode.Packet) uint64 { return uint64(p.ECN()) }),
		"ipv6.flow":         ip6(func(p *decode.Packet) uint64 { return uint64(p.FlowLabel) }),
		"ipv6.hlim":         ip6(func(p *decode.Packet) uint64 { return uint64(p.TTL) }),
		"udp.srcport":       udp(func(p *decode.Packet) (a, b uint64, n int) { return uint64(p.SrcPort), 0, 1 }),
		"udp.dstport":       udp(func(p *decode.Packet) (a, b uint64, n int) { return uint64(p.DstPort), 0, 1 }),
		"udp.port":          udp(func(p *decode.Packet) (a, b uint64, n int) { return uint64(p.SrcPort), uint64(p.DstPort), 2 }),
		"infiniband.bth.se": bit(decode.Solicited), "infiniband.bth.m": bit(decode.MigReq), "infiniband.bth.a": bit(decode.AckReq),
		"infiniband.bth.fecn": bit(decode.FECN), "infiniband.bth.becn": bit(decode.BECN),
		"infiniband.bth.opcode":    bth(func(p *decode.Packet) uint64 { return uint64(p.Opcode) }),
		"infiniband.bth.padcnt":    bth(func(p *decode.Packet) uint64 { return uint64(p.PadCount) }),
		"infiniband.bth.tver":      bth(func(p *decode.Packet) uint64 { return uint64(p.TVer) }),
		"infiniband.bth.p_key":     bth(func(p *decode.Packet) uint64 { return uint64(p.PKey) }),
		"infiniband.bth.destqp":    bth(func(p *decode.Packet) uint64 { return uint64(p.DestQP) }),
		"infiniband.bth.psn":       bth(func(p *decode.Packet) uint64 { return uint64(p.PSN) }),
		"infiniband.aeth.syndrome": header(aeth, func(p *decode.Packet) uint64 { return uint64(p.Syndrome) }),
		"infiniband.aeth.syndrome.opcode": header(aeth, func(p *decode.Packet) uint64 {
			return uint64(p.Syndrome >> 5 & 3)
		}),
		"infiniband.aeth.msn":    header(aeth, func(p *decode.Packet) uint64 { return uint64(p.MSN) }),
		"infiniband.deth.q_key":  header(deth, func(p *decode.Packet) uint64 { return uint64(p.QKey) }),
		"infiniband.deth.srcqp":  header(deth, func(p *decode.Packet) uint64 { return uint64(p.SrcQP) }),
		"infiniband.reth.va":     header(reth|decode.HasAtomicETH, func(p *decode.Packet) uint64 { return p.VA }),
		"infiniband.reth.r_key":  header(reth|decode.HasAtomicETH, func(p *decode.Packet) uint64 { return uint64(p.RKey) }),
		"infiniband.reth.dmalen": header(reth, func(p *decode.Packet) uint64 { return uint64(p.DMALen) }),
	}
}

// udp reads of the only UDP header.
func udp(get func(p *decode.Packet) (a, b uint64, n int)) flat {
	return func(p *decode.Packet) (a, b uint64, n int) {
		if !p.Plain() {
			return 0, 0, askTable
		}
		switch p.Kind {
		case decode.KindRoCEv2, decode.KindUDP:
			return get(p)
		case decode.KindRoCEv1, decode.KindIB, decode.KindPFC, decode.KindPause, decode.KindTCP, decode.KindIWARP, decode.KindARP:
			return 0, 0, 0
		}
		return 0, 0, askTable
	}
}

// flat6 reads IPv6 addresses as flat does numbers.
type flat6 func(p *decode.Packet) (a, b decode.Addr, n int)

// flats6 are the fields of IPv6 addresses that the packet has by itself.
var flats6 = map[string]flat6{
	"ipv6.src":  only6(func(p *decode.Packet) (a, b decode.Addr, n int) { return p.Src, a, 1 }),
	"ipv6.dst":  only6(func(p *decode.Packet) (a, b decode.Addr, n int) { return p.Dst, a, 1 }),
	"ipv6.addr": only6(func(p *decode.Packet) (a, b decode.Addr, n int) { return p.Src, p.Dst, 2 }),
}

func only6(get flat6) flat6 {
	return func(p *decode.Packet) (a, b decode.Addr, n int) {
		switch {
		case !p.Plain() || p.AddrKind == decode.AddrNone:
			return a, b, askTable
		case p.AddrKind == decode.AddrIPv6:
			return get(p)
		}
		return a, b, 0
	}
}

// addr6 is an IPv6 address as a packet has it.
func addr6(b []byte) decode.Addr {
	return decode.Addr{Hi: binary.BigEndian.Uint64(b), Lo: binary.BigEndian.Uint64(b[8:])}
}

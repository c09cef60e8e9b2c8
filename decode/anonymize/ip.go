package anonymize

import (
	"encoding/binary"
	"math/bits"

	"github.com/rocelens/rocelens/decode"
)

// IP addresses keep what is special in them. A special range has a prefix,
// which stays. So that the map remains one to one and preserves prefixes, a bit
// is never flipped where the bits before it are the beginning of a range's
// prefix: an address beside a range keeps as many bits as it has in common with
// it, and one more.

// range4 is a range of IPv4 addresses. Those of one that is fixed stay.
type range4 struct {
	prefix uint32
	bits   int
	fixed  bool
}

// special4 are the special ranges (IANA's registry, RFC 6890).
var special4 = [...]range4{
	{0, 8, true},            // 0.0.0.0/8, this network
	{10 << 24, 8, false},    // 10.0.0.0/8, private
	{0x64400000, 10, false}, // 100.64.0.0/10, shared
	{127 << 24, 8, true},    // 127.0.0.0/8, loopback
	{0xa9fe0000, 16, false}, // 169.254.0.0/16, link-local
	{0xac100000, 12, false}, // 172.16.0.0/12, private
	{0xc0a80000, 16, false}, // 192.168.0.0/16, private
	{0xe0000000, 4, false},  // 224.0.0.0/4, multicast
	{0xe0000000, 24, true},  // 224.0.0.0/24, well-known groups
	{232 << 24, 8, false},   // 232.0.0.0/8, source-specific multicast
	{239 << 24, 8, false},   // 239.0.0.0/8, administratively scoped multicast
	{0xf0000000, 4, false},  // 240.0.0.0/4, reserved
	{0xffffffff, 32, true},  // broadcast
}

// kept4 is how many leading bits of an address stay.
func kept4(a uint32) (n int) {
	for i := range special4 {
		r := &special4[i]
		common := bits.LeadingZeros32(a ^ r.prefix)
		if common >= r.bits && r.fixed {
			return 32
		}
		n = max(n, min(common+1, r.bits))
	}
	return n
}

func (m *mapper) ipv4(a uint32) uint32 {
	if a == 0 {
		return 0
	}
	c := &m.v4[slot(uint64(a))]
	if c.key != a {
		v := a
		if kept := kept4(a); kept < 32 {
			v = uint32(m.trees[treeIPv4].number(uint64(a), 4, ^uint64(0)<<(32-kept)))
		}
		c.key, c.value = a, v
	}
	return c.value
}

// range6 is a range of IPv6 addresses.
type range6 struct {
	prefix decode.Addr
	bits   int
	kind   rangeKind
}

type rangeKind uint8

const (
	mapped rangeKind = iota
	fixed            // its addresses stay
	holds4           // the last 32 bits are an IPv4 address
)

const mapped4 = 0xffff << 32 // ::ffff:0:0

// special6 are the special ranges (IANA's registries of special-purpose and of
// multicast addresses).
var special6 = [...]range6{
	{decode.Addr{}, 128, fixed},                                   // ::
	{decode.Addr{Lo: 1}, 128, fixed},                              // ::1, loopback
	{decode.Addr{Lo: mapped4}, 96, holds4},                        // ::ffff:0:0/96, IPv4-mapped, as RoCEv1's GIDs
	{decode.Addr{Hi: 0x0064ff9b << 32}, 96, holds4},               // 64:ff9b::/96, IPv4 translated
	{decode.Addr{Hi: 0x2 << 60}, 3, mapped},                       // 2000::/3, global unicast
	{decode.Addr{Hi: 0xfc << 56}, 8, mapped},                      // fc00::/8, unique local
	{decode.Addr{Hi: 0xfd << 56}, 8, mapped},                      // fd00::/8, the same, of one's own choice
	{decode.Addr{Hi: 0xfe80 << 48}, 10, mapped},                   // fe80::/10, link-local
	{decode.Addr{Hi: 0xfe80 << 48}, 64, mapped},                   // fe80::/64, all of it that is in use
	{decode.Addr{Hi: 0xfec0 << 48}, 10, mapped},                   // fec0::/10, site-local, also of InfiniBand
	{decode.Addr{Hi: 0xff << 56}, 8, mapped},                      // ff00::/8, multicast
	{decode.Addr{Hi: 0xff01 << 48}, 112, fixed},                   // ff01::/112, well-known groups
	{decode.Addr{Hi: 0xff02 << 48}, 112, fixed},                   // ff02::/112
	{decode.Addr{Hi: 0xff02 << 48, Lo: 1 << 16}, 112, fixed},      // ff02::1:0/112, as DHCPv6's
	{decode.Addr{Hi: 0xff05 << 48}, 112, fixed},                   // ff05::/112
	{decode.Addr{Hi: 0xff02 << 48, Lo: 0x1ff << 24}, 104, mapped}, // ff02::1:ff00:0/104, solicited nodes
	{decode.Addr{Hi: 0xff0e << 48, Lo: mapped4}, 96, holds4},      // ff0e::ffff:0:0/96, RDMA-CM's groups of IPv4
}

// kept6 is how many leading bits of an address stay, and whether the rest is an
// IPv4 address.
func kept6(a decode.Addr) (n int, v4 bool) {
	for i := range special6 {
		r := &special6[i]
		common := bits.LeadingZeros64(a.Hi ^ r.prefix.Hi)
		if common == 64 {
			common += bits.LeadingZeros64(a.Lo ^ r.prefix.Lo)
		}
		if common >= r.bits {
			switch r.kind {
			case fixed:
				return 128, false
			case holds4:
				return 96, true
			}
		}
		n = max(n, min(common+1, r.bits))
	}
	if a.Hi>>56 == 0xff {
		n = max(n, 16) // flags and scope
	}
	return n, false
}

// ipv6 maps an IPv6 address or a GID, and an IPv4 address in its mapped form.
func (m *mapper) ipv6(a decode.Addr) decode.Addr {
	if a.Is4() {
		return decode.Addr{Lo: mapped4 | uint64(m.ipv4(uint32(a.Lo)))}
	}
	c := &m.v6[slot(a.Hi^bits.RotateLeft64(a.Lo, 23))]
	if c.key != a {
		c.key, c.value = a, m.newIPv6(a)
	}
	return c.value
}

func (m *mapper) newIPv6(a decode.Addr) decode.Addr {
	kept, v4 := kept6(a)
	if v4 {
		a.Lo = a.Lo>>32<<32 | uint64(m.ipv4(uint32(a.Lo)))
		return a
	}
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], a.Hi)
	binary.BigEndian.PutUint64(b[8:], a.Lo)
	var flips [16]byte
	for i := kept / 8; i < len(b); i++ {
		flips[i] = m.trees[treeIPv6].flips(b[:i], b[i])
	}
	if b[0] != 0xff {
		m.interfaceID(b[8:], flips[8:])
	}
	hi, lo := binary.BigEndian.Uint64(flips[:]), binary.BigEndian.Uint64(flips[8:])
	if kept < 64 {
		hi &= ^uint64(0) >> kept
	} else {
		hi, lo = 0, lo&(^uint64(0)>>(kept-64))
	}
	return decode.Addr{Hi: a.Hi ^ hi, Lo: a.Lo ^ lo}
}

// interfaceID makes the lower half of an address agree with the MAC address
// that it may be made of (RFC 4291, appendix A):
//
//	the upper three bytes, U/L bit inverted | ff fe | the lower three bytes
//
// The first three bytes are mapped as a MAC address's are in any case, since
// what follows must have no say in it.
func (m *mapper) interfaceID(id, flips []byte) {
	mac := [6]byte{id[0] ^ macLocal, id[1], id[2], id[5], id[6], id[7]}
	t := m.trees[treeMAC]
	for i := range 3 {
		flips[i] = t.flips(mac[:i], mac[i])
	}
	flips[0] &^= macKeep
	const middle = 0xfffe
	common := bits.LeadingZeros16(binary.BigEndian.Uint16(id[3:]) ^ middle)
	kept := uint16(0xffff) << (16 - min(common+1, 16))
	binary.BigEndian.PutUint16(flips[3:], binary.BigEndian.Uint16(flips[3:])&^kept)
	if common == 16 {
		for i := 3; i < 6; i++ {
			flips[i+2] = t.flips(mac[:i], mac[i])
		}
	}
}

// guid maps the GUID of an adapter as GIDs that are made of it.
func (m *mapper) guid(v uint64) uint64 {
	if v == 0 {
		return 0
	}
	return m.ipv6(decode.Addr{Hi: 0xfe80 << 48, Lo: v}).Lo
}

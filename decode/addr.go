package decode

import (
	"encoding/binary"
	"net/netip"
	"strconv"
)

// Addr is an endpoint's address as 128 bits: an IPv4 address mapped into IPv6
// (::ffff:a.b.c.d), an IPv6 address, a GID, or a LID in the lowest 16 bits. It
// is comparable, and small enough to be part of a map's key; what it is, the
// packet's AddrKind says.
type Addr struct{ Hi, Lo uint64 }

// AddrKind is what a packet's addresses are.
type AddrKind uint8

// The kinds of addresses.
const (
	AddrNone AddrKind = iota
	AddrIPv4
	AddrIPv6
	AddrGID // RoCEv1, or native InfiniBand with a GRH
	AddrLID // native InfiniBand without one
)

const mappedPrefix = 0x0000_ffff_0000_0000

func addrFrom4(b []byte) Addr {
	return Addr{Lo: mappedPrefix | uint64(binary.BigEndian.Uint32(b))}
}

func addrFrom16(b []byte) Addr {
	return Addr{Hi: binary.BigEndian.Uint64(b), Lo: binary.BigEndian.Uint64(b[8:16])}
}

// Is4 says whether the address is an IPv4 one, mapped or not.
func (a Addr) Is4() bool { return a.Hi == 0 && a.Lo>>32 == 0xffff }

// IP is the address as netip has it, IPv4 unmapped. It makes no sense for a LID.
func (a Addr) IP() netip.Addr {
	return a.v6().Unmap()
}

// v6 is the address as 16 bytes, mapped addresses included.
func (a Addr) v6() netip.Addr {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], a.Hi)
	binary.BigEndian.PutUint64(b[8:], a.Lo)
	return netip.AddrFrom16(b)
}

// Append appends the address in its usual notation: 10.0.0.1, fe80::1, or LID 5.
// An IPv4-mapped GID is written as the IPv4 address that it stands for.
func (a Addr) Append(dst []byte, k AddrKind) []byte {
	switch k {
	case AddrNone:
		return dst
	case AddrLID:
		dst = append(dst, "LID "...)
		return strconv.AppendUint(dst, a.Lo, 10)
	}
	return a.IP().AppendTo(dst)
}

// MAC is a hardware address.
type MAC [6]byte

// Append appends the address as aa:bb:cc:dd:ee:ff.
func (m MAC) Append(dst []byte) []byte {
	const hex = "0123456789abcdef"
	for i, b := range m {
		if i > 0 {
			dst = append(dst, ':')
		}
		dst = append(dst, hex[b>>4], hex[b&15])
	}
	return dst
}

func (m MAC) String() string { return string(m.Append(nil)) }

// AddrOf is an IP address or a GID as an Addr, IPv4 in its mapped form.
func AddrOf(ip netip.Addr) Addr {
	b := ip.As16()
	return addrFrom16(b[:])
}

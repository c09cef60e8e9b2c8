package anonymize

import (
	"encoding/binary"

	"github.com/rocelens/rocelens/decode"
)

// mapper maps addresses and numbers. All maps are one to one, and depend on the
// key alone. It remembers the latest answers, in a memory of fixed size.
type mapper struct {
	trees   [numTrees]*tree
	mapQPNs bool

	v4   [cached]struct{ key, value uint32 } // key 0 has no entry: it maps to itself
	v6   [cached]struct{ key, value decode.Addr }
	macs [cached]struct{ key, value uint64 }
	keys [cached]region
}

// region is what an R_Key stands for.
type region struct {
	key, value uint32
	shift      uint64 // of virtual addresses
	known      bool
}

// cached is how many addresses of a kind are remembered: some hundred KiB for
// all, which stay in a processor's cache with those that are in use.
const (
	cacheBits = 11
	cached    = 1 << cacheBits
)

func slot(v uint64) uint64 { return v * 0x9e3779b97f4a7c15 >> (64 - cacheBits) }

func newMapper(key []byte, mapQPNs bool) (*mapper, error) {
	m := &mapper{mapQPNs: mapQPNs}
	for i, name := range treeNames {
		t, err := newTree(key, name)
		if err != nil {
			return nil, err
		}
		m.trees[i] = t
	}
	return m, nil
}

// Bits of the first byte of a MAC address. Those in macKeep stay: whether it is
// a group's and whether it is a local one, and the upper half, which tells an
// address from an IP header where Ethernet is right behind a label stack.
const (
	macGroup = 0x01
	macLocal = 0x02
	macKeep  = 0xf0 | macLocal | macGroup
)

// mac maps a MAC address.
func (m *mapper) mac(a decode.MAC) decode.MAC {
	v := uint64(binary.BigEndian.Uint16(a[:]))<<32 | uint64(binary.BigEndian.Uint32(a[2:]))
	class := classOf(v)
	if class == specialMAC {
		return a
	}
	c := &m.macs[slot(v)]
	if c.key != v {
		w := v
		for { // ends: the way comes back to v, which is of the class
			if w = m.trees[treeMAC].number(w, len(a), class.keep()); classOf(w) == class {
				break
			}
		}
		c.key, c.value = v, w
	}
	binary.BigEndian.PutUint16(a[:], uint16(c.value>>32))
	binary.BigEndian.PutUint32(a[2:], uint32(c.value))
	return a
}

// macClass is what a MAC address is. Each class is mapped to itself.
type macClass uint8

const (
	plainMAC   macClass = iota
	specialMAC          // means the same everywhere
	group4              // an IPv4 group's lower 23 bits (RFC 1112)
	group6              // an IPv6 group's lower 32 bits (RFC 2464)
)

// classOf is the class of a MAC address. Special are none, broadcast, and the
// groups of IEEE 802.1, of Cisco's protocols and of PTP.
func classOf(v uint64) macClass {
	switch v >> 24 {
	case 0x0180c2, 0x01000c, 0x011b19:
		return specialMAC
	}
	switch {
	case v == 0 || v == 1<<48-1:
		return specialMAC
	case v>>23 == 0x01005e<<1:
		return group4
	case v>>32 == 0x3333:
		return group6
	}
	return plainMAC
}

// keep are the bits of an address that stay.
func (c macClass) keep() uint64 {
	switch c {
	case group4:
		return 1<<48 - 1<<23
	case group6:
		return 1<<48 - 1<<32
	}
	return macKeep << 40
}

// addr maps an IP address, a GID or a LID.
func (m *mapper) addr(a decode.Addr, k decode.AddrKind) decode.Addr {
	switch k {
	case decode.AddrNone:
		return a
	case decode.AddrLID:
		return decode.Addr{Lo: uint64(m.lid(uint16(a.Lo)))}
	}
	return m.ipv6(a)
}

// lid maps a LID of native InfiniBand: unicast to unicast, multicast (the upper
// two bits set) to multicast. None, 0, and the permissive one stay.
func (m *mapper) lid(v uint16) uint16 {
	special := func(v uint16) bool { return v == 0 || v == 0xffff }
	for w := v; ; {
		if special(v) {
			return v
		}
		if w = uint16(m.trees[treeLID].number(uint64(w), 2, 0xc000)); !special(w) {
			return w
		}
	}
}

// qpn maps a queue pair's number where that is asked for. QP 0 and 1 and that
// of multicast stay.
func (m *mapper) qpn(v uint32) uint32 {
	special := func(v uint32) bool { return v <= 1 || v == 0xffffff }
	if !m.mapQPNs {
		return v
	}
	for w := v; ; {
		if special(v) {
			return v
		}
		if w = uint32(m.trees[treeQPN].number(uint64(w), 3, 0)); !special(w) {
			return w
		}
	}
}

// qkey maps a Q_Key. The uppermost bit stays, which only privileged ones have,
// and so do those that are the same everywhere: none, the general services
// interface's and RDMA-CM's.
func (m *mapper) qkey(v uint32) uint32 {
	special := func(v uint32) bool { return v == 0 || v == 0x80010000 || v == 0x01234567 }
	for w := v; ; {
		if special(v) {
			return v
		}
		if w = uint32(m.trees[treeQKey].number(uint64(w), 4, 1<<31)); !special(w) {
			return w
		}
	}
}

// id maps the IDs of connection management's messages, of n bytes. 0 stays.
func (m *mapper) id(tree int, v uint64, n int) uint64 {
	for w := v; ; {
		if v == 0 {
			return 0
		}
		if w = m.trees[tree].number(w, n, 0); w != 0 {
			return w
		}
	}
}

// region is what becomes of an R_Key, and of addresses in the memory that it
// stands for.
func (m *mapper) region(key uint32) *region {
	r := &m.keys[slot(uint64(key))]
	if r.key != key || !r.known {
		const page = 4096
		*r = region{key: key, value: uint32(m.id(treeRKey, uint64(key), 4)), shift: m.trees[treeVA].random(uint64(key)) &^ (page - 1), known: true}
	}
	return r
}

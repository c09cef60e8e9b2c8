package anonymize

import (
	"encoding/binary"

	"github.com/rocelens/rocelens/decode"
)

// header copies what stays of a header and maps the rest. A header that was cut
// is handled as far as it goes.
func (w *work) header(l decode.Layer) {
	in, out := w.in[l.Off:l.Off+l.Len], w.out[l.Off:l.Off+l.Len]
	m := w.a.m
	switch l.Kind {
	case decode.LayerNone: // one byte that begins with a version
		out[0] = in[0] & 0xf0
	case decode.LayerERF:
		w.erf(in, out)
	case decode.LayerEthernet:
		w.mac(in, out, 0)
		w.mac(in, out, 6)
		keep(in, out, 12, 14)
		w.eth = int(l.Off)
	case decode.LayerSLL:
		keep(in, out, 0, 6)
		if len(in) == 16 && be16(in[4:]) == 6 {
			w.mac(in, out, 6)
		}
		keep(in, out, 14, 16)
	case decode.LayerSLL2:
		keep(in, out, 0, 12)
		if len(in) == 20 && in[11] == 6 {
			w.mac(in, out, 12)
		}
	case decode.LayerNull, decode.LayerVLAN, decode.LayerSTag, decode.LayerVNTag, decode.LayerTTag, decode.LayerCMD,
		decode.LayerAVSP, decode.LayerMPLS, decode.LayerControlWord, decode.LayerLLC, decode.LayerVXLAN, decode.LayerERSPAN2,
		decode.LayerERSPAN3, decode.LayerAETH, decode.LayerFETH:
		copy(out, in)
	case decode.LayerMACControl:
		const opcode, longest = 2, 20 // of one that is not known, all that follows belongs to the header
		if keep(in, out, 0, opcode); w.p.Kind != decode.KindMACControl {
			keep(in, out, opcode, longest)
		}
	case decode.LayerARP:
		w.arp(in, out)
	case decode.LayerIPv4:
		keep(in, out, 0, 10)
		w.ip4(in, out, 12)
		w.ip4(in, out, 16)
		w.group(in, out, 16, 4)
	case decode.LayerIPv6:
		keep(in, out, 0, 8)
		w.ip6(in, out, 8)
		w.ip6(in, out, 24)
		w.group(in, out, 24, 16)
		if len(in) > 6 {
			w.next = in[6]
		}
	case decode.LayerIPv6Ext:
		const fragment = 44
		if keep(in, out, 0, 2); w.next == fragment {
			keep(in, out, 2, 8)
		}
		w.next = in[0]
	case decode.LayerUDP:
		keep(in, out, 0, 6)
	case decode.LayerTCP:
		keep(in, out, 0, 16)
		keep(in, out, 18, 20)
	case decode.LayerICMP, decode.LayerICMPv6:
		keep(in, out, 0, 2)
		const redirect = 5
		if l.Kind == decode.LayerICMP && in[0] == redirect {
			w.ip4(in, out, 4)
		} else {
			keep(in, out, 4, 8)
		}
	case decode.LayerGRE:
		keep(in, out, 0, 4)
		if checksum := len(in) > 0 && in[0]&0x80 != 0; checksum {
			keep(in, out, 8, len(in))
		} else {
			keep(in, out, 4, len(in))
		}
	case decode.LayerGeneve:
		keep(in, out, 0, 8)
	case decode.LayerIPoIB:
		const grh = 40
		if len(in) < grh {
			keep(in, out, 0, 4)
			break
		}
		w.grh(in, out)
		keep(in, out, grh, len(in))
	case decode.LayerLRH:
		keep(in, out, 0, 2)
		w.lid(in, out, 2)
		keep(in, out, 4, 6)
		w.lid(in, out, 6)
	case decode.LayerGRH:
		w.grh(in, out)
	case decode.LayerBTH:
		keep(in, out, 0, 5)
		w.qpn(in, out, 5)
		keep(in, out, 8, 12)
	case decode.LayerRDETH, decode.LayerXRCETH:
		keep(in, out, 0, 1)
		w.qpn(in, out, 1)
	case decode.LayerDETH:
		w.qkey(in, out, 0)
		keep(in, out, 4, 5)
		w.qpn(in, out, 5)
	case decode.LayerRETH, decode.LayerAtomicETH:
		const dmaLen = 12
		if len(in) < dmaLen { // an address says nothing without its R_Key
			break
		}
		r := m.region(be32(in[8:]))
		binary.BigEndian.PutUint64(out, be64(in)+r.shift)
		binary.BigEndian.PutUint32(out[8:], r.value)
		if l.Kind == decode.LayerRETH {
			keep(in, out, dmaLen, dmaLen+4)
		}
	case decode.LayerIETH:
		if len(in) == 4 {
			binary.BigEndian.PutUint32(out, m.region(be32(in)).value)
		}
	case decode.LayerCNPReserved:
		if w.p.Flags&decode.CNPBodyNotZero != 0 { // that it is not zero is worth knowing
			out[len(out)-1] = 1
		}
	case decode.LayerMAD:
		keep(in, out, 0, 8)
		if len(in) >= 16 {
			binary.BigEndian.PutUint64(out[8:], m.id(treeTID, be64(in[8:]), 8))
		}
		keep(in, out, 16, 24)
	}
}

// keep copies bytes from one offset to another, as far as there are any.
func keep(in, out []byte, from, to int) {
	if to = min(to, len(in)); from < to {
		copy(out[from:to], in[from:to])
	}
}

// The following map what is at an offset, if all of it is there.

func (w *work) mac(in, out []byte, off int) {
	const n = len(decode.MAC{})
	if off+n <= len(in) {
		mac := w.a.m.mac(decode.MAC(in[off:]))
		copy(out[off:], mac[:])
	}
}

func (w *work) ip4(in, out []byte, off int) {
	if off+4 <= len(in) {
		binary.BigEndian.PutUint32(out[off:], w.a.m.ipv4(be32(in[off:])))
	}
}

func (w *work) ip6(in, out []byte, off int) {
	if off+16 <= len(in) {
		v := w.a.m.ipv6(decode.Addr{Hi: be64(in[off:]), Lo: be64(in[off+8:])})
		binary.BigEndian.PutUint64(out[off:], v.Hi)
		binary.BigEndian.PutUint64(out[off+8:], v.Lo)
	}
}

func (w *work) lid(in, out []byte, off int) {
	if off+2 <= len(in) {
		binary.BigEndian.PutUint16(out[off:], w.a.m.lid(be16(in[off:])))
	}
}

func (w *work) qpn(in, out []byte, off int) {
	if off+3 <= len(in) {
		v := w.a.m.qpn(uint32(in[off])<<16 | uint32(be16(in[off+1:])))
		out[off] = byte(v >> 16)
		binary.BigEndian.PutUint16(out[off+1:], uint16(v))
	}
}

func (w *work) qkey(in, out []byte, off int) {
	if off+4 <= len(in) {
		binary.BigEndian.PutUint32(out[off:], w.a.m.qkey(be32(in[off:])))
	}
}

func (w *work) grh(in, out []byte) {
	keep(in, out, 0, 8)
	w.ip6(in, out, 8)
	w.ip6(in, out, 24)
}

// group makes the MAC address of a multicast group agree with the IP address
// that it is made of, at off, if it was so before.
func (w *work) group(in, out []byte, off, n int) {
	at := w.eth
	w.eth = -1
	if at < 0 || off+n > len(in) {
		return
	}
	mac, ip := w.in[at:at+6], in[off:off+n]
	low := ip[n-4:]
	switch {
	case n == 16 && ip[0] == 0xff && be16(mac) == 0x3333 && be32(mac[2:]) == be32(low):
		copy(w.out[at+2:], out[off+n-4:off+n])
	case n == 4 && ip[0]>>4 == 0xe && be32(mac)>>8 == 0x01005e && be32(mac[2:])&0x7fffff == be32(low)&0x7fffff:
		copy(w.out[at+3:], out[off+1:off+n])
		w.out[at+3] &= 0x7f
	}
}

// erf keeps the record's header, and of extension headers, which hold numbers
// of hosts and flows, what kind they are.
func (w *work) erf(in, out []byte) {
	const header, extension = 16, 8
	keep(in, out, 0, header)
	if len(in) <= header {
		return
	}
	for at, more := header, in[8]&0x80 != 0; more && at+extension <= len(in); at += extension {
		out[at] = in[at]
		more = in[at]&0x80 != 0
	}
}

// arp maps the addresses of an ARP packet (RFC 826) for Ethernet and IPv4. Of
// one for anything else only what it is stays.
//
//	hardware (2) | protocol (2) | lengths (1, 1) | operation (2)
//	sender's addresses (6, 4) | target's addresses (6, 4)
func (w *work) arp(in, out []byte) {
	keep(in, out, 0, 8)
	if len(in) < 28 || be16(in[2:]) != 0x0800 || in[4] != 6 || in[5] != 4 {
		return
	}
	w.mac(in, out, 8)
	w.ip4(in, out, 14)
	w.mac(in, out, 18)
	w.ip4(in, out, 24)
}

func be16(b []byte) uint16 { return binary.BigEndian.Uint16(b) }
func be32(b []byte) uint32 { return binary.BigEndian.Uint32(b) }
func be64(b []byte) uint64 { return binary.BigEndian.Uint64(b) }

package anonymize

import (
	"encoding/binary"

	"github.com/rocelens/rocelens/decode"
)

// A checksum over payload tells of it, so that none is kept. What was right is
// made right, what was wrong is made wrong. What can't be told, because bytes
// were cut off, becomes what is right if they were zeros.

// crcs makes ICRC and VCRC anew. A wrong ICRC becomes a pseudo-random one that
// depends on what it was: where a sender puts a constant, there is one
// afterwards. One that can't be verified remains zero.
func (w *work) crcs() {
	p := w.p
	l, ok := p.Layer(decode.LayerICRC)
	good := p.ICRCStatus == decode.ICRCGood
	if !ok || !good && p.ICRCStatus != decode.ICRCBad {
		w.vcrc()
		return
	}
	was := p.ICRC
	p.Data = w.out
	p.ICRC, p.ICRCStatus = 0, decode.ICRCUnchecked
	w.a.dec.VerifyICRC(p)
	right := uint32(0)
	if p.ICRCStatus == decode.ICRCBad {
		right = p.ICRCExpected
	}
	if p.ICRC = right; !good {
		p.ICRC = w.a.wrongICRC(was, right)
	}
	binary.BigEndian.PutUint32(w.out[l.Off:], p.ICRC)
	p.Data = w.in
	w.vcrc()
}

// wrongICRC is what stands for a wrong ICRC. No bits and all bits stay: they
// mean that it was not computed.
func (a *Anonymizer) wrongICRC(was, right uint32) uint32 {
	v := was
	if was != 0 && was != 1<<32-1 {
		v = uint32(a.m.trees[treeICRC].random(uint64(was)))
	}
	if v == right {
		v ^= 1
	}
	return v
}

func (w *work) vcrc() {
	p := w.p
	l, ok := p.Layer(decode.LayerVCRC)
	good := p.VCRCStatus == decode.ICRCGood
	if !ok || !good && p.VCRCStatus != decode.ICRCBad {
		return
	}
	p.Data = w.out
	p.VCRC, p.VCRCStatus = 0, decode.ICRCUnchecked
	w.a.dec.VerifyICRC(p)
	p.Data = w.in
	right := uint16(0)
	if p.VCRCStatus == decode.ICRCBad {
		right = p.VCRCExpected
	}
	if !good {
		right = wrong(right)
	}
	binary.BigEndian.PutUint16(w.out[l.Off:], right)
}

// sums makes the checksums of all headers anew, from the inside out.
func (w *work) sums() {
	layers := w.p.Layers()
	for i := len(layers) - 1; i >= 0; i-- {
		l := layers[i]
		switch l.Kind {
		case decode.LayerIPv4:
			w.ipv4Sum(int(l.Off))
		case decode.LayerUDP:
			w.transportSum(i, 6, 17)
		case decode.LayerTCP:
			w.transportSum(i, 16, 6)
		case decode.LayerICMP:
			w.transportSum(i, 2, 0)
		case decode.LayerICMPv6:
			w.transportSum(i, 2, 58)
		case decode.LayerGRE:
			if w.in[l.Off]&0x80 != 0 {
				w.transportSum(i, 4, 0)
			}
		}
	}
}

// ipv4Sum makes an IPv4 header's checksum anew. 0 means that it was left to
// the NIC.
func (w *work) ipv4Sum(off int) {
	const at = 10
	end := min(off+int(w.in[off]&15)*4, len(w.in))
	if end < off+at+2 || be16(w.in[off+at:]) == 0 {
		return
	}
	right := ^fold(add(0, w.out[off:end])) // the field itself is zero
	if whole := end == off+int(w.in[off]&15)*4; whole && fold(add(0, w.in[off:end])) != 0xffff {
		right = wrong(right)
	}
	binary.BigEndian.PutUint16(w.out[off+at:], right)
}

// transportSum makes the checksum anew that is at an offset in layer i, which
// is in an IP packet. proto is the IP protocol, 0 for one whose checksum does
// not cover the IP addresses.
func (w *work) transportSum(i, at int, proto byte) {
	l := w.p.Layers()[i]
	off := int(l.Off)
	if at+2 > int(l.Len) {
		return
	}
	const udp = 17
	was := be16(w.in[off+at:])
	if proto == udp && was == 0 { // not computed
		return
	}
	ip, end, fragment, ok := w.around(i)
	if !ok || end <= off {
		return
	}
	if proto == udp {
		if n := int(be16(w.in[off+4:])); n >= 8 && (n <= end-off || fragment) {
			end = off + n
		}
	}
	var oldSum, newSum uint64
	if proto != 0 {
		addrs, n := 12, 8
		if w.in[ip]>>4 == 6 {
			addrs, n = 8, 32
		}
		rest := uint64(proto) + uint64(end-off)
		oldSum = rest + add(0, w.in[ip+addrs:ip+addrs+n])
		newSum = rest + add(0, w.out[ip+addrs:ip+addrs+n])
	}
	captured := min(end, len(w.in))
	right := ^fold(add(newSum, w.out[off:captured]))
	if proto == udp && right == 0 {
		right = 0xffff
	}
	if captured == end && !fragment && fold(add(oldSum, w.in[off:end])) != 0xffff {
		right = wrong(right)
	}
	binary.BigEndian.PutUint16(w.out[off+at:], right)
}

// around finds the IP header that layer i is behind, where the packet ends, and
// whether it is a fragment.
func (w *work) around(i int) (ip, end int, fragment, ok bool) {
	layers := w.p.Layers()
	for j := i - 1; j >= 0; j-- {
		off := int(layers[j].Off)
		h := w.in[off:]
		switch layers[j].Kind {
		case decode.LayerIPv6Ext:
			// A fragment's header is 8 bytes like others: that it is one, the
			// header before it says.
			const nextFragment = 44
			before := layers[j-1]
			next := w.in[before.Off]
			if before.Kind == decode.LayerIPv6 {
				next = w.in[before.Off+6]
			}
			fragment = fragment || next == nextFragment && be16(h[2:])&0xfff9 != 0
			continue
		case decode.LayerIPv4:
			end = off + int(be16(h[2:]))
			fragment = be16(h[6:])&0x3fff != 0
		case decode.LayerIPv6:
			if end = off; be16(h[4:]) != 0 {
				end += 40 + int(be16(h[4:]))
			}
		default:
			return 0, 0, false, false
		}
		if end == off { // segmentation offload: as long as it is
			end = len(w.in)
		}
		return off, end, fragment, true
	}
	return 0, 0, false, false
}

// add adds bytes up as words of 16 bits.
func add(sum uint64, b []byte) uint64 {
	for ; len(b) >= 8; b = b[8:] {
		v := be64(b)
		sum += v>>32 + v&0xffffffff
	}
	if len(b) >= 4 {
		sum += uint64(be32(b))
		b = b[4:]
	}
	if len(b) >= 2 {
		sum += uint64(be16(b))
		b = b[2:]
	}
	if len(b) == 1 {
		sum += uint64(b[0]) << 8
	}
	return sum
}

// fold is a sum in ones' complement.
func fold(sum uint64) uint16 {
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return uint16(sum)
}

// wrong is a checksum that is not right, and not 0, which has a meaning of its
// own.
func wrong(right uint16) uint16 {
	const pattern = 0x5555
	if right == pattern {
		return 2 * pattern
	}
	return right ^ pattern
}

package decode

const (
	portVXLAN      = 4789
	portVXLANLinux = 8472 // Linux before the port was assigned, and still its default
	portVXLANGPE   = 4790
	portGeneve     = 6081
)

// Protocol types of GRE.
const (
	greERSPAN  = 0x88be // types I and II
	greERSPAN3 = 0x22eb
)

// gre decodes GRE (RFC 2784, RFC 2890), and NVGRE (RFC 7637).
//
//	+-+-+-+-+-----------------+-----+-------------------------------+
//	|C|R|K|S|    reserved     | ver |         protocol type         |
//	+-+-+-+-+-----------------+-----+-------------------------------+
//	|  checksum (C or R)            |  offset (C or R)              |
//	+-------------------------------+-------------------------------+
//	|  key (K)                                                      |
//	+---------------------------------------------------------------+
//	|  sequence number (S)                                          |
//	+---------------------------------------------------------------+
func (d *Decoder) gre(p *Packet) {
	p.Kind = KindOther
	if !p.need(4, LayerGRE) {
		return
	}
	b := p.Data[p.off:]
	flags, proto := be16(b), be16(b[2:])
	const checksum, routing, key, sequence, version = 0x8000, 0x4000, 0x2000, 0x1000, 7
	if flags&(routing|version) != 0 { // source routes; version 1 is PPTP
		p.unknown(LayerGRE, uint32(flags))
		return
	}
	n := 4
	if flags&checksum != 0 {
		n += 4
	}
	keyOff := n
	if flags&key != 0 {
		n += 4
	}
	seqOff := n
	if flags&sequence != 0 {
		n += 4
	}
	if !p.need(n, LayerGRE) {
		return
	}
	p.push(LayerGRE, n)
	b = b[:n]
	if proto == greERSPAN || proto == greERSPAN3 {
		p.ERSPAN = ERSPAN{Src: p.Src, Dst: p.Dst, AddrKind: p.AddrKind}
		if flags&sequence != 0 {
			p.ERSPAN.HasSeq = true
			p.ERSPAN.Sequence = be32(b[seqOff:])
		}
		d.erspan(p, proto)
		return
	}
	if !p.enter(EncapGRE, LayerGRE) {
		return
	}
	if proto == etherTEB && flags&key != 0 {
		p.Encap |= EncapNVGRE
		p.VNI = be32(b[keyOff:]) >> 8
	}
	d.tunnelled(p, proto)
}

// tunnelled decodes what a tunnel with an ethertype carries.
func (d *Decoder) tunnelled(p *Packet, proto uint16) {
	if proto == etherTEB {
		d.ethernet(p)
		return
	}
	d.etherType(p, proto)
}

// erspan decodes a mirror's header and the mirrored frame (draft-foschiano-erspan).
//
// Type I has no header of its own. Type II:
//
//	+-------+-----------------------+-----+---+-+-------------------+
//	| ver=1 |       VLAN (12)       | COS |en |T|  session (10)     |
//	+-------+---------------+-------+-----+---+-+-------------------+
//	|     reserved (12)     |               index (20)              |
//	+-----------------------+---------------------------------------+
//
// Type III:
//
//	+-------+-----------------------+-----+---+-+-------------------+
//	| ver=2 |       VLAN (12)       | COS |BSO|T|  session (10)     |
//	+-------+-----------------------+-----+---+-+-------------------+
//	|                         time stamp                            |
//	+-------------------------------+-+---------+-----------+-+---+-+
//	|             SGT (16)          |P| type (5)| hw id (6) |D|gra|O|
//	+-------------------------------+-+---------+-----------+-+---+-+
//	|   platform specific sub-header (8), if O                      |
//	+---------------------------------------------------------------+
func (d *Decoder) erspan(p *Packet, proto uint16) {
	e := &p.ERSPAN
	if proto == greERSPAN && !e.HasSeq {
		e.Version = 1
		if p.enter(EncapERSPAN1, LayerERSPAN1) {
			p.push(LayerERSPAN1, 0)
			d.ethernet(p)
		}
		return
	}
	const len2, len3, sub = 8, 12, 8
	l := LayerERSPAN2
	if p.off < p.avail && p.Data[p.off]>>4 == 2 {
		l = LayerERSPAN3
	}
	if !p.need(len2, l) {
		return
	}
	b := p.Data[p.off:]
	w0, w1 := be16(b), be16(b[2:])
	e.VLAN = w0 & 0xfff
	e.COS = uint8(w1 >> 13)
	e.Encap = uint8(w1 >> 11 & 3)
	e.Truncated = w1&0x0400 != 0
	e.Session = w1 & 0x3ff
	switch version := w0 >> 12; version {
	case 1:
		e.Version = 2
		e.Index = be32(b[4:]) & 0xfffff
		if !p.enter(EncapERSPAN2, LayerERSPAN2) {
			return
		}
		p.push(LayerERSPAN2, len2)
	case 2:
		e.Version = 3
		if !p.need(len3, LayerERSPAN3) {
			return
		}
		e.Timestamp = be32(b[4:])
		e.SGT = be16(b[8:])
		w := be16(b[10:])
		e.FrameType = uint8(w >> 10 & 0x1f)
		e.HardwareID = uint8(w >> 4 & 0x3f)
		e.Direction = uint8(w >> 3 & 1)
		e.Granularity = uint8(w >> 1 & 3)
		if !p.enter(EncapERSPAN3, LayerERSPAN3) {
			return
		}
		p.push(LayerERSPAN3, len3)
		if w&1 != 0 {
			if !p.need(sub, LayerERSPAN3Sub) {
				return
			}
			p.push(LayerERSPAN3Sub, sub)
		}
	default:
		p.Encap |= EncapERSPAN2
		p.fail(ErrVersion, LayerERSPAN2, 1, uint32(version))
		p.data()
		return
	}
	if e.Truncated {
		p.Flags |= MirrorCut
	}
	const frameEthernet, frameIP = 0, 2
	switch e.FrameType {
	case frameEthernet:
		d.ethernet(p)
	case frameIP:
		d.rawIP(p)
	default:
		p.unknown(LayerERSPAN3, uint32(e.FrameType))
	}
}

// vxlan decodes VXLAN (RFC 7348) and its generic protocol extension
// (draft-ietf-nvo3-vxlan-gpe), which has a port of its own.
//
//	+-+-+-+-+-+-+-+-+-------------------------------+---------------+
//	|R|R|R|R|I|P|R|R|           reserved            | next (P only) |
//	+-+-+-+-+-+-+-+-+-----------------------------+-+---------------+
//	|      VXLAN network identifier (24)            |   reserved    |
//	+-----------------------------------------------+---------------+
//
// A packet to 4789 whose I bit is not set, or one to Linux's old port that has
// anything in the reserved fields, is taken for other UDP.
func (d *Decoder) vxlan(p *Packet) {
	const n = 8
	if !p.need(n, LayerVXLAN) {
		return
	}
	b := p.Data[p.off : p.off+n]
	plain := be32(b) == 0x08000000 && b[7] == 0
	if b[0]&8 == 0 || p.DstPort == portVXLANLinux && !plain {
		p.data()
		return
	}
	const nextIPv4, nextIPv6, nextEthernet, nextMPLS = 1, 2, 3, 5
	next := byte(nextEthernet)
	if p.DstPort == portVXLANGPE && b[0]&4 != 0 {
		next = b[3]
	}
	p.VNI = be24(b[4:])
	if !p.enter(EncapVXLAN, LayerVXLAN) {
		return
	}
	p.push(LayerVXLAN, n)
	switch next {
	case nextEthernet:
		d.ethernet(p)
	case nextIPv4, nextIPv6:
		d.rawIP(p)
	case nextMPLS:
		d.mpls(p)
	default:
		p.unknown(LayerVXLAN, uint32(next))
	}
}

// geneve decodes Geneve (RFC 8926).
//
//	+---+-----------+-+-+-----------+-------------------------------+
//	|ver|opt length |O|C| reserved  |         protocol type         |
//	+---+-----------+-+-+-----------+---------------+---------------+
//	|     virtual network identifier (24)           |   reserved    |
//	+-----------------------------------------------+---------------+
//	|      options, opt length * 4 bytes                            |
//	+---------------------------------------------------------------+
func (d *Decoder) geneve(p *Packet) {
	if !p.need(8, LayerGeneve) {
		return
	}
	b := p.Data[p.off:]
	if b[0]>>6 != 0 {
		p.data()
		return
	}
	n := 8 + 4*int(b[0]&0x3f)
	proto := be16(b[2:])
	p.VNI = be24(b[4:])
	if !p.enter(EncapGeneve, LayerGeneve) || !p.need(n, LayerGeneve) {
		return
	}
	p.push(LayerGeneve, n)
	d.tunnelled(p, proto)
}

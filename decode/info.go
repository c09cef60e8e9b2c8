package decode

import (
	"math/bits"
	"strconv"
)

// Protocol is the name in the protocol column of a packet list.
func Protocol(p *Packet) string {
	if p.Kind == KindIBRaw {
		return KindIB.String()
	}
	return p.Kind.String()
}

// AppendSrc appends where the packet came from: an IP address, a GID, a LID,
// or for frames without any of these a MAC address.
func (p *Packet) AppendSrc(dst []byte) []byte { return p.appendEndpoint(dst, p.Src, p.SrcMAC) }

// AppendDst appends where the packet goes to.
func (p *Packet) AppendDst(dst []byte) []byte { return p.appendEndpoint(dst, p.Dst, p.DstMAC) }

func (p *Packet) appendEndpoint(dst []byte, a Addr, m MAC) []byte {
	if p.AddrKind != AddrNone {
		return a.Append(dst, p.AddrKind)
	}
	if p.SrcMAC == (MAC{}) && p.DstMAC == (MAC{}) {
		return append(dst, '-')
	}
	return m.Append(dst)
}

// AppendInfo appends what a packet list says of the packet: one line, the most
// telling first, what is wrong with it last in brackets.
func AppendInfo(dst []byte, p *Packet) []byte {
	switch {
	case p.RoCE() && p.Has&HasBTH != 0:
		dst = appendBTH(dst, p)
	case p.RoCE():
		dst = append(dst, "cut off before its transport header"...)
	default:
		dst = appendOther(dst, p)
	}
	dst = appendEncap(dst, p)
	return appendComplaints(dst, p)
}

func appendBTH(dst []byte, p *Packet) []byte {
	switch {
	case p.Opcode == OpCNP:
		dst = append(dst, "CNP: slow down"...)
	case p.Opcode&0x1f == OpRCAcknowledge && p.Has&HasAETH != 0:
		dst = append(dst, p.Opcode.Service().String()...)
		dst = p.Syndrome.Append(append(dst, ' '))
	default:
		dst = append(dst, p.Opcode.Text()...)
		if p.Has&HasAETH != 0 && p.Syndrome.Type() != Ack {
			dst = p.Syndrome.Append(append(dst, ", "...))
		}
	}
	dst = appendQP(append(dst, " QP "...), p.DestQP)
	dst = appendUint(append(dst, " PSN "...), uint64(p.PSN))
	for _, f := range [...]struct {
		bit  BTHFlags
		name string
	}{{Solicited, " SE"}, {AckReq, " A"}, {FECN, " FECN"}, {BECN, " BECN"}} {
		if p.BTHFlags&f.bit != 0 {
			dst = append(dst, f.name...)
		}
	}
	if p.Has&HasAETH != 0 {
		dst = appendUint(append(dst, " MSN "...), uint64(p.MSN))
	}
	if p.Has&HasDETH != 0 {
		dst = appendQP(append(dst, " from QP "...), p.SrcQP)
	}
	if p.Has&HasXRCETH != 0 {
		dst = appendQP(append(dst, " SRQ "...), p.XRCSRQ)
	}
	if p.Has&HasRETH != 0 {
		dst = appendHex(append(dst, " VA "...), p.VA, 0)
		dst = appendHex(append(dst, " R_Key "...), uint64(p.RKey), 8)
		dst = appendUint(append(dst, " length "...), uint64(p.DMALen))
	}
	if p.Has&HasAtomicETH != 0 {
		dst = appendHex(append(dst, " VA "...), p.VA, 0)
		dst = appendHex(append(dst, " R_Key "...), uint64(p.RKey), 8)
	}
	if p.Has&HasImmDt != 0 {
		dst = appendHex(append(dst, " Imm "...), uint64(p.ImmData), 8)
	}
	if p.Has&HasIETH != 0 {
		dst = appendHex(append(dst, " invalidates "...), uint64(p.InvalidKey), 8)
	}
	if p.Has&HasMAD != 0 {
		dst = append(append(dst, ' '), p.MAD.ClassName()...)
		dst = append(append(dst, ' '), p.MAD.AttributeName()...)
	}
	if p.Flags&CarriesIPoIB != 0 {
		dst = append(dst, " IP over InfiniBand"...)
	}
	if p.PayloadLen != 0 {
		dst = appendUint(append(dst, " payload "...), uint64(p.PayloadLen))
	}
	if p.ECN() == 3 {
		dst = append(dst, " CE"...)
	}
	return dst
}

func appendOther(dst []byte, p *Packet) []byte {
	switch p.Kind {
	case KindPFC:
		for i, q := range p.Pause.Quanta {
			if p.Pause.Enable>>i&1 == 0 {
				continue
			}
			dst = appendUint(append(dst, "priority "...), uint64(i))
			dst = append(appendQuanta(append(dst, ' '), q), ", "...)
		}
		if p.Pause.Enable == 0 {
			return append(dst, "no priority"...)
		}
		return dst[:len(dst)-2]
	case KindPause:
		return appendQuanta(append(dst, "all traffic "...), p.Pause.Quanta[0])
	case KindMACControl:
		return appendHex(append(dst, "opcode "...), uint64(p.Pause.Opcode), 4)
	case KindTCP, KindUDP, KindIWARP:
		if p.cut.Len < 4 && (p.cut.Kind == LayerTCP || p.cut.Kind == LayerUDP) || p.cut.Len == 0 && p.Err.Code == ErrTruncated && p.SrcPort|p.DstPort == 0 {
			return append(dst, "cut off before its ports"...)
		}
		dst = appendUint(dst, uint64(p.SrcPort))
		dst = appendUint(append(dst, " → "...), uint64(p.DstPort))
		if p.Kind == KindIWARP {
			dst = append(dst, " RDMA over TCP, not RoCE"...)
		}
		return dst
	case KindICMP:
		l, ok := p.Layer(LayerICMP)
		if !ok {
			l, ok = p.Layer(LayerICMPv6)
		}
		if k := p.cut.Kind; (k == LayerICMP || k == LayerICMPv6) && p.cut.Len >= 2 {
			l, ok = p.cut, true
		}
		if ok {
			dst = appendUint(append(dst, "type "...), uint64(p.Data[l.Off]))
			dst = appendUint(append(dst, " code "...), uint64(p.Data[l.Off+1]))
		}
		if p.Flags&QuotesRoCE != 0 {
			dst = append(dst, ", quotes a RoCEv2 packet"...)
		}
		return dst
	case KindFragment:
		return appendUint(append(dst, "protocol "...), uint64(p.IPProto))
	case KindOther:
		if p.AddrKind == AddrIPv4 || p.AddrKind == AddrIPv6 {
			return appendUint(append(dst, "IP protocol "...), uint64(p.IPProto))
		}
		return appendHex(append(dst, "ethertype "...), uint64(p.EtherType), 4)
	case KindUnknownLink:
		return append(dst, p.Frame.Link.String()...)
	}
	return dst
}

func appendQuanta(dst []byte, q uint16) []byte {
	if q == 0 {
		return append(dst, "may go on"...)
	}
	return append(appendUint(append(dst, "stops for "...), uint64(q)), " quanta"...)
}

// appendEncap names what the packet is inside of, from the outside in.
func appendEncap(dst []byte, p *Packet) []byte {
	if p.Encap == 0 {
		return dst
	}
	sep := " in "
	say := func(name string) {
		dst = append(append(dst, sep...), name...)
		sep = ", "
	}
	labels, ip := false, false
	for _, l := range p.Layers() {
		b := p.Bytes(l)
		switch l.Kind {
		case LayerVLAN, LayerSTag:
			say("vlan ")
			dst = appendUint(dst, uint64(be16(b)&0xfff))
		case LayerMPLS:
			if !labels { // the outermost of a stack
				say("mpls ")
				dst = appendUint(dst, uint64(be32(b)>>12))
			}
			labels, ip = true, false
			continue
		case LayerVNTag, LayerTTag, LayerCMD, LayerAVSP:
			say(tagNames[l.Kind])
		case LayerVXLAN, LayerGeneve:
			say(tagNames[l.Kind])
			dst = appendUint(dst, uint64(be24(b[4:])))
		case LayerGRE:
			switch proto := be16(b[2:]); {
			case proto == greERSPAN || proto == greERSPAN3:
			case proto == etherTEB && b[0]&0x20 != 0:
				say("nvgre ")
				dst = appendUint(dst, uint64(be32(b[4+4*int(b[0]>>7):])>>8))
			default:
				say("gre")
			}
		case LayerERSPAN1:
			say("erspan1")
		case LayerERSPAN2, LayerERSPAN3:
			say(tagNames[l.Kind])
			dst = appendUint(dst, uint64(be16(b[2:])&0x3ff))
		case LayerIPv4, LayerIPv6:
			if ip { // directly inside another
				say("ipip")
			}
			labels, ip = false, true
			continue
		}
		labels, ip = false, false
	}
	return dst
}

// tagNames are how a list names what a packet is inside of; a number follows
// where there is a blank.
var tagNames = [numLayerKinds]string{
	LayerVNTag: "vntag", LayerTTag: "ttag", LayerCMD: "cmd", LayerAVSP: "avsp", LayerVXLAN: "vxlan ", LayerGeneve: "geneve ",
	LayerERSPAN2: "erspan2 session ", LayerERSPAN3: "erspan3 session ",
}

func appendComplaints(dst []byte, p *Packet) []byte {
	if p.ICRCStatus == ICRCBad {
		dst = appendHex(append(dst, " [ICRC "...), uint64(p.ICRC), 8)
		dst = append(appendHex(append(dst, " is wrong, expected "...), uint64(p.ICRCExpected), 8), ']')
	}
	if p.ICRCStatus == ICRCUnverifiable && p.ICRCReason != ICRCReasonTruncated {
		dst = append(append(append(dst, " [ICRC can't be checked: "...), p.ICRCReason.String()...), ']')
	}
	if p.PayloadLen > 0 && p.Opcode.Known() && !p.Opcode.MayCarryPayload() {
		dst = append(dst, " [payload where none belongs]"...)
	}
	if p.VCRCStatus == ICRCBad {
		dst = append(dst, " [VCRC is wrong]"...)
	}
	if p.Flags&CNPBodyNotZero != 0 {
		dst = append(dst, " [reserved bytes of the CNP are not zero]"...)
	}
	if p.Flags&LengthsDiffer != 0 && p.RoCE() && !p.Malformed() {
		dst = append(dst, " [UDP's length is not what IP leaves for it]"...)
	}
	if p.Malformed() {
		dst = append(append(append(dst, " [malformed: "...), p.Err.Error()...), ']')
	}
	switch {
	case p.Flags&MirrorCut != 0:
		dst = append(dst, " [cut by the mirror]"...)
	case p.Flags&Snapped != 0:
		dst = append(dst, " [cut by the capture]"...)
	}
	return dst
}

func appendUint(dst []byte, v uint64) []byte { return strconv.AppendUint(dst, v, 10) }

// appendHex appends v as 0x and at least so many digits.
func appendHex(dst []byte, v uint64, digits int) []byte {
	dst = append(dst, "0x"...)
	for n := max(digits, 1, (bits.Len64(v)+3)/4) - 1; n >= 0; n-- {
		dst = append(dst, hexDigits[v>>(4*n)&15])
	}
	return dst
}

func appendQP(dst []byte, qp uint32) []byte { return appendHex(dst, uint64(qp), 6) }

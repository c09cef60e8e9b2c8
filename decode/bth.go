package decode

const (
	bthLen  = 12
	icrcLen = 4
)

// bth decodes the base transport header (InfiniBand Architecture
// Specification, volume 1, 9.2) and what follows it.
//
//	 0                   1                   2                   3
//	+---------------+-+-+---+-------+-------------------------------+
//	|    opcode     |S|M|pad| TVer  |             P_Key             |
//	+---------------+-+-+---+-------+-------------------------------+
//	|F|B| reserved  |          destination queue pair (24)          |
//	+-+-+-----------+-----------------------------------------------+
//	|A|  reserved   |         packet sequence number (24)           |
//	+-+-------------+-----------------------------------------------+
//
// S is the solicited event, M MigReq, F FECN, B BECN, A the request for an
// acknowledgement. Extended headers, payload, pad and ICRC follow; where they
// end, the IP or GRH length says.
func (d *Decoder) bth(p *Packet, kind Kind) {
	left := p.lim - p.off
	if left < bthLen+icrcLen { // no room for a packet: not RoCE, whatever the port says
		p.notIBA()
		p.fail(ErrShort, LayerBTH, bthLen+icrcLen, uint32(left))
		p.data()
		return
	}
	p.Kind = kind
	if !p.need(bthLen, LayerBTH) {
		p.icrcCutOff()
		return
	}
	start := p.off
	b := p.Data[start : start+bthLen]
	p.Has = HasBTH
	p.Opcode = Opcode(b[0])
	p.BTHFlags = BTHFlags(b[1]&0xc0 | b[4]&0xc0>>2 | b[8]&0x80>>4)
	p.PadCount = b[1] >> 4 & 3
	p.TVer = b[1] & 15
	p.PKey = be16(b[2:])
	p.DestQP = be32(b[4:]) & 0xffffff
	p.PSN = be32(b[8:]) & 0xffffff
	p.bthOff = uint32(start)

	end := p.lim - icrcLen
	p.icrcOff = uint32(end)
	switch {
	case p.Flags&Fragment != 0:
		p.ICRCStatus, p.ICRCReason = ICRCUnverifiable, ICRCReasonFragment
	case p.lim > p.avail:
		p.icrcCutOff()
	default:
		p.ICRC = be32(p.Data[end:])
		p.ICRCStatus = ICRCUnchecked
		if p.Flags&IPOptions != 0 {
			p.ICRCStatus, p.ICRCReason = ICRCUnverifiable, ICRCReasonOptions
		}
	}

	p.push(LayerBTH, bthLen)
	op := &opcodes[p.Opcode]
	if op.headers[0] == LayerNone || p.extended(op, end) {
		p.payload(end)
	} else if payload := end - start - bthLen - int(op.extLen) - int(p.PadCount); payload > 0 {
		p.PayloadLen = uint32(payload)
	}
	if p.lim <= p.avail { // also behind a header that does not fit: the ICRC's place does not hang on it
		p.note(LayerICRC, end, icrcLen)
	}
}

// icrcCutOff says that the ICRC can't be verified because bytes are missing.
func (p *Packet) icrcCutOff() {
	p.ICRCStatus, p.ICRCReason = ICRCUnverifiable, ICRCReasonTruncated
}

// payload notes payload and pad, which end where the ICRC begins.
func (p *Packet) payload(end int) {
	n := end - p.off - int(p.PadCount)
	if n < 0 {
		p.fail(ErrPad, LayerBTH, uint32(p.PadCount), uint32(end-p.off))
		return
	}
	p.PayloadLen = uint32(n)
	padOff := end - int(p.PadCount)
	if n > 0 && p.off < p.avail {
		if p.Opcode == OpUDSendOnly || p.Opcode == OpUDSendOnlyImm {
			p.datagram(n)
		}
		if p.cut.Len == 0 { // else all that is there of it is the header of a datagram
			p.note(LayerPayload, p.off, min(padOff, p.avail)-p.off)
		}
	}
	if p.PadCount != 0 && end <= p.avail {
		p.note(LayerPad, padOff, int(p.PadCount))
	}
}

// datagram recognises what a UD packet of n bytes payload carries: a
// management datagram on QP 0 and 1, or IP over InfiniBand (RFC 4391).
func (p *Packet) datagram(n int) {
	b := p.Data[p.off:p.avail]
	switch {
	case p.DestQP <= 1:
		if n >= madLen && p.need(madLen, LayerMAD) {
			p.mad(b)
		}
	case p.Kind == KindIB && n >= 4 && len(b) >= 4 && be16(b[2:]) == 0:
		switch be16(b) {
		case etherIPv4, etherIPv6, etherARP:
			p.Flags |= CarriesIPoIB
			p.push(LayerIPoIB, 4)
		}
	}
}

// extended decodes the extended headers (volume 1, 9.3), which end before end.
// It says whether all of them were there.
//
//	RDETH         reserved (1) | EE context (3)
//	DETH          Q_Key (4) | reserved (1) | source QP (3)
//	RETH          virtual address (8) | R_Key (4) | DMA length (4)
//	AtomicETH     virtual address (8) | R_Key (4) | swap or add (8) | compare (8)
//	AETH          syndrome (1) | MSN (3)
//	AtomicAckETH  original data (8)
//	ImmDt         immediate data (4)
//	IETH          R_Key to invalidate (4)
//	XRCETH        reserved (1) | XRC SRQ (3)
//	FETH          reserved | selectivity (2 bits) | placement (4 bits)
//
// FETH is laid out as the Linux kernel does it; Wireshark 4.4 takes the
// selectivity to be bits 4 and 3 and the placement bits 2 to 0.
func (p *Packet) extended(op *opInfo, end int) bool {
	for _, h := range op.headers {
		if h == LayerNone {
			break
		}
		n := int(headerLen[h])
		if p.off+n > end {
			p.fail(ErrShort, h, uint32(n), uint32(end-p.off))
			return false
		}
		if !p.need(n, h) {
			return false
		}
		b := p.Data[p.off : p.off+n]
		switch h {
		case LayerAETH:
			p.Has |= HasAETH
			p.Syndrome, p.MSN = Syndrome(b[0]), be32(b)&0xffffff
		case LayerRETH:
			p.Has |= HasRETH
			p.VA, p.RKey, p.DMALen = be64(b), be32(b[8:]), be32(b[12:])
		case LayerDETH:
			p.Has |= HasDETH
			p.QKey, p.SrcQP = be32(b), be32(b[4:])&0xffffff
		case LayerImmDt:
			p.Has |= HasImmDt
			p.ImmData = be32(b)
		case LayerIETH:
			p.Has |= HasIETH
			p.InvalidKey = be32(b)
		case LayerAtomicETH:
			p.Has |= HasAtomicETH
			p.VA, p.RKey, p.SwapAdd, p.Compare = be64(b), be32(b[8:]), be64(b[12:]), be64(b[20:])
		case LayerAtomicAckETH:
			p.Has |= HasAtomicAckETH
			p.AtomicOrig = be64(b)
		case LayerXRCETH:
			p.Has |= HasXRCETH
			p.XRCSRQ = be32(b) & 0xffffff
		case LayerRDETH:
			p.Has |= HasRDETH
			p.EEContext = be32(b) & 0xffffff
		case LayerFETH:
			p.Has |= HasFETH
			p.FlushSelect, p.FlushType = b[3]>>4&3, b[3]&15
		case LayerCNPReserved:
			if be64(b)|be64(b[8:]) != 0 {
				p.Flags |= CNPBodyNotZero
			}
		}
		p.push(h, n)
	}
	return true
}

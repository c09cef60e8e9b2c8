package decode

// Likeness is how much the bytes of a UDP packet look like RoCEv2.
type Likeness uint8

// The degrees of likeness.
const (
	NotRoCE    Likeness = iota
	LikeRoCE            // the fields of a BTH have values that are allowed, and nothing proves it
	ProvenRoCE          // its ICRC is right as well
)

// ProbeRoCE says whether a UDP packet that is not RoCEv2 by its port is so by
// its bytes. It leaves p as it was.
//
// Where a BTH would be, 17 bits must be zero and the opcode one of 89: of
// random packets one in 370,000 comes as far as the ICRC, so that it costs next
// to nothing on other traffic.
func (d *Decoder) ProbeRoCE(p *Packet) Likeness {
	start := int(p.l4Off) + udpLen
	if p.Kind != KindUDP || p.off != start || p.Flags&(Malformed|Fragment|IPOptions) != 0 {
		return NotRoCE
	}
	left := p.lim - start
	if left < bthLen+icrcLen || start+bthLen > p.avail {
		return NotRoCE
	}
	b := p.Data[start : start+bthLen]
	const version, reserved4, reserved8, pkey = 0x0f, 0x3f, 0x7f, 0x7fff
	if b[1]&version != 0 || b[4]&reserved4 != 0 || b[8]&reserved8 != 0 || be16(b[2:])&pkey == 0 {
		return NotRoCE
	}
	op, pad := &opcodes[b[0]], int(b[1]>>4&3)
	if op.name == "" || left < bthLen+int(op.extLen)+pad+icrcLen {
		return NotRoCE
	}
	if p.lim > p.avail {
		return LikeRoCE
	}
	saved := p.header
	p.bthOff, p.icrcOff = uint32(start), uint32(p.lim-icrcLen)
	p.ICRC, p.ICRCStatus = be32(p.Data[p.lim-icrcLen:]), ICRCUnchecked
	d.VerifyICRC(p)
	good := p.ICRCStatus == ICRCGood
	p.header = saved
	if good {
		return ProvenRoCE
	}
	return LikeRoCE
}

package decode

// MAC control opcodes.
const (
	macPause = 0x0001
	macPFC   = 0x0101
)

// macControl decodes MAC control frames: 802.3x PAUSE (IEEE 802.3 annex 31B)
// and priority-based flow control (annex 31D, formerly 802.1Qbb).
//
//	PAUSE  opcode 0x0001 (2) | time (2)
//	PFC    opcode 0x0101 (2) | class enable (2), bit n for priority n | eight times (16)
//
// Times are in quanta of 512 bit times; 0 resumes. Broken senders leave out
// the padding to 64 bytes: a PFC frame counts from 34 bytes up.
func (p *Packet) macControl() {
	p.Kind = KindMACControl
	if !p.need(2, LayerMACControl) {
		return
	}
	b := p.Data[p.off:p.avail]
	p.Pause.Opcode = be16(b)
	n := len(b)
	switch p.Pause.Opcode {
	case macPause:
		p.Kind = KindPause
		if n = 4; !p.need(n, LayerMACControl) {
			return
		}
		p.Pause.Enable = 1
		p.Pause.Quanta[0] = be16(b[2:])
	case macPFC:
		p.Kind = KindPFC
		if n = 4 + 2*len(p.Pause.Quanta); !p.need(n, LayerMACControl) {
			return
		}
		p.Pause.Enable = b[3]
		for i := range p.Pause.Quanta {
			p.Pause.Quanta[i] = be16(b[4+2*i:])
		}
	}
	p.push(LayerMACControl, n)
}

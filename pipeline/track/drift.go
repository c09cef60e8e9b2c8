package track

import "github.com/rocelens/rocelens/pipeline/record"

// flow.strange has three things in one byte, since a flow must not grow: how
// many packets of another service came in a row, the first packet's priority,
// and record.MigReq.
const (
	strangeBits  = 2
	strangeMask  = 1<<strangeBits - 1
	priorityMask = 15
	migReqShift  = 6
)

// priority is the first packet's, as Packet.priority.
func (f *flow) priority() uint8 { return f.strange >> strangeBits & priorityMask }

// seeMigReq notes MigReq of p, which is of f's service and intact.
func (f *flow) seeMigReq(p *Packet) {
	f.strange |= uint8(record.MigReqClear+record.MigReq(p.flags/migReq&1)) << migReqShift
}

// odd is what the packets of few flows have: a P_Key other than the default,
// another priority than the first one, or CNPs among them.
type odd struct {
	priorities [9]uint64 // by Packet.priority, other than the first packet's
	pkeys      [maxPKeys]pkeyCount
	cnps       []tosCount
}

// maxPKeys is how many P_Keys of a flow are told apart: it should have one.
const maxPKeys = 3

// pkeyCount counts packets with a P_Key, inverted as Packet.PKey is.
type pkeyCount struct {
	pkey    uint16
	packets uint64
}

func (f *flow) oddOnes() *odd {
	m := f.extra()
	if m.odd == nil {
		m.odd = new(odd)
	}
	return m.odd
}

// countOdd counts n times what is odd about a packet.
func (f *flow) countOdd(p *Packet, n uint64) {
	o := f.oddOnes()
	if p.priority() != f.priority() {
		o.priorities[min(p.priority(), 8)] += n
	}
	if p.PKey == 0 || p.Corrupt || isCNP(p.Opcode) {
		return
	}
	for i := range o.pkeys {
		if k := &o.pkeys[i]; k.pkey == p.PKey || k.pkey == 0 {
			k.pkey = p.PKey
			k.packets += n
			return
		}
	}
}

// countCNP counts a CNP among what its sender sent.
func (f *flow) countCNP(p *Packet) {
	o := f.oddOnes()
	o.cnps = countTOS(o.cnps, p.TOS, 1)
}

// oddities fills in what is odd about what f's sender sent, and of which
// priority it is.
func (f *flow) oddities(d *record.Direction) {
	var o odd
	if f.more != nil && f.more.odd != nil {
		o = *f.more.odd
	}
	d.MigReq = record.MigReq(f.strange >> migReqShift)
	o.priorities[f.priority()] = f.packets
	for p, n := range o.priorities {
		if p != int(f.priority()) {
			o.priorities[f.priority()] -= n
		}
	}
	for p, n := range o.priorities {
		switch {
		case n == 0:
		case p == 0:
			d.Priorities = append(d.Priorities, record.PriorityCount{Packets: n})
		default:
			d.Priorities = append(d.Priorities, record.PriorityCount{Tagged: true, Priority: uint8(p - 1), Packets: n})
		}
	}
	rest := f.packets - f.cnps()
	for _, c := range o.cnps {
		d.CNPDSCP = countDSCP(d.CNPDSCP, c.tos>>2, c.packets)
	}
	for _, k := range o.pkeys {
		if k.packets > 0 {
			d.PKeys = append(d.PKeys, record.PKeyCount{PKey: ^k.pkey, Packets: k.packets})
			rest -= min(rest, k.packets)
		}
	}
	if len(d.PKeys) > 0 && rest > 0 {
		d.PKeys = append(d.PKeys, record.PKeyCount{PKey: 0xffff, Packets: rest})
	}
}

func countDSCP(all []record.DSCPCount, dscp uint8, n uint64) []record.DSCPCount {
	for i := range all {
		if all[i].DSCP == dscp {
			all[i].Packets += n
			return all
		}
	}
	return append(all, record.DSCPCount{DSCP: dscp, Packets: n})
}

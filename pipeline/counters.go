package pipeline

import (
	"math/bits"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
)

// Counters are the totals over a set of packets. It is a plain value of some
// 110 kilobytes, without pointers: the zero value is ready, and two of them
// merge into what one would have counted, in whatever order.
type Counters struct {
	Packets uint64
	Bytes   uint64 // on the wire (Packet.WireLen)
	// First and Last are the earliest and the latest time stamp, in
	// nanoseconds since the epoch; valid where Packets is not 0. Captures are
	// not always in order of time.
	First, Last int64

	Kinds [256]uint64 // by decode.Kind

	RoCE      RoCE
	RoCEBytes uint64 // on the wire, of RoCE packets
	Opcodes   [256]uint64
	AETH      AETH
	ECN       [4]uint64 // RoCE packets with an IP header or GRH, by Packet.ECN
	Classes   ClassCounts
	OddPKeys  uint64 // RoCE packets with another P_Key than 0xffff
	MigReq    uint64 // RoCE packets with MigReq in the BTH
	ICRC      CRC
	VCRC      CRC // native InfiniBand only

	// Malformed packets have headers that contradict one another; Errors has
	// them by decode.ErrorCode.
	Malformed      uint64
	FirstMalformed record.FrameRef // valid where Malformed is not 0
	Errors         [256]uint64

	// Truncated frames were cut short; Snapped and MirrorCut say by whom, and
	// a frame can be both.
	Truncated uint64
	// HeadersCut counts truncated packets of which too little is left to tell
	// whether they are RoCE.
	HeadersCut uint64
	// Flags counts packets by the bit number of each decode.Flags.
	Flags [16]uint64
	// Encaps counts RoCE packets by the bit number of each decode.Encap, once
	// a packet.
	Encaps [32]uint64

	UnknownLinks LinkCounts

	Senders Senders    // packets whose ICRC was checked, by their source
	Ports   Ports      // UDP packets to other ports that look like RoCEv2
	Inner   InnerTypes // packets with the flag UnknownInner, by what is inside

	ICMPErrors ICMPErrors // packets with the flag QuotesRoCE
}

// RoCE splits the packets that are RoCE or native InfiniBand with a BTH.
type RoCE struct {
	V1, V2IPv4, V2IPv6, NativeIB uint64
}

// Total is the number of RoCE and InfiniBand packets.
func (r RoCE) Total() uint64 { return r.V1 + r.V2IPv4 + r.V2IPv6 + r.NativeIB }

// CRC is the state of the ICRCs or VCRCs of packets that have one.
type CRC struct {
	Good, Bad, Unverifiable uint64
	Unchecked               uint64          // could have been checked and was not
	Reasons                 [16]uint64      // Unverifiable by decode.ICRCReason
	FirstBad                record.FrameRef // valid where Bad is not 0
}

// AETH is what acknowledge headers say.
type AETH struct {
	// Acks counts the syndrome ACK on the opcode Acknowledge; the same on a
	// READ response or ATOMIC acknowledge is in ResponseAcks.
	Acks, ResponseAcks uint64
	RNRNaks            uint64
	Naks               [32]uint64 // by decode.NakCode
	Reserved           uint64     // a syndrome that means nothing
}

// earlier keeps the earlier of two frames; have says whether f is one.
func earlier(f *record.FrameRef, g record.FrameRef, have bool) {
	if !have || g.Before(*f) {
		*f = g
	}
}

func refOf(f *capture.Frame) record.FrameRef {
	return record.FrameRef{Time: f.Time, Input: f.Input, Number: f.Number, Offset: f.Offset}
}

// maxUnknownLinks is how many link types that are not decoded are told apart.
// A capture has one, or a handful.
const maxUnknownLinks = 8

// LinkCounts counts frames by link type: the maxUnknownLinks lowest numbers
// each on their own, all others together. Keeping the lowest, and not the ones
// that came first, makes the result independent of the order.
type LinkCounts struct {
	Link  [maxUnknownLinks]capture.LinkType // ascending, N of them
	Count [maxUnknownLinks]uint64
	N     int
	Other uint64
}

func (l *LinkCounts) add(link capture.LinkType, n uint64) {
	i := 0
	for i < l.N && l.Link[i] < link {
		i++
	}
	switch {
	case i < l.N && l.Link[i] == link:
		l.Count[i] += n
		return
	case i == maxUnknownLinks:
		l.Other += n
		return
	case l.N == maxUnknownLinks: // the highest gives way
		l.Other += l.Count[l.N-1]
	default:
		l.N++
	}
	copy(l.Link[i+1:l.N], l.Link[i:])
	copy(l.Count[i+1:l.N], l.Count[i:])
	l.Link[i], l.Count[i] = link, n
}

// Kind is the number of packets of a kind.
func (c *Counters) Kind(k decode.Kind) uint64 { return c.Kinds[k] }

// Encap is the number of RoCE packets inside an encapsulation; e has one bit.
func (c *Counters) Encap(e decode.Encap) uint64 { return c.Encaps[bits.TrailingZeros32(uint32(e))&31] }

// Flag is the number of packets with a flag; f has one bit.
func (c *Counters) Flag(f decode.Flags) uint64 { return c.Flags[bits.TrailingZeros16(uint16(f))&15] }

// Add counts one packet. It does not allocate and keeps nothing of p.
func (c *Counters) Add(p *decode.Packet) {
	c.add(p)
	if checked(p.ICRCStatus) {
		c.Senders.count(senderKey{p.Src, p.AddrKind}, p.ICRCStatus == decode.ICRCGood, p.ICRC, refOf(p.Frame))
	}
}

// checked says that it is known whether an ICRC is right.
func checked(s decode.ICRCStatus) bool { return s == decode.ICRCGood || s == decode.ICRCBad }

// add counts a packet everywhere but in Senders.
func (c *Counters) add(p *decode.Packet) {
	f := p.Frame
	if c.Packets == 0 {
		c.First, c.Last = f.Time, f.Time
	}
	c.Packets++
	c.Bytes += uint64(p.WireLen)
	c.First, c.Last = min(c.First, f.Time), max(c.Last, f.Time)
	c.Kinds[p.Kind]++

	if p.Flags != 0 {
		c.addFlags(p)
	}
	switch {
	case p.RoCE():
		c.addRoCE(p)
	case p.Kind == decode.KindUnknownLink:
		c.UnknownLinks.add(f.Link, 1)
	}
	c.ICRC.add(p.ICRCStatus, p.ICRCReason, f)
	if p.VCRCStatus != decode.ICRCNone {
		c.VCRC.add(p.VCRCStatus, p.ICRCReason, f)
	}
}

func (c *Counters) addFlags(p *decode.Packet) {
	if p.Flags == decode.Snapped && p.RoCE() { // as all packets are that are cut behind their headers
		c.Flags[bits.TrailingZeros16(uint16(decode.Snapped))]++
		c.Truncated++
		return
	}
	for m := uint16(p.Flags); m != 0; m &= m - 1 {
		c.Flags[bits.TrailingZeros16(m)]++
	}
	if p.Truncated() {
		c.Truncated++
		if p.Err.Code == decode.ErrTruncated && (p.Kind == decode.KindOther || p.Kind == decode.KindUDP) {
			c.HeadersCut++
		}
	}
	if p.Flags&decode.UnknownInner != 0 {
		c.Inner.count(p)
	}
	if p.Flags&decode.QuotesRoCE != 0 {
		c.ICMPErrors.count(p)
	}
	if p.Malformed() {
		earlier(&c.FirstMalformed, refOf(p.Frame), c.Malformed > 0)
		c.Malformed++
		c.Errors[p.Err.Code]++
	}
}

func (c *Counters) addRoCE(p *decode.Packet) {
	c.RoCEBytes += uint64(p.WireLen)
	switch {
	case p.Kind == decode.KindRoCEv1:
		c.RoCE.V1++
	case p.Kind == decode.KindIB:
		c.RoCE.NativeIB++
	case p.AddrKind == decode.AddrIPv6:
		c.RoCE.V2IPv6++
	default:
		c.RoCE.V2IPv4++
	}
	for m := uint32(p.Encap); m != 0; m &= m - 1 {
		c.Encaps[bits.TrailingZeros32(m)]++
	}
	if p.AddrKind != decode.AddrNone && p.AddrKind != decode.AddrLID {
		c.ECN[p.ECN()]++
		c.Classes.add(p)
	}
	if p.Has&decode.HasBTH != 0 {
		c.Opcodes[p.Opcode]++
		if p.PKey != 0xffff {
			c.OddPKeys++
		}
		if p.BTHFlags&decode.MigReq != 0 {
			c.MigReq++
		}
	}
	if p.Has&decode.HasAETH != 0 {
		c.AETH.add(p.Opcode, p.Syndrome)
	}
}

// acknowledge is the lower five bits of the opcode Acknowledge, which is the
// same in every service that has it.
const acknowledge = uint8(decode.OpRCAcknowledge) & 0x1f

func (a *AETH) add(op decode.Opcode, s decode.Syndrome) {
	switch s.Type() {
	case decode.Ack:
		if uint8(op)&0x1f == acknowledge {
			a.Acks++
		} else {
			a.ResponseAcks++
		}
	case decode.RNRNak:
		a.RNRNaks++
	case decode.Nak:
		a.Naks[s.Code()&31]++
	default:
		a.Reserved++
	}
}

func (c *CRC) add(s decode.ICRCStatus, why decode.ICRCReason, f *capture.Frame) {
	switch s {
	case decode.ICRCGood:
		c.Good++
	case decode.ICRCBad:
		earlier(&c.FirstBad, refOf(f), c.Bad > 0)
		c.Bad++
	case decode.ICRCUnverifiable:
		c.Unverifiable++
		c.Reasons[why&15]++
	case decode.ICRCUnchecked:
		c.Unchecked++
	}
}

// AddProbe counts what Decoder.ProbeRoCE said of a packet.
func (c *Counters) AddProbe(p *decode.Packet, l decode.Likeness) {
	if l != decode.NotRoCE {
		c.Ports.count(p, l)
	}
}

// Merge adds what o counted. The result is what one Counters would hold that
// had seen the packets of both, whichever is merged into which.
func (c *Counters) Merge(o *Counters) {
	if o.Packets == 0 {
		return
	}
	if c.Packets == 0 {
		c.First, c.Last = o.First, o.Last
	}
	c.First, c.Last = min(c.First, o.First), max(c.Last, o.Last)
	if o.Malformed > 0 {
		earlier(&c.FirstMalformed, o.FirstMalformed, c.Malformed > 0)
	}
	c.Packets += o.Packets
	c.Bytes += o.Bytes
	c.RoCE.V1 += o.RoCE.V1
	c.RoCE.V2IPv4 += o.RoCE.V2IPv4
	c.RoCE.V2IPv6 += o.RoCE.V2IPv6
	c.RoCE.NativeIB += o.RoCE.NativeIB
	c.RoCEBytes += o.RoCEBytes
	c.Malformed += o.Malformed
	c.Truncated += o.Truncated
	c.HeadersCut += o.HeadersCut
	c.AETH.Acks += o.AETH.Acks
	c.AETH.ResponseAcks += o.AETH.ResponseAcks
	c.AETH.RNRNaks += o.AETH.RNRNaks
	c.AETH.Reserved += o.AETH.Reserved
	addAll(c.AETH.Naks[:], o.AETH.Naks[:])
	addAll(c.ECN[:], o.ECN[:])
	c.Classes.merge(&o.Classes)
	c.OddPKeys += o.OddPKeys
	c.MigReq += o.MigReq
	addAll(c.Kinds[:], o.Kinds[:])
	addAll(c.Opcodes[:], o.Opcodes[:])
	addAll(c.Errors[:], o.Errors[:])
	addAll(c.Flags[:], o.Flags[:])
	addAll(c.Encaps[:], o.Encaps[:])
	c.ICRC.merge(&o.ICRC)
	c.VCRC.merge(&o.VCRC)
	for i := range o.UnknownLinks.N {
		c.UnknownLinks.add(o.UnknownLinks.Link[i], o.UnknownLinks.Count[i])
	}
	c.UnknownLinks.Other += o.UnknownLinks.Other
	c.Senders.merge(&o.Senders)
	c.Ports.merge(&o.Ports)
	c.Inner.merge(&o.Inner)
	c.ICMPErrors.merge(&o.ICMPErrors)
}

func (c *CRC) merge(o *CRC) {
	if o.Bad > 0 {
		earlier(&c.FirstBad, o.FirstBad, c.Bad > 0)
	}
	c.Good += o.Good
	c.Bad += o.Bad
	c.Unverifiable += o.Unverifiable
	c.Unchecked += o.Unchecked
	addAll(c.Reasons[:], o.Reasons[:])
}

func addAll(dst, src []uint64) {
	for i, n := range src {
		dst[i] += n
	}
}

package capture

import "encoding/binary"

// ERF files (Endace, ERF Types Reference Guide EDM11-01): records and nothing
// else, so that the format can be told only by its records' making sense. The
// time stamp is little-endian, everything else big-endian.
//
//	                       1                   2                   3
//	   0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//	  +---------------------------------------------------------------+
//	0 |            time stamp: fraction of a second, 2^-32            |
//	4 |                      time stamp: seconds                      |
//	  +-+-------------+-----------+---+-------------------------------+
//	8 |E|    type     |   flags   |prt| rlen: bytes of the whole record|
//	  +-+-------------+-----------+---+-------------------------------+
//	12|  lctr: frames lost, or colour |  wlen: bytes on the wire      |
//	  +-------------------------------+-------------------------------+
//	16/  E set: extension headers of 8 bytes, the first bit of each   /
//	  /  says whether another follows                                 /
//	  +---------------------------------------------------------------+
//	  /  Ethernet: 2 bytes of padding; multi-channel types: 4 of header/
//	  /  the frame, then padding to 8 bytes                           /
//	  +---------------------------------------------------------------+
const (
	erfHeader    = 16
	erfExtension = 0x80
	erfTypeMask  = 0x7f
	erfPortMask  = 0x03
	erfVarying   = 0x04 // rlen is as long as the frame needs, no fixed slot

	erfMeta = 27
	erfPad  = 48
)

// erfType is what must be known of a record type to walk over it.
type erfType struct {
	known bool
	loss  bool // lctr counts lost frames
	pre   int  // bytes between the headers and the frame
}

var erfTypes = [erfTypeMask + 1]erfType{
	1:       {known: true, loss: true},         // HDLC_POS
	2:       {known: true, loss: true, pre: 2}, // ETH
	3:       {known: true, loss: true},         // ATM
	4:       {known: true, loss: true},         // AAL5
	5:       {known: true, loss: true, pre: 4}, // MC_HDLC
	6:       {known: true, loss: true, pre: 4}, // MC_RAW
	7:       {known: true, loss: true, pre: 4}, // MC_ATM
	8:       {known: true, loss: true, pre: 4}, // MC_RAW_CHANNEL
	9:       {known: true, loss: true, pre: 4}, // MC_AAL5
	10:      {known: true},                     // COLOR_HDLC_POS
	11:      {known: true, pre: 2},             // COLOR_ETH
	12:      {known: true, loss: true, pre: 4}, // MC_AAL2
	13:      {known: true},                     // IP_COUNTER
	14:      {known: true},                     // TCP_FLOW_COUNTER
	15:      {known: true},                     // DSM_COLOR_HDLC_POS
	16:      {known: true, pre: 2},             // DSM_COLOR_ETH
	17:      {known: true, pre: 4},             // COLOR_MC_HDLC_POS
	18:      {known: true, loss: true, pre: 4}, // AAL2
	19:      {known: true},                     // COLOR_HASH_POS
	20:      {known: true, pre: 2},             // COLOR_HASH_ETH
	21:      {known: true, loss: true},         // INFINIBAND
	22:      {known: true, loss: true},         // IPV4
	23:      {known: true, loss: true},         // IPV6
	24:      {known: true, loss: true},         // RAW_LINK
	25:      {known: true, loss: true},         // INFINIBAND_LINK
	28:      {known: true, loss: true},         // OPA_SNC
	29:      {known: true, loss: true},         // OPA_9B
	erfMeta: {known: true},
	erfPad:  {known: true},
}

type erfParser struct {
	ports  [erfPortMask + 1]int32 // 1 + index of the port's interface, 0 unseen
	seen   []uint8                // ports in the order of their interfaces
	lost   uint64
	counts bool // some record counts lost frames
}

func (p *erfParser) describe(in *Input) {
	in.Interfaces = make([]Interface, len(p.seen))
	for i, port := range p.seen {
		in.Interfaces[i] = Interface{
			Link: LinkERF, FCSLen: -1, Name: "port " + string('0'+rune(port)),
			TSResol: 0x80 | 32,
		}
	}
	if p.counts {
		lost := p.lost
		in.Drops = &lost
	}
}

func (p *erfParser) parse(buf []byte, f *feed) {
	for f.count < len(f.frames) {
		rest := buf[f.used:]
		if len(rest) < erfHeader {
			f.need = erfHeader
			return
		}
		size := int(binary.BigEndian.Uint16(rest[10:]))
		if size < erfHeader {
			f.damage("an ERF record of ", size, " bytes is shorter than its header")
			return
		}
		if len(rest) < size {
			f.need = size
			return
		}
		if kind := rest[8] & erfTypeMask; kind != erfPad && kind != erfMeta {
			p.frame(rest[:size:size], kind, f)
		}
		f.used += size
	}
}

// frame hands out a record as a frame of link type ERF: headers and all, as in
// a pcap file of that type, without the padding at the record's end.
func (p *erfParser) frame(record []byte, kind byte, f *feed) {
	port := record[9] & erfPortMask
	if p.ports[port] == 0 {
		p.seen = append(p.seen, port)
		p.ports[port] = int32(len(p.seen))
	}
	info := &erfTypes[kind]
	if info.loss {
		p.counts = true
		p.lost = addSaturating(p.lost, uint64(binary.BigEndian.Uint16(record[12:])))
	}
	orig := len(record)
	if wire := int(binary.BigEndian.Uint16(record[14:])); wire != 0 {
		orig = min(erfHeaders(record), len(record)) + info.pre + wire
	}
	fr := &f.frames[f.count]
	captured := min(orig, len(record))
	fr.Data = record[:captured:captured]
	fr.Time = erfTime(binary.LittleEndian.Uint64(record))
	fr.Number = f.number + uint64(f.count) + 1
	fr.Offset = f.base + int64(f.used)
	fr.OrigLen = uint32(orig)
	fr.Input = f.input
	fr.Interface = p.ports[port] - 1
	fr.Link = LinkERF
	fr.FCSLen = -1
	fr.options = nil
	f.count++
}

// erfHeaders is how many bytes a record's header and extension headers take; it
// is more than len(record) where the chain runs out of the record.
func erfHeaders(record []byte) int {
	n := erfHeader
	for more := record[8]&erfExtension != 0; more; n += 8 {
		if n >= len(record) {
			return n + 8
		}
		more = record[n]&0x80 != 0
	}
	return n
}

// Bounds of the guess whether bytes are ERF records.
const (
	// erfProbe records that make sense in a row leave no doubt: two random
	// ones do so once in some 10^9 times.
	erfProbe = 4
	// Time stamps may step back by a day and forth by a year, and must lie
	// after 1990, when there was no ERF yet.
	erfEarliest = 631_152_000
	erfBack     = 86_400
	erfForth    = 366 * 86_400
)

type verdict int

const (
	no verdict = iota
	maybe
	yes
)

// probeERF judges the first bytes of an input; all says that there are no more.
// At least one record must be whole.
func probeERF(head []byte, all bool) verdict {
	var before int64
	for i := range erfProbe {
		if len(head) < erfHeader {
			switch {
			case !all:
				return maybe
			case i == 0:
				return no
			}
			return yes
		}
		kind, size := head[8]&erfTypeMask, int(binary.BigEndian.Uint16(head[10:]))
		if !erfTypes[kind].known || size < erfHeader {
			return no
		}
		seconds := int64(binary.LittleEndian.Uint32(head[4:]))
		if kind != erfPad && kind != erfMeta { // whose time may be nought
			if seconds < erfEarliest ||
				before != 0 && (seconds < before-erfBack || seconds > before+erfForth) {
				return no
			}
			before = seconds
		}
		record := head[:min(size, len(head))]
		if kind != erfPad && kind != erfMeta {
			headers := erfHeaders(record)
			if len(record) == size && headers > size {
				return no
			}
			wire := int(binary.BigEndian.Uint16(head[14:]))
			if headers <= len(record) && head[9]&erfVarying != 0 && size > headers+erfTypes[kind].pre+wire+16 {
				return no // far more captured than there was on the wire
			}
		}
		if len(record) < size {
			switch {
			case !all:
				return maybe
			case i == 0: // text passes for the beginning of a record too easily
				return no
			}
			return yes
		}
		head = head[size:]
	}
	return yes
}

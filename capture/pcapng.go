package capture

import (
	"encoding/binary"
	"math/bits"
)

// pcapng files (draft-ietf-opsawg-pcapng, sections 3 and 4): blocks in the byte
// order of their section, whose header has a palindrome for a type so that it
// can be told before the order is known.
//
//	                       1                   2                   3
//	   0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//	  +---------------------------------------------------------------+
//	0 |                          Block Type                           |
//	4 |                      Block Total Length                       |
//	  +---------------------------------------------------------------+
//	8 /                   Block Body, padded to 4                     /
//	  +---------------------------------------------------------------+
//	  |                      Block Total Length                       |
//	  +---------------------------------------------------------------+
//
// Bodies, from byte 8 of the block, options last in each:
//
//	Section Header         magic, major.16 minor.16, section length.64
//	Interface Description  link type.16 reserved.16, snap length
//	Enhanced Packet        interface, time high, time low, captured, original, data
//	Packet (obsolete)      interface.16 drops.16, then as Enhanced Packet
//	Simple Packet          original, data
//	Interface Statistics   interface, time high, time low
const (
	blockSection    = 0x0a0d0d0a
	blockInterface  = 1
	blockPacket     = 2
	blockSimple     = 3
	blockStatistics = 5
	blockEnhanced   = 6

	ngMagic = 0x1a2b3c4d

	blockFrame      = 12 // type and both lengths
	sectionMinimum  = blockFrame + 16
	enhancedMinimum = blockFrame + 20
)

// Bounds on what the input can make the parser hold.
const (
	// maxBlock is a frame of MaxFrame and room for its options. Blocks that
	// are not needed may be of any size: they are skipped unseen.
	maxBlock = MaxFrame + 1<<20
	// maxInterfaces is as many as the obsolete Packet Block's 16-bit index can
	// name, and some 20 MB of memory.
	maxInterfaces = 1 << 16
	// maxText is how many bytes of names, filters and comments are kept of one
	// input; beyond it interfaces have none.
	maxText = 16 << 20
)

type ngInterface struct {
	clock   clock
	link    LinkType
	fcsLen  int8
	snapLen uint32
	info    Interface
	drops   uint64 // told frame by frame
	dropped bool   // whether any of that was
}

type ngParser struct {
	swap       bool
	section    bool // whether a section header was seen
	first      int  // index of the section's first interface
	interfaces []ngInterface
	comments   []string
	textLeft   int
	time       int64 // of the frame before, for Simple Packet Blocks

	// A block that is being skipped: its length is compared with its trailer
	// when that comes.
	trailer uint32
	start   int64
}

func newNGParser() *ngParser { return &ngParser{textLeft: maxText} }

func (p *ngParser) describe(in *Input) {
	in.Comments = append([]string(nil), p.comments...)
	in.Interfaces = make([]Interface, len(p.interfaces))
	var drops uint64
	told := false
	for i := range p.interfaces {
		face := &p.interfaces[i]
		in.Interfaces[i] = face.info
		switch {
		case face.info.Dropped != nil:
			drops, told = addSaturating(drops, *face.info.Dropped), true
		case face.dropped:
			drops, told = addSaturating(drops, face.drops), true
		}
	}
	if told {
		in.Drops = &drops
	}
}

// parse walks the blocks. A block that matters is parsed when all of it is in
// buf; any other is skipped without waiting for it.
func (p *ngParser) parse(buf []byte, f *feed) {
	f.inside = false
	if p.trailer != 0 {
		f.inside, f.start = true, p.start
		if len(buf) < 4 {
			f.need = 4
			return
		}
		if order32(buf, p.swap) != p.trailer {
			f.damage("a block's two lengths differ: ", p.trailer, " and ", order32(buf, p.swap))
			return
		}
		f.used, f.inside, p.trailer = 4, false, 0
	}
	for f.count < len(f.frames) {
		block := buf[f.used:]
		if len(block) < blockFrame {
			f.need = blockFrame
			return
		}
		kind, total := order32(block, p.swap), order32(block[4:], p.swap)
		if kind == blockSection {
			if !p.startSection(block, f) {
				return
			}
			total = order32(block[4:], p.swap)
		} else if !p.section {
			f.damage("a block before the section header")
			return
		}
		if total < blockFrame {
			f.damage("a block of ", total, " bytes is shorter than any can be")
			return
		}
		size := (int64(total) + 3) &^ 3 // some writers don't count the padding
		if !needed(kind) {
			if int64(len(block)) < size {
				p.trailer, p.start = total, f.base+int64(f.used)
				f.skip = size - 4
				return
			}
		} else if size > maxBlock {
			f.damage("a block of ", total, " bytes is longer than any frame needs")
			return
		}
		if int64(len(block)) < size {
			f.need = int(size)
			return
		}
		block = block[:size:size]
		if trailer := order32(block[size-4:], p.swap); trailer != total {
			f.damage("a block's two lengths differ: ", total, " and ", trailer)
			return
		}
		if needed(kind) && !p.block(kind, block, f) {
			return
		}
		f.used += int(size)
	}
}

// needed says whether a block of that type is looked into.
func needed(kind uint32) bool {
	switch kind {
	case blockSection, blockInterface, blockPacket, blockSimple, blockStatistics, blockEnhanced:
		return true
	}
	return false
}

// startSection takes the byte order from a section header, of which at least
// the magic is needed. It reports whether parsing goes on.
func (p *ngParser) startSection(block []byte, f *feed) bool {
	if len(block) < sectionMinimum {
		f.need = sectionMinimum
		return false
	}
	switch magic := binary.LittleEndian.Uint32(block[8:]); magic {
	case ngMagic:
		p.swap = false
	case bits.ReverseBytes32(ngMagic):
		p.swap = true
	default:
		f.damage("a section header without its byte-order magic")
		return false
	}
	if total := order32(block[4:], p.swap); total < sectionMinimum {
		f.damage("a section header of ", total, " bytes is shorter than any can be")
		return false
	}
	if major := order16(block[12:], p.swap); major != 1 {
		f.damage("pcapng version ", int(major), " is not known, only 1 is")
		return false
	}
	return true
}

// block parses one block that is all there, both lengths checked. It reports
// whether parsing goes on.
func (p *ngParser) block(kind uint32, block []byte, f *feed) bool {
	body := block[8 : len(block)-4]
	switch kind {
	case blockEnhanced:
		if len(block) < enhancedMinimum {
			f.damage("a packet block of ", len(block), " bytes is shorter than its fields")
			return false
		}
		return p.packet(order32(body, p.swap), body, f)
	case blockPacket:
		if len(block) < enhancedMinimum {
			f.damage("a packet block of ", len(block), " bytes is shorter than its fields")
			return false
		}
		index := uint32(order16(body, p.swap))
		if !p.packet(index, body, f) {
			return false
		}
		// All ones: the writer did not know.
		if drops := order16(body[2:], p.swap); drops != 0xffff {
			p.interfaces[p.first+int(index)].addDrops(uint64(drops))
		}
	case blockSimple:
		return p.simple(body, f)
	case blockInterface:
		return p.describeInterface(body, f)
	case blockStatistics:
		p.statistics(body)
	case blockSection:
		p.section = true
		p.first = len(p.interfaces)
		for o := (blockOptions{body[16:], p.swap}); ; {
			code, value, ok := o.next()
			if !ok {
				break
			}
			if code == optComment {
				p.comments = p.appendText(p.comments, value)
			}
		}
	}
	return true
}

// packet hands out the frame of an Enhanced Packet Block or of the obsolete
// Packet Block: from byte 4 of the body on they are alike.
func (p *ngParser) packet(index uint32, body []byte, f *feed) bool {
	if int64(index) >= int64(len(p.interfaces)-p.first) {
		f.damage("a frame of interface ", index, ", which was never described")
		return false
	}
	face := &p.interfaces[p.first+int(index)]
	ts := uint64(order32(body[4:], p.swap))<<32 | uint64(order32(body[8:], p.swap))
	captured, orig := order32(body[12:], p.swap), order32(body[16:], p.swap)
	data := body[20:]
	if int64(captured) > int64(len(data)) {
		f.damage("a frame of ", captured, " bytes in a block with room for ", len(data))
		return false
	}
	if captured > MaxFrame {
		f.damage("the block claims ", captured, " captured bytes, more than any frame has")
		return false
	}
	p.time = face.clock.nanoseconds(ts)
	fr := &f.frames[f.count]
	fr.Data = data[:captured:captured]
	fr.Time = p.time
	fr.OrigLen = max(orig, captured)
	fr.FCSLen = face.fcsLen
	fr.options = nil
	p.place(fr, p.first+int(index), face, f)
	if rest := data[min((int(captured)+3)&^3, len(data)):]; len(rest) >= 4 {
		p.frameOptions(fr, face, rest, f)
	}
	f.count++
	return true
}

// frameOptions takes what is needed of a frame's options at once, and keeps the
// rest only if there is a comment or a flag, for Comments and for a Writer.
func (p *ngParser) frameOptions(fr *Frame, face *ngInterface, raw []byte, f *feed) {
	keep := false
	for o := (blockOptions{raw, p.swap}); ; {
		code, value, ok := o.next()
		if !ok {
			break
		}
		switch {
		case code == optComment:
			keep = true
		case code == epbFlags && len(value) == 4:
			flags := order32(value, p.swap)
			// 0 is "not known", which the interface may know.
			if n := flags & epbFCS >> epbFCSShift; n != 0 {
				fr.FCSLen = int8(n)
			}
			keep = keep || flags&^epbFCS != 0
		case code == epbDropCount && len(value) == 8:
			face.addDrops(order64(value, p.swap))
		}
	}
	if keep {
		fr.options = f.batch.keep(raw, p.swap)
	}
}

// simple hands out the frame of a Simple Packet Block: it belongs to the
// section's first interface, whose snap length alone says how much of it there
// is.
func (p *ngParser) simple(body []byte, f *feed) bool {
	if len(body) < 4 {
		f.damage("a simple packet block without a length")
		return false
	}
	if len(p.interfaces) == p.first {
		f.damage("a frame of interface 0, which was never described")
		return false
	}
	face := &p.interfaces[p.first]
	orig := order32(body, p.swap)
	captured := orig
	if face.snapLen != 0 {
		captured = min(captured, face.snapLen)
	}
	captured = min(captured, uint32(len(body)-4), MaxFrame)
	fr := &f.frames[f.count]
	fr.Data = body[4 : 4+captured : 4+captured]
	fr.Time = p.time
	fr.OrigLen = orig
	fr.FCSLen = face.fcsLen
	fr.options = nil
	p.place(fr, p.first, face, f)
	f.count++
	return true
}

func (p *ngParser) place(fr *Frame, index int, face *ngInterface, f *feed) {
	fr.Number = f.number + uint64(f.count) + 1
	fr.Offset = f.base + int64(f.used)
	fr.Input = f.input
	fr.Interface = int32(index)
	fr.Link = face.link
}

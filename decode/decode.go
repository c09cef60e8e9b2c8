package decode

import (
	"encoding/binary"

	"github.com/rocelens/rocelens/capture"
)

// RoCEv2Port is the UDP destination port of RoCEv2 (IANA: roce).
const RoCEv2Port = 4791

// Config is what a Decoder needs to be told.
type Config struct {
	// RoCEPorts are UDP destination ports to take as RoCEv2 besides 4791.
	RoCEPorts []uint16
}

// DefaultConfig takes only the assigned port as RoCEv2.
func DefaultConfig() Config { return Config{} }

// Decoder decodes frames. It keeps nothing between them but memory to work in:
// one goroutine at a time may use it.
type Decoder struct {
	ports   []uint16
	scratch [icrcScratch]byte
}

// New returns a Decoder.
func New(cfg Config) *Decoder {
	return &Decoder{ports: append([]uint16(nil), cfg.RoCEPorts...)}
}

// Decode decodes f into p, whatever p held before. p refers to f and to its
// bytes, and is valid as long as they are. The ICRC is not computed: a packet
// that has a whole one is left with ICRCUnchecked for VerifyICRC.
func (d *Decoder) Decode(f *capture.Frame, p *Packet) {
	p.begin(f)
	if f.Link != capture.LinkEthernet || !d.plain(p) {
		d.link(p, f.Link)
	}
	p.finish()
}

// begin makes p a packet of which nothing is decoded yet.
func (p *Packet) begin(f *capture.Frame) {
	p.header = header{Frame: f, Data: f.Data}
	p.numLayers = 0
	p.avail = len(f.Data)
	p.lim = max(int(f.OrigLen), p.avail)
	p.WireLen = uint32(p.lim)
	if p.lim > p.avail {
		p.Flags = Snapped
	}
}

// finish says what is known at the end alone.
func (p *Packet) finish() {
	if p.numLayers > MaxLayers {
		p.numLayers = MaxLayers
		p.fail(ErrTooDeep, LayerNone, MaxLayers, MaxLayers)
	}
	p.numShown = p.numLayers
	if p.cut.Len > 0 {
		p.show(p.cut)
	}
	if p.ICRCStatus == ICRCUnverifiable && (p.ICRCReason == ICRCReasonTruncated || !p.has(LayerICRC)) {
		p.show(Layer{Kind: LayerICRC, Off: uint32(p.avail)})
	}
	if p.VCRCStatus == ICRCUnverifiable {
		p.show(Layer{Kind: LayerVCRC, Off: uint32(p.avail)})
	}
}

// show puts a layer behind those of the packet, where the field table alone
// sees it.
func (p *Packet) show(l Layer) {
	if p.numShown < MaxLayers {
		p.layers[p.numShown] = l
		p.numShown++
	}
}

// DecodeAs is Decode with one more UDP port taken as RoCEv2: that of a packet
// of which ProbeRoCE says that it looks so.
func (d *Decoder) DecodeAs(f *capture.Frame, p *Packet, port uint16) {
	n := len(d.ports)
	d.ports = append(d.ports, port)
	d.Decode(f, p)
	d.ports = d.ports[:n]
}

// The cursor. p.off is where the next header begins. p.lim is where the
// headers read so far say that the packet ends, p.avail where the captured
// bytes of it end: p.off <= p.avail <= p.lim. A header that does not fit below
// lim contradicts the ones before it; one that does, but not below avail, was
// cut off.

// need says whether the next n bytes were captured, and if not, records why,
// and which of them are there.
func (p *Packet) need(n int, l LayerKind) bool {
	return p.off+n <= p.avail || p.missing(n, l)
}

//go:noinline
func (p *Packet) missing(n int, l LayerKind) bool {
	p.cut = Layer{Kind: l, Off: uint32(p.off), Len: uint32(p.avail - p.off)}
	if p.off+n <= p.lim {
		p.fail(ErrTruncated, l, uint32(n), uint32(p.avail-p.off))
	} else {
		p.fail(ErrShort, l, uint32(n), uint32(p.lim-p.off))
	}
	return false
}

// fail records what is wrong with the header at the cursor. The first
// complaint is kept.
func (p *Packet) fail(c ErrorCode, l LayerKind, need, have uint32) {
	if c != ErrTruncated && c != ErrUnknown {
		p.Flags |= Malformed
	}
	if p.Err.Code == ErrNone {
		p.Err = Error{Code: c, Layer: l, Offset: uint32(p.off), Need: need, Have: have}
	}
}

// bound takes over what a length field says of where the packet ends. An end
// beyond what the headers around it leave means that the packet was cut before
// it was captured, as mirrors do that truncate.
func (p *Packet) bound(end int) {
	if end > p.lim {
		p.Flags |= MirrorCut
	} else if end < p.avail {
		p.avail = end
	}
	p.lim = end
}

// push notes a header of n bytes at the cursor and moves behind it.
func (p *Packet) push(l LayerKind, n int) {
	p.note(l, p.off, n)
	p.off += n
}

// note records where bytes are without moving the cursor. What is beyond
// MaxLayers is counted, not recorded.
func (p *Packet) note(l LayerKind, off, n int) {
	if i := p.numLayers; i < MaxLayers {
		p.layers[i] = Layer{Kind: l, Off: uint32(off), Len: uint32(n)}
	}
	p.numLayers++
}

// data notes what is left as bytes that nothing decodes.
func (p *Packet) data() {
	if p.avail > p.off {
		p.note(LayerData, p.off, p.avail-p.off)
	}
}

// unknown ends decoding at a type field that is not known. Inside a tunnel or
// behind a tag that is worth telling: traffic may be hidden there.
func (p *Packet) unknown(l LayerKind, typ uint32) {
	if p.depth > 0 || p.Encap != 0 {
		p.Flags |= UnknownInner
	}
	p.fail(ErrUnknown, l, 0, typ)
	p.data()
}

// enter counts a tunnel and forgets what belonged to the packet around it.
func (p *Packet) enter(e Encap, l LayerKind) bool {
	p.Encap |= e
	if p.depth++; p.depth > MaxTunnels {
		p.fail(ErrTooDeep, l, MaxTunnels, MaxTunnels)
		return false
	}
	p.Flags &^= Tagged | Fragment | IPOptions | LengthsDiffer
	p.VLAN = 0
	return true
}

func be16(b []byte) uint16 { return binary.BigEndian.Uint16(b) }
func be32(b []byte) uint32 { return binary.BigEndian.Uint32(b) }
func be64(b []byte) uint64 { return binary.BigEndian.Uint64(b) }
func be24(b []byte) uint32 { return uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2]) }

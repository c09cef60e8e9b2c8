package decode

import (
	"math/bits"
)

// Field is one row of the field table: something that a packet says, where its
// bytes are, and how to read them. Names are Wireshark's wherever Wireshark
// has the field.
type Field struct {
	Name  string // infiniband.bth.opcode
	Label string // Opcode
	Type  FieldType
	Base  FieldBase
	// Ours says that Wireshark has no such field.
	Ours bool
	// Repeats says that one packet may have several values: the field is in a
	// header that tunnels and tags bring again, or stands for two others.
	Repeats bool
	// OfNote says that the field is read from Extra.Note: it takes the whole
	// capture to know it.
	OfNote bool
	// Values names numbers; nil where they have no names.
	Values func(uint64) string

	places []*place
	layers uint64 // a bit for each LayerKind that it is in
}

// FieldType is what a field's value is.
type FieldType uint8

// The types of fields.
const (
	TypeNone FieldType = iota // text alone, a node of the tree
	TypeBool
	TypeUint8
	TypeUint16
	TypeUint24
	TypeUint32
	TypeUint64
	TypeBytes
	TypeEther
	TypeIPv4
	TypeIPv6
	TypeString
	TypeTime     // nanoseconds since the epoch
	TypeDuration // nanoseconds
)

func (t FieldType) String() string {
	return [...]string{"none", "boolean", "uint8", "uint16", "uint24", "uint32", "uint64", "bytes", "ether", "ipv4", "ipv6",
		"string", "time", "duration"}[t]
}

// digits is how many hexadecimal digits a number of the type has.
func (t FieldType) digits() int {
	return [TypeDuration + 1]int{TypeUint8: 2, TypeUint16: 4, TypeUint24: 6, TypeUint32: 8, TypeUint64: 16}[t]
}

// FieldBase is how a field's number is written.
type FieldBase uint8

// The bases.
const (
	Dec FieldBase = iota
	Hex
)

// place is one place in a packet's tree where a field stands.
type place struct {
	layer LayerKind
	depth uint8 // below the layer's node: 0 is a child of it
	// hidden fields stand for others (eth.addr) or repeat them; they are found
	// by name and in JSON, and not shown in the tree for people.
	hidden bool
	off, n int // bytes within the layer; n < 0: up to -n bytes from its end on
	mask   uint64
	title  func(p *Packet) string // what the tree shows in place of label and value
	// read replaces the plain reading of n bytes at off. It returns false
	// where the field is not there.
	read func(x *Extra, p *Packet, l Layer, v *Value) bool
	// each reads the field where it may be there any number of times: the
	// first with i 0, and so on until it returns false.
	each func(x *Extra, p *Packet, i int, v *Value) bool
}

// Value is one value of a field in a packet.
type Value struct {
	Num   uint64 // numbers, booleans (0 or 1), times and durations (as int64)
	Bytes []byte // bytes, addresses and strings; aliases the packet or Extra
	// Off and Len are where in the frame the value was read, Len 0 where it
	// was computed.
	Off, Len uint32
}

// Extra is what fields need besides the packet: facts of the capture, and
// memory for values that are made up. The zero value is ready.
type Extra struct {
	First     int64 // time of the first frame, for frame.time_relative
	Previous  int64 // of the frame before; of the frame itself for the first
	Displayed int64 // of the last frame that was shown
	// HasInterface says that the capture tells interfaces apart (pcapng);
	// InterfaceName is that of the frame's, where it has one.
	HasInterface  bool
	InterfaceName string
	// InterfaceDescription is "" where the capture has none.
	InterfaceDescription string
	// Note is what is known of the packet's session, nil where nothing is.
	Note *Note

	buf   []byte
	value Value // of a field on its way to text
	// Of the packet, once it was looked at: its layers, those that it has more
	// than once, a bit each, and where the first of a kind is.
	seen, again uint64
	first       [numLayerKinds]uint8
	// Its comments, once they were asked for.
	comments  []string
	commented bool
}

// look takes note of the packet's layers.
func (x *Extra) look(p *Packet) {
	x.seen, x.again = 1<<LayerNone, 0
	for i, l := range p.shown() {
		bit := uint64(1) << l.Kind
		if x.seen&bit == 0 {
			x.first[l.Kind] = uint8(i)
		} else {
			x.again |= bit
		}
		x.seen |= bit
	}
}

// Node is one line of a packet's tree.
type Node struct {
	Depth uint8
	// Field is nil for a node that is only a heading, Layer's name.
	Field  *Field
	Layer  LayerKind
	Proto  string // of a heading: Wireshark's short name, "ip"
	Hidden bool
	Value  Value

	title string // in place of label and value
	// The bits that a part of a byte is taken from, for the tree's drawing.
	raw, mask uint64
	size      int
}

// Fields is the whole table in the order of the tree. It must not be changed.
func Fields() []*Field { return table.fields }

// FieldByName finds a field, or nil.
func FieldByName(name string) *Field { return table.byName[name] }

// Append appends the values that the field has in p, in the order of the
// packet's bytes. x is Reset between packets.
func (f *Field) Append(dst []Value, x *Extra, p *Packet) []Value {
	for _, l := range f.where(x, p) {
		for _, pl := range f.places {
			if pl.layer == l.Kind {
				dst = pl.append(dst, x, p, l)
			}
		}
	}
	return dst
}

// where are the layers of p to look for the field in; others may be among
// them.
func (f *Field) where(x *Extra, p *Packet) []Layer {
	if f.layers == 1<<LayerNone { // of the frame itself
		return noLayer[:]
	}
	if x.seen == 0 {
		x.look(p)
	}
	present := f.layers & x.seen
	if present == 0 {
		return nil
	}
	if present&(present-1) == 0 && x.again&present == 0 {
		i := x.first[bits.TrailingZeros64(present)] & (MaxLayers - 1)
		return p.layers[i : i+1]
	}
	return p.shown()
}

// noLayer stands for the frame itself.
var noLayer = [1]Layer{{Kind: LayerNone}}

func (pl *place) append(dst []Value, x *Extra, p *Packet, l Layer) []Value {
	if pl.each != nil {
		x.value = Value{}
		for i := 0; pl.each(x, p, i, &x.value); i++ {
			dst = append(dst, x.value)
		}
		return dst
	}
	dst = append(dst, Value{})
	if !pl.value(x, p, l, &dst[len(dst)-1]) {
		dst = dst[:len(dst)-1]
	}
	return dst
}

// value reads the field at its place in a layer.
func (pl *place) value(x *Extra, p *Packet, l Layer, v *Value) bool {
	if pl.read != nil {
		if pl.beyond(p, l) || !pl.read(x, p, l, v) {
			return false
		}
		if pl.n > 0 && v.Len == 0 && pl.off+pl.n <= int(l.Len) {
			v.Off, v.Len = l.Off+uint32(pl.off), uint32(pl.n)
		}
		return true
	}
	b, ok := pl.bytes(p, l)
	if !ok {
		return false
	}
	v.Off, v.Len = l.Off+uint32(pl.off), uint32(len(b))
	v.Bytes, v.Num = b, pl.number(b)
	return true
}

// beyond says that the layer was cut ahead of the field's bytes. How many a
// field takes that is to be read in its own way, and what it takes to know, it
// says itself where n is 0.
func (pl *place) beyond(p *Packet, l Layer) bool {
	return l == p.cut && pl.off+max(pl.n, 0) > int(l.Len)
}

// bytes are those of a plain field, if the layer has them.
func (pl *place) bytes(p *Packet, l Layer) ([]byte, bool) {
	n := pl.n
	if n <= 0 { // the rest, if there is one
		n = int(l.Len) - pl.off
	}
	if n <= 0 || pl.off+n > int(l.Len) {
		return nil, false
	}
	start := int(l.Off) + pl.off
	return p.Data[start : start+n], true
}

// number is what a plain field's bytes are as a number, if they are so many as
// numbers have.
func (pl *place) number(b []byte) (n uint64) {
	switch len(b) {
	case 1:
		n = uint64(b[0])
	case 2:
		n = uint64(be16(b))
	case 3:
		n = uint64(be24(b))
	case 4:
		n = uint64(be32(b))
	case 8:
		n = be64(b)
	}
	if pl.mask != 0 {
		n = n & pl.mask >> bits.TrailingZeros64(pl.mask)
	}
	return n
}

// AppendTree appends the packet's tree: a heading for each header, and its
// fields below it.
func AppendTree(dst []Node, x *Extra, p *Packet) []Node {
	if len(x.frameComments(p)) > 0 {
		dst = table.comments.append(dst, x, p, Layer{}, true)
	}
	dst = table.frame.append(dst, x, p, Layer{}, true)
	open := ""
	payload := Layer{}
	for _, l := range p.shown() {
		t := table.layers[l.Kind]
		if t == nil {
			continue
		}
		if l.Kind == LayerPayload { // below pad and ICRC, which belong to the headers
			payload = l
			continue
		}
		// All transport headers stand under one heading.
		dst = t.append(dst, x, p, l, t.proto != "infiniband" || open != t.proto)
		open = t.proto
	}
	if payload.Len > 0 && p.Has&HasMAD == 0 { // else it is infiniband.mad.data
		dst = table.layers[LayerPayload].append(dst, x, p, payload, true)
	}
	if x.Note != nil {
		dst = table.note.append(dst, x, p, Layer{}, true)
	}
	return dst
}

// layerTree are the fields of one header in the order of the tree.
type layerTree struct {
	kind   LayerKind
	proto  string
	title  string
	fields []fieldAt
}

type fieldAt struct {
	f  *Field
	at *place
}

func (t *layerTree) append(dst []Node, x *Extra, p *Packet, l Layer, heading bool) []Node {
	if heading {
		dst = append(dst, Node{Layer: t.kind, Proto: t.proto, title: t.title, Value: Value{Off: l.Off, Len: l.Len}})
	}
	for i := range t.fields {
		fa := &t.fields[i]
		n := Node{Depth: 1 + fa.at.depth, Field: fa.f, Layer: t.kind, Hidden: fa.at.hidden, mask: fa.at.mask, size: fa.at.n}
		if fa.at.each != nil {
			for i := 0; fa.at.each(x, p, i, &n.Value); i++ {
				dst = append(dst, n)
			}
			continue
		}
		if !fa.at.value(x, p, l, &n.Value) {
			continue
		}
		if fa.at.title != nil {
			n.title = fa.at.title(p)
		}
		if n.mask != 0 {
			for _, b := range p.Data[n.Value.Off : n.Value.Off+n.Value.Len] {
				n.raw = n.raw<<8 | uint64(b)
			}
		}
		dst = append(dst, n)
	}
	return dst
}

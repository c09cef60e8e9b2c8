package decode

import "math/bits"

// Proto is a name that a display filter takes for a header or a group of
// them: Wireshark's short names, and names of ours for the kinds of RoCE.
type Proto struct {
	Name string

	layers uint64 // a bit for each LayerKind of it
	kinds  uint64 // a bit for each Kind of packet that has it, 0 for any
	// joined says that headers one behind the other are one of it: InfiniBand's,
	// and the labels of MPLS.
	joined bool
	// note says that it stands for what is known of the packet's session.
	note bool
	// rest says that it goes on to the end of what the headers leave, as
	// Wireshark has it for some protocols and not for others.
	rest bool
}

// protos are those of the field table, and ours.
var protos = makeProtos()

func makeProtos() map[string]*Proto {
	all := map[string]*Proto{"frame": {Name: "frame"}, noteHeader.proto: {Name: noteHeader.proto, note: true}}
	for _, h := range headers {
		p := all[h.proto]
		if p == nil {
			p = &Proto{Name: h.proto}
			all[h.proto] = p
		}
		p.layers |= 1 << h.kind
	}
	for _, name := range []string{"gre", "erspan", "tcp", "icmp", "icmpv6", "infiniband", "arp", "llc", "macc"} {
		all[name].rest = true
	}
	for _, name := range []string{"infiniband", "mpls", "erspan", "data"} {
		all[name].joined = true
	}
	for name, kinds := range map[string]uint64{
		"rocev1": 1 << KindRoCEv1, "rocev2": 1 << KindRoCEv2, "roce": 1<<KindRoCEv1 | 1<<KindRoCEv2,
	} {
		p := *all["infiniband"]
		p.Name, p.kinds = name, kinds
		all[name] = &p
	}
	return all
}

// ProtoByName finds a protocol, or nil.
func ProtoByName(name string) *Proto { return protos[name] }

// OfNote says that the protocol is there where Extra.Note is: it takes the whole
// capture to know it.
func (pr *Proto) OfNote() bool { return pr.note }

// ProtoNames are the names of all protocols, in no order.
func ProtoNames() []string {
	names := make([]string, 0, len(protos))
	for name := range protos {
		names = append(names, name)
	}
	return names
}

// Append appends where the protocol's headers are, from the outside in. With
// ord, which may be nil, only those are that it says yes to: it is told which
// of how many a header is, from 1.
func (pr *Proto) Append(dst []Value, x *Extra, p *Packet, ord func(n, of int) bool) []Value {
	if pr.note {
		if x.Note != nil && (ord == nil || ord(1, 1)) {
			dst = append(dst, Value{})
		}
		return dst
	}
	if pr.layers == 0 { // the frame, without what only the capture has in front of it
		if ord == nil || ord(1, 1) {
			l, _ := p.Layer(LayerERF)
			start := l.Off + l.Len
			dst = append(dst, Value{Bytes: p.Data[start:], Off: start, Len: uint32(len(p.Data)) - start})
		}
		return dst
	}
	if pr.kinds != 0 && pr.kinds>>p.Kind&1 == 0 {
		return dst
	}
	if x.seen == 0 {
		x.look(p)
	}
	if pr.layers&x.seen == 0 {
		return dst
	}
	of := 0
	if ord != nil {
		of = pr.count(p)
	}
	all := p.shown()
	for i, n := 0, 0; i < len(all); i++ {
		if pr.layers>>all[i].Kind&1 == 0 || pr.empty(p, all[i]) {
			continue
		}
		l := all[i]
		end := l.Off + l.Len
		for pr.joined && i+1 < len(all) && (pr.layers>>all[i+1].Kind&1 != 0 || pr.inside(all[i+1].Kind)) {
			i++
			end = max(end, all[i].Off+all[i].Len)
		}
		if pr.rest {
			end = p.end()
		}
		if n++; ord == nil || ord(n, of) {
			dst = append(dst, Value{Bytes: p.Data[l.Off:end], Off: l.Off, Len: end - l.Off})
		}
	}
	return dst
}

// Inside is what a header has in it, itself included: v is one that Append
// found.
func (pr *Proto) Inside(p *Packet, v *Value) []byte {
	if pr.layers>>LayerPayload&1 != 0 && !pr.rest {
		return v.Bytes
	}
	return p.Data[v.Off:max(p.end(), v.Off+v.Len)]
}

// inside says that a layer may stand between joined headers of the protocol:
// the payload is ahead of pad and ICRC.
func (pr *Proto) inside(k LayerKind) bool { return k == LayerPayload && pr.layers>>LayerBTH&1 != 0 }

// empty says that a layer is no header of the protocol: the payload of a
// management datagram is none of its own, and a CRC that is not in the frame
// stands for no bytes.
func (pr *Proto) empty(p *Packet, l Layer) bool {
	switch l.Kind {
	case LayerPayload:
		return p.Has&HasMAD != 0 || l.Len == 0
	case LayerICRC, LayerVCRC:
		return l.Len == 0
	}
	return false
}

// count is how many headers of the protocol there are.
func (pr *Proto) count(p *Packet) (n int) {
	again := false
	for _, l := range p.shown() {
		is := pr.layers>>l.Kind&1 != 0
		if is && !pr.empty(p, l) && (!again || !pr.joined) {
			n++
		}
		again = is || again && pr.inside(l.Kind)
	}
	return n
}

// end is where the last header or payload ends.
func (p *Packet) end() (end uint32) {
	for _, l := range p.shown() {
		end = max(end, l.Off+l.Len)
	}
	return end
}

// AppendAt is Append for the headers alone that ord says yes to: it is told
// which of how many headers of its protocol a header is, from 1 and from the
// outside in. A field of the frame is in the only one of its kind.
func (f *Field) AppendAt(dst []Value, x *Extra, p *Packet, ord func(n, of int) bool) []Value {
	if f.layers == 1<<LayerNone {
		if !ord(1, 1) {
			return dst
		}
		return f.Append(dst, x, p)
	}
	all := p.shown()
	for i, l := range all {
		if f.layers>>l.Kind&1 == 0 {
			continue
		}
		pr := protos[table.layers[l.Kind].proto]
		n := pr.ordinal(all[:i+1])
		if !ord(n, max(n, pr.count(p))) { // no header counts where a CRC's status stands alone
			continue
		}
		for _, pl := range f.places {
			if pl.layer == l.Kind {
				dst = pl.append(dst, x, p, l)
			}
		}
	}
	return dst
}

// ordinal is which of the protocol's headers the last of some is.
func (pr *Proto) ordinal(layers []Layer) (n int) {
	again := false
	for _, l := range layers {
		is := pr.layers>>l.Kind&1 != 0
		if is && (!again || !pr.joined) {
			n++
		}
		again = is || again && pr.inside(l.Kind)
	}
	return n
}

// Plain says that the packet's own fields say all that its headers do: it is
// in no tunnel, so that there is no second header of a kind but tags, and no
// header was cut, a part of which the field table would show, or is wrong, so
// that the table has none of it.
func (p *Packet) Plain() bool {
	return p.depth == 0 && p.cut.Kind == LayerNone && p.Flags&Malformed == 0
}

// Max is the largest number that the field can have where it is a part of its
// bytes; for others it is that of its type.
func (f *Field) Max() uint64 {
	most := uint64(0)
	for _, pl := range f.places {
		switch {
		case pl.mask != 0:
			most |= pl.mask >> bits.TrailingZeros64(pl.mask)
		case f.Type == TypeBool:
			most |= 1
		default:
			most |= ^uint64(0) >> max(0, 64-4*f.Type.digits())
		}
	}
	return most
}

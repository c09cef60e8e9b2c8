package layers

import (
	"errors"
	"fmt"
	"math"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/rocelens/rocelens/decode"
)

const (
	bthLen  = 12
	icrcLen = 4
	udpLen  = 8
)

// BTH is the base transport header (InfiniBand Architecture Specification,
// volume 1, 9.2) with the extended headers of its opcode and the ICRC.
// Contents are the headers; Payload is the message, without pad and ICRC, and
// with a CNP its 16 reserved bytes.
//
//	 0                   1                   2                   3
//	+---------------+-+-+---+-------+-------------------------------+
//	|    opcode     |S|M|pad| TVer  |             P_Key             |
//	+---------------+-+-+---+-------+-------------------------------+
//	|F|B| reserved  |          destination queue pair (24)          |
//	+-+-+-----------+-----------------------------------------------+
//	|A|  reserved   |         packet sequence number (24)           |
//	+-+-------------+-----------------------------------------------+
//	| extended headers, payload, pad (0 to 3 bytes), ICRC (4)       |
//	+---------------------------------------------------------------+
//
// The extended headers that a packet has are not nil. After DecodeFromBytes
// they point into the BTH itself, as gopacket's IPv6.HopByHop does: they are
// overwritten by the next DecodeFromBytes, and in a copy of the struct they
// still point into the original.
type BTH struct {
	layers.BaseLayer
	Opcode    decode.Opcode
	Solicited bool  // SE
	MigReq    bool  // M
	PadCount  uint8 // 0 to 3, set by FixLengths
	TVer      uint8 // 4 bits
	PKey      uint16
	FECN      bool
	BECN      bool
	Reserved6 uint8  // 6 bits, behind BECN
	DestQP    uint32 // 24 bits
	AckReq    bool   // A
	Reserved7 uint8  // 7 bits, behind A
	PSN       uint32 // 24 bits

	// Extended headers. Serialising wants exactly those that the opcode has.
	RDETH        *RDETH
	DETH         *DETH
	RETH         *RETH
	AtomicETH    *AtomicETH
	AETH         *AETH
	AtomicAckETH *AtomicAckETH
	ImmDt        *ImmDt
	IETH         *IETH
	XRCETH       *XRCETH
	FETH         *FETH

	// Padding are the pad bytes, which should be zero; FixLengths makes them so.
	Padding []byte
	// ICRC is the four bytes on the wire read as a big-endian number, as
	// Wireshark shows it. ComputeChecksums sets it.
	ICRC uint32
	// Truncated says that the packet was cut: pad and ICRC are not there, and
	// Payload is what is left of the message. Where the decoder cannot tell how
	// long the packet was (a DecodingLayerParser), up to six bytes of pad and
	// ICRC may be at its end: see PayloadLength.
	Truncated bool

	storage struct {
		rdeth        RDETH
		deth         DETH
		reth         RETH
		atomicETH    AtomicETH
		aeth         AETH
		atomicAckETH AtomicAckETH
		immDt        ImmDt
		ieth         IETH
		xrceth       XRCETH
		feth         FETH
	}
	base    bool   // the 12 bytes were read
	wire    []byte // BTH to pad, where all of it is there
	network gopacket.NetworkLayer
	udp     *layers.UDP
}

// LayerType is LayerTypeBTH.
func (b *BTH) LayerType() gopacket.LayerType { return LayerTypeBTH }

// CanDecode is LayerTypeBTH.
func (b *BTH) CanDecode() gopacket.LayerClass { return LayerTypeBTH }

// NextLayerType is LayerTypeCNP for a CNP, else LayerTypePayload where there
// is any.
func (b *BTH) NextLayerType() gopacket.LayerType {
	if b.Opcode == decode.OpCNP {
		return LayerTypeCNP
	}
	return rest(b.Payload)
}

// GoString is the text of gopacket.LayerString. gopacket.LayerGoString would
// panic on the headers that are nil.
func (b *BTH) GoString() string { return gopacket.LayerString(b) }

// PayloadLength is the length of the message, captured or not, in a transport
// packet of n bytes: UDP.Length - 8, or GRH.PayloadLength.
func (b *BTH) PayloadLength(n int) int {
	n -= bthLen + int(b.PadCount) + icrcLen
	for _, k := range b.Opcode.Headers() {
		n -= k.HeaderLen()
	}
	return max(n, 0)
}

// unknownLen is the length of a packet that was cut nobody knows where.
const unknownLen = math.MaxInt

// wireLen is how long the transport packet was on the wire, of which have
// bytes are here, going by the headers in front of it. df, while a packet is
// being decoded, is that packet.
func wireLen(df gopacket.DecodeFeedback, have int) int {
	if p, ok := df.(*gopacket.DecodingLayerParser); ok {
		if p.Truncated {
			return unknownLen
		}
		return have
	}
	ls := decoded(df)
	if len(ls) == 0 {
		return have
	}
	switch l := ls[len(ls)-1].(type) {
	case *GRH:
		return max(have, int(l.PayloadLength))
	case *layers.UDP:
		if l.Length != 0 {
			return max(have, int(l.Length)-udpLen)
		}
		if len(ls) < 2 { // IP's length is all there is
			return have
		}
		switch ip := ls[len(ls)-2].(type) {
		case *layers.IPv4:
			return have + max(0, int(ip.Length)-len(ip.Contents)-len(ip.Payload))
		case *layers.IPv6:
			return have + max(0, int(ip.Length)-len(ip.Payload))
		}
	}
	return have
}

// decoded are the layers in front of the one that is being decoded, where df is
// a packet.
func decoded(df gopacket.DecodeFeedback) []gopacket.Layer {
	// Both kinds of packets, eager and lazy, are PacketBuilders themselves. A
	// lazy one has no next decoder while one is at work, so that asking for its
	// layers decodes none.
	if p, ok := df.(interface{ Layers() []gopacket.Layer }); ok {
		return p.Layers()
	}
	return nil
}

// DecodeFromBytes decodes a transport packet: data begins at the BTH and ends
// with the ICRC, unless df says that the packet was cut. An error is a
// decode.Error, whose Offset counts from the BTH. After an error the headers
// that were read before it stand.
func (b *BTH) DecodeFromBytes(data []byte, df gopacket.DecodeFeedback) error {
	*b = BTH{}
	have, length := len(data), wireLen(df, len(data))
	if length < bthLen+icrcLen {
		return short(df, decode.LayerBTH, 0, bthLen+icrcLen, length)
	}
	if have < bthLen {
		return cut(df, decode.LayerBTH, 0, bthLen, have)
	}
	b.base = true
	b.Contents = data[:bthLen]
	b.Opcode = decode.Opcode(data[0])
	b.Solicited, b.MigReq = data[1]&0x80 != 0, data[1]&0x40 != 0
	b.PadCount, b.TVer = data[1]>>4&3, data[1]&15
	b.PKey = be16(data[2:])
	b.FECN, b.BECN, b.Reserved6 = data[4]&0x80 != 0, data[4]&0x40 != 0, data[4]&0x3f
	b.DestQP = be32(data[4:]) & 0xffffff
	b.AckReq, b.Reserved7 = data[8]&0x80 != 0, data[8]&0x7f
	b.PSN = be32(data[8:]) & 0xffffff

	end := length - icrcLen
	if b.Truncated = have < length; b.Truncated {
		df.SetTruncated()
	} else {
		b.ICRC = be32(data[end:])
		b.wire = data[:end]
	}
	off := bthLen
	for _, k := range b.Opcode.Headers() {
		if k == decode.LayerCNPReserved { // a layer of its own
			break
		}
		n := k.HeaderLen()
		if off+n > end {
			return short(df, k, off, n, end-off)
		}
		if off+n > have {
			return cut(df, k, off, n, have-off)
		}
		b.read(k, data[off:off+n])
		off += n
		b.Contents = data[:off]
	}
	pad := int(b.PadCount)
	if end-off < pad {
		df.SetTruncated()
		return decode.Error{Code: decode.ErrPad, Layer: decode.LayerBTH, Need: uint32(pad), Have: uint32(end - off)}
	}
	b.Payload = data[off:max(off, min(have, end-pad))]
	if !b.Truncated {
		b.Padding = data[end-pad : end]
	}
	return nil
}

// cut says that a layer's bytes were not captured, to df as well.
func cut(df gopacket.DecodeFeedback, l decode.LayerKind, off, need, have int) error {
	df.SetTruncated()
	return decode.Error{Code: decode.ErrTruncated, Layer: l, Offset: uint32(off), Need: uint32(need), Have: uint32(have)}
}

func decodeBTH(data []byte, p gopacket.PacketBuilder) error {
	// gopacket asks the source port where it does not know the destination's.
	// Only the latter decides what is RoCE.
	if ls := decoded(p); len(ls) > 0 {
		if udp, ok := ls[len(ls)-1].(*layers.UDP); ok && udp.DstPort.LayerType() != LayerTypeBTH {
			return p.NextDecoder(gopacket.LayerTypePayload)
		}
	}
	b := new(BTH)
	err := b.DecodeFromBytes(data, p)
	if b.base { // what was read is worth having, whatever follows
		p.AddLayer(b)
	}
	if err != nil {
		return err
	}
	return next(b, p)
}

// SerializeTo writes the headers in front of the message that is in buf, and
// pad and ICRC behind it. FixLengths sets PadCount to what the message needs,
// with pad bytes of zero. ComputeChecksums computes the ICRC, for which the
// headers in front of the BTH must be known: see SetNetworkLayerForICRC, or use
// Serialize.
func (b *BTH) SerializeTo(buf gopacket.SerializeBuffer, opts gopacket.SerializeOptions) error {
	if err := b.serializeTo(buf, opts); err != nil {
		return fmt.Errorf("BTH with opcode %v: %w", b.Opcode, err)
	}
	return nil
}

func (b *BTH) serializeTo(buf gopacket.SerializeBuffer, opts gopacket.SerializeOptions) error {
	if b.Truncated {
		return errors.New("the packet was cut; clear Truncated to serialise what is left of it")
	}
	extLen := 0
	inOpcode := 0
	for _, k := range b.Opcode.Headers() {
		if k == decode.LayerCNPReserved {
			if len(buf.Bytes()) < k.HeaderLen() {
				return errors.New("a CNP layer must follow")
			}
			break
		}
		if !b.has(k) {
			return fmt.Errorf("its %v is not set", k)
		}
		extLen += k.HeaderLen()
		inOpcode++
	}
	for _, k := range extendedHeaders {
		if b.has(k) {
			inOpcode--
		}
	}
	if inOpcode != 0 {
		return errors.New("an extended header is set that the opcode does not have")
	}
	if b.TVer > 15 || b.Reserved6 > 0x3f || b.Reserved7 > 0x7f {
		return errors.New("TVer has 4 bits, Reserved6 has 6, and Reserved7 has 7")
	}

	if message := len(buf.Bytes()); opts.FixLengths {
		b.PadCount, b.Padding = uint8(-message&3), nil
	}
	pad := int(b.PadCount)
	if pad > 3 {
		return fmt.Errorf("pad count %d: it has 2 bits", pad)
	}
	tail, err := buf.AppendBytes(pad + icrcLen)
	if err != nil {
		return err
	}
	clear(tail)
	copy(tail[:pad], b.Padding)
	head, err := buf.PrependBytes(bthLen + extLen)
	if err != nil {
		return err
	}
	head[0] = byte(b.Opcode)
	head[1] = bit(b.Solicited, 0x80) | bit(b.MigReq, 0x40) | b.PadCount<<4 | b.TVer
	put16(head[2:], b.PKey)
	if err := put24(head[4:], "destination QP", bit(b.FECN, 0x80)|bit(b.BECN, 0x40)|b.Reserved6, b.DestQP); err != nil {
		return err
	}
	if err := put24(head[8:], "PSN", bit(b.AckReq, 0x80)|b.Reserved7, b.PSN); err != nil {
		return err
	}
	ext := head[bthLen:]
	for _, k := range b.Opcode.Headers() {
		n := k.HeaderLen()
		if k == decode.LayerCNPReserved {
			break
		}
		if err := b.write(k, ext[:n]); err != nil {
			return err
		}
		ext = ext[n:]
	}

	packet := buf.Bytes()
	end := len(packet) - icrcLen
	if opts.ComputeChecksums {
		if b.ICRC, err = b.computeICRC(packet[:end], opts.FixLengths); err != nil {
			return err
		}
	}
	put32(packet[end:], b.ICRC)
	return nil
}

func bit(set bool, b byte) byte {
	if set {
		return b
	}
	return 0
}

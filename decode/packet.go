package decode

import (
	"github.com/rocelens/rocelens/capture"
)

// Packet is one decoded frame: a flat struct that the caller owns and reuses.
// Decode overwrites all of it. Each field says when it is valid; the rest is
// zero. Spans and layers index Data.
type Packet struct {
	header

	numLayers uint32
	numShown  uint32 // numLayers, and those that shown has behind them
	layers    [MaxLayers]Layer
}

// header is all of a Packet that Decode clears: the list of layers is long, and
// numLayers alone says how much of it is valid. It is embedded, so that its
// fields are the Packet's.
type header struct {
	Frame *capture.Frame // what Decode was given
	Data  []byte         // Frame.Data

	// WireLen is the frame's length on the wire in bytes, without headers that
	// only the capture has (ERF).
	WireLen uint32
	// Kind says what the frame turned out to be. For RoCE it is set as soon as
	// the headers that decide it were seen, even where the rest was cut off.
	Kind  Kind
	Flags Flags
	// Encap is what the packet was wrapped in, VLAN tags included.
	Encap Encap
	// Err is the first thing that stopped or disturbed decoding; its Code is
	// ErrNone for a packet that was decoded to its end.
	Err Error

	// The innermost addresses. AddrKind says what Src and Dst are.
	AddrKind AddrKind
	Src, Dst Addr
	SrcMAC   MAC // of the innermost Ethernet header; zero where there is none
	DstMAC   MAC
	// SLID and DLID are native InfiniBand's local identifiers.
	SLID, DLID uint16

	EtherType uint16 // innermost, as on the wire; valid where an Ethernet-like header was read
	VLAN      uint16 // tag control information of the innermost VLAN tag: priority 3, DEI 1, ID 12 bits; with Tagged
	VNI       uint32 // of VXLAN or Geneve, or NVGRE's VSID; with EncapVXLAN, EncapGeneve or EncapNVGRE

	// Innermost IP header (or GRH, whose traffic class is TOS, hop limit TTL).
	IPProto   uint8
	TOS       uint8 // DSCP 6 bits, ECN 2 bits
	TTL       uint8
	FlagsFrag uint16 // IPv4: flags 3 bits, fragment offset 13 bits
	IPID      uint16 // IPv4 only
	FlowLabel uint32 // IPv6 and GRH

	SrcPort, DstPort uint16 // innermost TCP or UDP

	// Has says which of the headers below were read; a header's fields are
	// valid only with its bit.
	Has Headers

	// BTH
	Opcode   Opcode
	BTHFlags BTHFlags
	PadCount uint8 // 0 to 3
	TVer     uint8
	PKey     uint16
	DestQP   uint32 // 24 bits
	PSN      uint32 // 24 bits

	EEContext   uint32 // RDETH, 24 bits
	QKey        uint32 // DETH
	SrcQP       uint32 // DETH, 24 bits
	VA          uint64 // RETH, AtomicETH
	RKey        uint32 // RETH, AtomicETH
	DMALen      uint32 // RETH, bytes
	SwapAdd     uint64 // AtomicETH
	Compare     uint64 // AtomicETH
	Syndrome    Syndrome
	MSN         uint32 // AETH, 24 bits
	AtomicOrig  uint64 // AtomicAckETH
	ImmData     uint32 // ImmDt
	InvalidKey  uint32 // IETH
	XRCSRQ      uint32 // XRCETH, 24 bits
	FlushType   uint8  // FETH: placement type bits
	FlushSelect uint8  // FETH: selectivity level

	// PayloadLen is what BTH and the IP or GRH length say, in bytes, without
	// pad and ICRC, captured or not.
	PayloadLen uint32

	// ICRC: ICRC and ICRCExpected are the four bytes as they are on the wire,
	// read as a big-endian number (as Wireshark shows them). ICRC is valid
	// where ICRCStatus is Unchecked, Good or Bad, ICRCExpected only with Bad.
	// The same goes for VCRC.
	ICRCStatus   ICRCStatus
	ICRCReason   ICRCReason
	VCRCStatus   ICRCStatus
	ICRC         uint32
	ICRCExpected uint32
	VCRC         uint16
	VCRCExpected uint16

	MAD    MAD        // with HasMAD
	Pause  MACControl // Kind KindPFC, KindPause or KindMACControl
	ERSPAN ERSPAN     // with EncapERSPAN1, 2 or 3: the innermost one

	// What VerifyICRC needs: where the protected part begins and ends.
	l3Off, l4Off, bthOff, icrcOff, vcrcOff uint32

	off, avail, lim int // the cursor, see decode.go

	// cut is the header that decoding stopped at for want of bytes: those that
	// are there. It is none of Layers, whose headers are whole; fields that are
	// in it are shown. Its Len is 0 where none are, or nothing was missing.
	cut Layer

	depth uint8 // tunnels entered
}

// MaxLayers bounds the headers of one frame that are listed. A real mirror of a
// tagged tunnel has about 15; the rest is for stacked tags. A frame with more
// is malformed, though it is decoded to its end.
const MaxLayers = 32

// MaxTunnels bounds tunnels inside one another. ERSPAN around VXLAN around a
// tagged frame is 2; nothing real has 8.
const MaxTunnels = 8

// Layer says where one header's bytes are in Packet.Data.
type Layer struct {
	Kind LayerKind
	Off  uint32
	Len  uint32
}

// Layers are the headers of the packet from the outside in. The slice is
// valid until the packet is decoded into again.
func (p *Packet) Layers() []Layer { return p.layers[:p.numLayers] }

// shown are Layers and behind them the header that was cut, if there is one,
// and without bytes an ICRC or VCRC that is not in the frame, of which it is
// known that it can't be verified.
func (p *Packet) shown() []Layer { return p.layers[:p.numShown] }

// Cut is the header that decoding stopped at because not all of it was there,
// and which bytes of it are; ok is false where there is none. It is not one of
// Layers.
func (p *Packet) Cut() (l Layer, ok bool) { return p.cut, p.cut.Len > 0 }

// Layer finds the innermost header of a kind.
func (p *Packet) Layer(k LayerKind) (Layer, bool) {
	for i := int(p.numLayers) - 1; i >= 0; i-- {
		if p.layers[i].Kind == k {
			return p.layers[i], true
		}
	}
	return Layer{}, false
}

func (p *Packet) has(k LayerKind) bool {
	_, ok := p.Layer(k)
	return ok
}

// Bytes are the layer's bytes.
func (p *Packet) Bytes(l Layer) []byte { return p.Data[l.Off : l.Off+l.Len] }

// RoCE says whether the packet counts as RoCE or native InfiniBand.
func (p *Packet) RoCE() bool { return p.Kind >= KindRoCEv1 && p.Kind <= KindIB }

// Truncated says whether the frame was cut short, by the capture or by a
// mirror before it.
func (p *Packet) Truncated() bool { return p.Flags&(Snapped|MirrorCut) != 0 }

// Malformed says whether the packet's headers contradict one another or the
// frame's length.
func (p *Packet) Malformed() bool { return p.Flags&Malformed != 0 }

// DSCP is the differentiated services code point of the innermost IP header or
// GRH.
func (p *Packet) DSCP() uint8 { return p.TOS >> 2 }

// ECN is the congestion field of the innermost IP header or GRH (RFC 3168): 0
// not ECT, 1 ECT(1), 2 ECT(0), 3 CE.
func (p *Packet) ECN() uint8 { return p.TOS & 3 }

// Kind is what a frame is.
type Kind uint8

// The kinds of frames.
const (
	KindOther       Kind = iota // an ethertype or IP protocol that is none of the below
	KindRoCEv1                  // ethertype 0x8915
	KindRoCEv2                  // UDP destination port 4791, or a further one of Config.RoCEPorts
	KindIB                      // native InfiniBand with a BTH
	KindIBRaw                   // native InfiniBand without one
	KindPFC                     // MAC control, priority-based flow control
	KindPause                   // MAC control, 802.3x PAUSE
	KindMACControl              // MAC control with another opcode
	KindTCP                     // TCP that is not known to be iWARP
	KindIWARP                   // MPA over TCP: RDMA, but not RoCE
	KindUDP                     // other UDP
	KindICMP                    // ICMP and ICMPv6, whatever they quote
	KindFragment                // an IP fragment that is not the first
	KindARP                     //
	KindLLC                     // IEEE 802.3 length and LLC
	KindIPoIB                   // IP over InfiniBand captured above InfiniBand (link type 242)
	KindUnknownLink             // a link type that is not decoded
	numKinds
)

var kindNames = [numKinds]string{
	"other", "RoCEv1", "RoCEv2", "InfiniBand", "InfiniBand raw", "PFC", "PAUSE", "MAC control",
	"TCP", "iWARP", "UDP", "ICMP", "IP fragment", "ARP", "LLC", "IPoIB", "unknown link type",
}

func (k Kind) String() string { return kindNames[k] }

// Flags are what else is known of a frame.
type Flags uint16

// The flags.
const (
	Snapped        Flags = 1 << iota // the capture kept less than was on the wire
	MirrorCut                        // the frame was cut before it was captured: a length inside says more than there is
	Malformed                        // headers contradict one another, see Err
	Tagged                           // VLAN is valid
	Fragment                         // an IP fragment, the first one included
	IPOptions                        // IPv4 options or IPv6 extension headers before UDP
	LengthsDiffer                    // UDP's length is not what IP leaves for it
	CarriesIPoIB                     // native InfiniBand whose payload is IP over InfiniBand
	QuotesRoCE                       // an ICMP error that quotes a RoCEv2 packet
	CNPBodyNotZero                   // a CNP whose 16 reserved bytes are not all zero
	UnknownInner                     // a tunnel or tag with an inner ethertype that is not decoded
)

// Encap is a set of encapsulations.
type Encap uint32

// The encapsulations.
const (
	EncapVLAN Encap = 1 << iota // exactly one tag in any Ethernet header
	EncapQinQ                   // two tags or more in one Ethernet header; EncapVLAN is then not set
	EncapERSPAN1
	EncapERSPAN2
	EncapERSPAN3
	EncapVXLAN
	EncapGeneve
	EncapGRE   // GRE with IP or Ethernet inside, NVGRE included; not ERSPAN
	EncapNVGRE // GRE with Ethernet inside and a key: VNI holds the virtual subnet
	EncapMPLS
	EncapIPIP // IP directly inside IP
	EncapVNTag
	EncapTTag
	EncapCMD
	EncapAVSP
	numEncaps = iota
)

var encapNames = [numEncaps]string{
	"vlan", "qinq", "erspan1", "erspan2", "erspan3", "vxlan", "geneve", "gre", "nvgre", "mpls",
	"ipip", "vntag", "ttag", "cmd", "avsp",
}

// Name is the lower-case name of one encapsulation, as in the JSON report.
// e has exactly one bit.
func (e Encap) Name() string {
	for i := range encapNames {
		if e == 1<<i {
			return encapNames[i]
		}
	}
	return ""
}

// Encaps are all encapsulations, one bit each, in the report's order.
func Encaps() []Encap {
	all := make([]Encap, numEncaps)
	for i := range all {
		all[i] = 1 << i
	}
	return all
}

// Headers is a set of transport headers.
type Headers uint32

// The transport headers.
const (
	HasBTH Headers = 1 << iota
	HasRDETH
	HasDETH
	HasRETH
	HasAtomicETH
	HasAETH
	HasAtomicAckETH
	HasImmDt
	HasIETH
	HasXRCETH
	HasFETH
	HasMAD
)

// BTHFlags are the single bits of the BTH.
type BTHFlags uint8

// The bits of the BTH, those of one byte side by side as they are there.
const (
	AckReq    BTHFlags = 1 << (iota + 3) // A
	BECN                                 // B
	FECN                                 // F
	MigReq                               // M
	Solicited                            // SE
)

// ICRCStatus is what is known of a packet's ICRC (or VCRC).
type ICRCStatus uint8

// The states of an ICRC.
const (
	ICRCNone         ICRCStatus = iota // the packet has none
	ICRCUnchecked                      // whole and present; VerifyICRC was not called
	ICRCGood                           //
	ICRCBad                            // ICRCExpected says what it should be
	ICRCUnverifiable                   // can't be told, see ICRCReason
)

func (s ICRCStatus) String() string {
	return [...]string{"none", "unchecked", "good", "bad", "unverifiable"}[s]
}

// ICRCReason is why an ICRC is unverifiable.
type ICRCReason uint8

// The reasons.
const (
	ICRCReasonNone      ICRCReason = iota
	ICRCReasonTruncated            // not all protected bytes were captured
	ICRCReasonFragment             // an IP fragment
	ICRCReasonOptions              // IP options or extension headers: the specification leaves open what is protected
)

func (r ICRCReason) String() string {
	return [...]string{"", "truncated", "fragment", "IP options"}[r]
}

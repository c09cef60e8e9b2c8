package decode

// LayerKind names a header.
type LayerKind uint8

// The headers that are told apart.
const (
	LayerNone LayerKind = iota
	LayerERF            // ERF record header with its extension headers
	LayerEthernet
	LayerSLL
	LayerSLL2
	LayerNull
	LayerVLAN // tag control information and the ethertype behind it
	LayerSTag // the same with 802.1ad's TPID, 0x88a8
	LayerVNTag
	LayerTTag
	LayerCMD
	LayerAVSP
	LayerMPLS
	LayerControlWord // of an Ethernet pseudowire
	LayerLLC
	LayerARP
	LayerIPv4
	LayerIPv6
	LayerIPv6Ext
	LayerUDP
	LayerTCP
	LayerICMP
	LayerICMPv6
	LayerGRE
	LayerERSPAN1 // no bytes of its own
	LayerERSPAN2
	LayerERSPAN3
	LayerERSPAN3Sub // platform specific sub-header
	LayerVXLAN
	LayerGeneve
	LayerMACControl
	LayerMPA // iWARP
	LayerIPoIB
	LayerLRH
	LayerGRH
	LayerBTH
	LayerRDETH
	LayerDETH
	LayerRETH
	LayerAtomicETH
	LayerAETH
	LayerAtomicAckETH
	LayerImmDt
	LayerIETH
	LayerXRCETH
	LayerFETH
	LayerCNPReserved
	LayerMAD // the common header
	LayerPayload
	LayerPad
	LayerICRC
	LayerVCRC
	LayerData // bytes that nothing decodes
	numLayerKinds
)

// Sets of layers are bits of a uint64.
const _ = uint(64 - numLayerKinds)

var layerNames = [numLayerKinds]string{
	"none", "ERF", "Ethernet", "SLL", "SLL2", "null", "VLAN", "802.1ad", "VN-tag", "TTag", "CMD", "AVSP", "MPLS", "control word", "LLC",
	"ARP", "IPv4", "IPv6", "IPv6 extension", "UDP", "TCP", "ICMP", "ICMPv6", "GRE", "ERSPAN I", "ERSPAN II", "ERSPAN III",
	"ERSPAN III sub-header", "VXLAN", "Geneve", "MAC control", "MPA", "IPoIB", "LRH", "GRH", "BTH", "RDETH",
	"DETH", "RETH", "AtomicETH", "AETH", "AtomicAckETH", "ImmDt", "IETH", "XRCETH", "FETH", "CNP reserved",
	"MAD", "payload", "pad", "ICRC", "VCRC", "data",
}

func (k LayerKind) String() string { return layerNames[k] }

package decode

import "golang.org/x/net/bpf"

const (
	// keepAll is more than the longest frame.
	keepAll = 1 << 18
	// maxKernelTags is how many VLAN tags the kernel's filter looks behind.
	// Frames with more are kept: they are rare, and the decoder looks for itself.
	maxKernelTags = 2
)

// MinSnapLen is how many bytes of a frame are the least that tells of RoCE: the headers
// of Ethernet, IPv4 and UDP, and the BTH. All else has more before the BTH.
const MinSnapLen = ethernetLen + ipv4Len + udpLen + bthLen

// KernelFilter is a filter for the kernel (classic BPF, for Ethernet frames) that
// keeps what may be RoCE or speak of it, or of flow control: RoCE on UDP port
// 4791 and the ports of cfg, RoCEv1, MAC control, ICMP, and all tunnels and tags
// that this package looks into. It drops the rest, TCP above all.
//
// The outermost VLAN tag may be there or not: the kernel takes it out. It keeps
// snaplen bytes of a frame, or all with 0. The kernel takes no filter for more
// than some 200 ports.
func KernelFilter(cfg Config, snaplen uint32) ([]bpf.RawInstruction, error) {
	if snaplen == 0 || snaplen > keepAll {
		snaplen = keepAll
	}
	f := kernelFilter{keep: bpf.RetConstant{Val: snaplen}, ports: []uint16{RoCEv2Port, portVXLAN, portVXLANLinux, portVXLANGPE, portGeneve}}
	f.ports = append(f.ports, cfg.RoCEPorts...)
	return bpf.Assemble(f.ethernet(0))
}

type kernelFilter struct {
	keep  bpf.RetConstant
	ports []uint16
}

// ethernet filters a frame whose ethertype is behind so many tags.
func (f *kernelFilter) ethernet(tags uint32) []bpf.Instruction {
	const tagLen = 4
	at := ethernetLen + tags*tagLen
	list := []bpf.Instruction{bpf.LoadAbsolute{Off: at - 2, Size: 2}}
	for _, et := range []uint32{etherRoCEv1, etherMACControl, etherMPLS, etherMPLSMulti, etherVNTag, etherTTag, etherCMD, etherAVSP} {
		list = append(list, f.keepIf(et)...)
	}
	list = append(list, when(bpf.JumpEqual, etherIPv4, f.ipv4(at))...)
	list = append(list, when(bpf.JumpEqual, etherIPv6, f.ipv6(at))...)
	// IEEE 802.3: of LLC, SNAP may lead back to an ethertype.
	const snap = 0xaa
	llc := append([]bpf.Instruction{bpf.LoadAbsolute{Off: at, Size: 1}}, f.keepIf(snap)...)
	list = append(list, when(bpf.JumpLessThan, minEtherType, append(llc, drop))...)
	for _, et := range []uint32{etherVLAN, etherQinQ, etherQinQ91, etherQinQ92, etherQinQ93} {
		if tags == maxKernelTags {
			list = append(list, f.keepIf(et)...)
			continue
		}
		list = append(list, bpf.JumpIf{Cond: bpf.JumpEqual, Val: et, SkipFalse: 1}, bpf.Jump{})
	}
	list = append(list, drop)
	// Tags lead to what is behind all of this.
	for i, ins := range list {
		if j, ok := ins.(bpf.Jump); ok && j.Skip == 0 {
			list[i] = bpf.Jump{Skip: uint32(len(list) - i - 1)}
		}
	}
	if tags < maxKernelTags {
		list = append(list, f.ethernet(tags+1)...)
	}
	return list
}

var drop = bpf.RetConstant{Val: 0}

// keepIf keeps the frame if what was loaded is val.
func (f *kernelFilter) keepIf(val uint32) []bpf.Instruction {
	return []bpf.Instruction{bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: val, SkipTrue: 1}, f.keep}
}

// when goes through a list if what was loaded is so. The list must end with a
// verdict.
func when(cond bpf.JumpTest, val uint32, list []bpf.Instruction) []bpf.Instruction {
	return append([]bpf.Instruction{bpf.JumpIf{Cond: cond, Val: val, SkipTrue: 1}, bpf.Jump{Skip: uint32(len(list))}}, list...)
}

// protocols adds to a list that what was loaded is kept where it is one of
// protos.
func (f *kernelFilter) protocols(list []bpf.Instruction, protos ...uint32) []bpf.Instruction {
	for _, p := range protos {
		list = append(list, f.keepIf(p)...)
	}
	return list
}

// udp keeps what goes to one of the ports, which load loads.
func (f *kernelFilter) udp(load bpf.Instruction) []bpf.Instruction {
	list := []bpf.Instruction{load}
	for _, p := range f.ports {
		list = append(list, f.keepIf(uint32(p))...)
	}
	return append(list, drop)
}

func (f *kernelFilter) ipv4(at uint32) []bpf.Instruction {
	const proto, fragment, offsetMask = 9, 6, 0x1fff
	list := []bpf.Instruction{bpf.LoadAbsolute{Off: at + proto, Size: 1}}
	list = f.protocols(list, protoICMP, protoGRE, protoIPv4, protoIPv6, protoMPLS)
	udp := []bpf.Instruction{
		bpf.LoadAbsolute{Off: at + fragment, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: offsetMask, SkipFalse: 1},
		drop, // a later fragment: it has no port
		bpf.LoadMemShift{Off: at},
	}
	udp = append(udp, f.udp(bpf.LoadIndirect{Off: at + 2, Size: 2})...)
	return append(append(list, when(bpf.JumpEqual, protoUDP, udp)...), drop)
}

func (f *kernelFilter) ipv6(at uint32) []bpf.Instruction {
	const next, length = 6, 40
	list := []bpf.Instruction{bpf.LoadAbsolute{Off: at + next, Size: 1}}
	list = f.protocols(list, protoICMPv6, protoGRE, protoIPv4, protoIPv6, protoMPLS, protoHopByHop, protoRouting, protoDestOpts, protoMobility, protoFragment, protoAH)
	list = append(list, when(bpf.JumpEqual, protoUDP, f.udp(bpf.LoadAbsolute{Off: at + length + 2, Size: 2}))...)
	return append(list, drop)
}

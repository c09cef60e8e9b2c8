package decode

// MAD is the common header of a management datagram (24 bytes; InfiniBand
// Architecture Specification, volume 1, 13.4.2).
type MAD struct {
	BaseVersion  uint8
	Class        uint8
	ClassVersion uint8
	Method       uint8
	Status       uint16
	TID          uint64
	Attribute    uint16
	Modifier     uint32
}

// MACControl is a MAC control frame (IEEE 802.3 annex 31).
type MACControl struct {
	Opcode uint16
	// Enable has a bit for each priority whose time is meant (PFC). PAUSE sets
	// bit 0, and its time is Quanta[0].
	Enable uint8
	// Quanta are pause times in units of 512 bit times of the link; 0 resumes.
	Quanta [8]uint16
}

// ERSPAN is what a mirror's header says.
type ERSPAN struct {
	// Src and Dst are the mirror and who it sends to: the addresses of the IP
	// header outside.
	Src, Dst  Addr
	AddrKind  AddrKind
	Version   uint8  // 1, 2 or 3: the type
	Direction uint8  // type III: 0 ingress, 1 egress
	COS       uint8  // class of service, 3 bits
	Truncated bool   // T: the mirror cut the frame
	HasSeq    bool   // Sequence is valid
	VLAN      uint16 // 12 bits: the VLAN on the mirrored port
	Session   uint16 // 10 bits: the mirror session
	Sequence  uint32 // GRE sequence number
	Index     uint32 // type II: 20 bits, port index
	// Type III
	Timestamp   uint32
	Granularity uint8 // 0: 100 us, 1: 100 ns, 2: IEEE 1588, 3: user
	HardwareID  uint8
	FrameType   uint8 // 0 Ethernet, 2 IP
	SGT         uint16
	Encap       uint8 // type II and III: en / bso, 2 bits
}

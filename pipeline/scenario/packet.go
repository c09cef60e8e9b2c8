package scenario

// kind is what a packet is to the stream that it belongs to.
type kind uint8

const (
	kindRequest kind = iota
	kindAnswer
	kindCNP
	kindMAD
)

func (k kind) String() string {
	return [...]string{"request", "answer", "cnp", "cm"}[k]
}

// packet is a packet on its way. What is only known to the simulation stands
// beside what is in its headers.
type packet struct {
	sess   *session
	from   int // side: 0 is a, 1 is b
	stream int // whose requests these are, or answer
	kind   kind

	// psn counts from the stream's first one and never wraps.
	psn  uint64
	psns uint64 // how many PSNs it takes: 1, but for a READ request

	// Of requests: the requester's pass and the order of sending. Of answers:
	// the pass of the request that drew them.
	pass    int
	order   uint64
	resend  bool
	resumed bool // a READ asked for again from its middle
	copyOf  *Hit // of a duplicate made ahead of the tap
	nth     int  // how often this PSN was sent before, as a request or as an answer
	msg     int  // index into the stream's messages
	last    bool // ends its message
	corrupt bool
	copied  bool   // a duplicate that the network made
	frame   uint64 // in the file, 0 for none
	nak     *NAK   // the truth of a NAK
	cnp     *CNP   // likewise
	answers bool   // a CNP because of answers
	start   bool   // begins its message

	op       uint8
	ackReq   bool
	becn     bool
	ipid     uint16
	ecn      uint8
	dscp     uint8
	syndrome uint8
	msn      uint64
	va       uint64
	dmaLen   uint32
	key      uint32
	imm      uint32
	swapAdd  uint64
	compare  uint64
	payload  int
	mad      *madBody
	hits     []*Hit   // to be given the frame number
	damage   *Loss    // likewise, of a corrupt packet
	left     [2]int64 // when it left on each hop, where there are several points
}

// Two bits of the IP header's TOS (RFC 3168).
const (
	ecnECT0 = 2
	ecnCE   = 3
)

// DSCPs: 26 is the usual one of RoCE data, 48 that of CNPs.
const (
	dscpData = 26
	dscpCNP  = 48
)

const psnMask = 1<<24 - 1

// wirePSN is the PSN as it is in the packet's BTH.
func (p *packet) wirePSN() uint32 {
	switch p.kind {
	case kindCNP:
		return 0
	case kindMAD:
		return uint32(p.psn) & psnMask
	}
	return p.sess.wirePSN(p.stream, p.psn)
}

// destQP is the QP that the packet is for.
func (p *packet) destQP() uint32 {
	if p.kind == kindMAD {
		return 1
	}
	return p.sess.spec.side(1 - p.from).QPN
}

package cm

// The functions below are how the Linux kernel chooses the UDP source port of
// a queue pair (rdma_flow_label_to_udp_sport, rdma_calc_flow_label in
// ib_verbs.h). Adapters may do otherwise.

// PortOfLabel is the UDP source port that goes with a flow label: the highest
// two bits set, and the label's 20 bits folded into the other 14. For a
// connection made by connection management it is the label of its REQ.
func PortOfLabel(label uint32) uint16 {
	const low, high = 0x03fff, 0xfc000
	return uint16(label&low^label&high>>14) | 0xc000
}

// LabelOfQPNs is the flow label of a connection that was given none: both QPNs
// multiplied, and folded into 20 bits. It is the same both ways.
func LabelOfQPNs(a, b uint32) uint32 {
	v := uint64(a) * uint64(b)
	v ^= v >> 20
	v ^= v >> 40
	return uint32(v) & 0xfffff
}

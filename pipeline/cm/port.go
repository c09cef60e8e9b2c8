package cm

// The functions below are how the Linux kernel chooses the UDP source port of
// a queue pair (rdma_flow_label_to_udp_sport and rdma_calc_flow_label in
// ib_verbs.h; rxe_qp.c). Adapters may do otherwise.

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

// PortOfQPN is the UDP source port that Soft-RoCE (rxe_qp_init_req) gives to a
// queue pair by its own QPN alone: to a UD one, QP 1 included, and in older
// kernels to any. Such a port names the sender's queue pair, which a BTH
// doesn't, and differs between the two directions.
func PortOfQPN(own uint32) uint16 {
	const ratio = 0x61c88647 // the kernel's hash_32: multiplied, and the upper 14 bits
	return 0xc000 | uint16(own*ratio>>18)
}

package main

// example is a capture of the demo.
type example struct {
	name      string
	simulated bool
	packets   int // of those that can be as large as one likes
	about     string
}

// probe is who is said to have captured it.
func (c *example) probe() string {
	if c.simulated {
		return "simulated"
	}
	return "real"
}

// file is where a real one is.
func (c *example) file() string { return c.name + ".pcap.zst" }

// captures are those of the demo, in the order of their times. Together they have
// something to show in each panel of each board.
func captures() []example {
	return []example{
		{name: "nvmeof_connect_io", about: "NVMe over RDMA, and nothing is wrong"},
		{name: "nfs_rdma_v4", about: "NFS over RDMA, likewise"},
		{name: "iser_login_io", about: "iSER, likewise"},
		{name: "rdmacm_rping", about: "connections made and closed"},
		{name: "clean_mixed", simulated: true, about: "every kind of message, and nothing is wrong"},
		{name: "loss_before_write_1pct", about: "a lossy link: one packet in a hundred lost before the tap"},
		{name: "loss_after_send_1pct", about: "the same behind the tap"},
		{name: "nvmeof_fio_loss_after_1pct", about: "what that does to NVMe over RDMA"},
		{name: "loss_bidirectional", simulated: true, about: "losses in both directions of a session"},
		{name: "corrupt", simulated: true, about: "a bad cable: packets whose ICRC does not fit"},
		{name: "reorder_write", about: "packets that overtake each other, and are taken for lost"},
		{name: "rnr_slow_receiver", about: "a slow receiver: no buffer posted"},
		{name: "partition_retry_exceeded_write", about: "a host that falls silent, until the other gives up"},
		{name: "incast_bottleneck_drops_sw2A", about: "an incast: three hosts send to one through a slow port"},
		{name: "incast", simulated: true, about: "another, whose switch marks packets instead of dropping them"},
		{name: "microbursts", simulated: true, about: "bursts of four hosts to one"},
		{name: "ecn_ce_with_synthetic_cnp", about: "marks, and CNPs that the sender does not mind"},
		{name: "cnp", simulated: true, about: "marks, CNPs, and a sender that slows down"},
		{name: "cnp_marked_after", simulated: true, about: "CNPs without marks: the packets were marked behind the tap"},
		{name: "cnp_read", simulated: true, about: "the same with READs"},
		{name: "pfc_toggle", simulated: true, about: "PFC as it should be: short pauses"},
		{name: "pfc_tree", simulated: true, about: "a pause tree: a receiver stops three links"},
		{name: "pfc_storm", simulated: true, about: "a PFC storm: two priorities stand still for half a second"},
	}
}

package groundtruth_test

// exception is a quantity of a capture that the tap cannot know.
type exception struct {
	capture string
	// knowable is how many of them an observer at the tap can know, and what
	// the tracker must find.
	knowable int
	reason   string
}

// The reasons that several captures share.
const (
	noRequests = "The file has only what the requester received: its requests are not in it."
	noAnswers  = "The file has only what went to the responder: its answers are not in it."
	tailOfPass = "A packet lost at the end of a pass leaves no gap: nothing of that pass follows it at the tap. " +
		"Every other drop is found."
	droppedWhole = "The resends were dropped whole in the switch, ahead of the tap."
)

// exceptions are by quantity. Each must be needed: a capture that agrees with
// the truth makes the test fail.
var exceptions = map[string][]exception{
	"naks": {
		{"formats_write_onlyout", 0, noAnswers},
		{"incast_bottleneck_drops_sw2A", 0, noAnswers},
	},
	"tries": {
		{"corrupt_send_acks", 28, "Both packets of the only outstanding message (PSN 3888035 and 3888036) were altered on the way, " +
			"so that what the tap could believe of it first was the resend."},
		{"formats_write_onlyin", 0, noRequests},
		{"loss_atomic_3pct", 8, "One operation is outstanding at a time. Where its request is lost ahead of the tap, the resend is the first that the tap sees of it."},
		{"nvmeof_fio_loss_after_1pct", 5, "The kernel counted three retries that sent nothing: after a NAK that requester resends one message and " +
			"stalls until NVMe gives the connection up."},
		{"partition_heal_before", 0, "All packets since the partition began were lost ahead of the tap, their resends as well until it ended; what then came was new to the tap."},
		{"reorder_write", 33, "The resend of one step back was overtaken by the next one: its packets are late ones at the tap."},
		{"single_send_only_tail_before", 0, "The lost packet is the last one: its resend is the first that the tap sees of it."},
		{"vlan_two_prio_bottleneck_drops_sw2A", 1, droppedWhole},
	},
	"lost-before": {
		{"corrupt_send_acks", 8, "Altered last packets of messages were the last of their pass: no gap shows them, their ICRC does."},
		{"loss_atomic_3pct", 0, "One operation is outstanding at a time, so every lost request is the last of its pass."},
		{"single_send_only_tail_before", 0, tailOfPass},
		{"sweep_mtu1024_loss_1pct_quiet", 213, tailOfPass},
		{"sweep_mtu1024_loss_3pct_quiet", 1274, tailOfPass},
		{"sweep_mtu1024_loss_5pct_quiet", 3923, tailOfPass},
		{"sweep_mtu4096_loss_1pct_quiet", 180, tailOfPass},
		{"sweep_mtu4096_loss_3pct_quiet", 1597, tailOfPass},
		{"sweep_mtu4096_loss_5pct_quiet", 3518, tailOfPass},
		{"vlan_two_prio_bottleneck_drops_sw2A", 0, droppedWhole + " So were the first copies, up to the end of what the sender had outstanding."},
	},
	"responses-lost": {
		{"loss_atomic_3pct", 0, "One operation is outstanding at a time, and the tap sees the request go by, nothing come back, and the request again: " +
			"each is one loss of a request or of its answer, counted as lost behind the tap."},
	},
}

package finding

import "github.com/rocelens/rocelens/pipeline/record"

// driftCodes are those of findings on classes, configuration and crowds.
func driftCodes() []Code {
	info, warning := []record.Severity{record.Info}, []record.Severity{record.Warning}
	mostly := []record.Severity{record.Warning, record.Info}
	return []Code{
		{
			Code: "cm-timeouts", Severities: mostly,
			Summary:  "connections with timeouts or retry counts that can't work",
			Meaning:  "What the connection manager's REQ and REP say: an ACK timeout of 0, which is none; a retry count of 0, native InfiniBand aside, where IPoIB asks for it; an RNR retry count of 0, where RNR NAKs come. As info: less than 50 ms until the requester may give up, which is what protection switching may take (ITU-T G.8031), or an ACK timeout of 8 s or more. A timeout of n is 4.096 µs x 2^n, and it may expire retry count + 1 times; so the kernel computes it (drivers/infiniband/sw/rdmavt/qp.c). Hardware may wait up to four times as long. Connections whose set-up is not in the capture raise nothing.",
			Check:    "Where the values come from: the application, or rdma_cm's packet lifetime and `RDMA_OPTION_ID_ACK_TIMEOUT`.",
			False:    "An application that means to give up at once.",
			Evidence: "`connections`, " + streamsWith("`ack_timeout_ns`, `retry_count`, `rnr_retry` (the lower one), `why`"),
		},
		{
			Code: "cnp-class", Severities: mostly,
			Summary:  "CNPs in the class of the data",
			Meaning:  "At least 8 CNPs have the DSCP that most of the data has which they are to slow down. As info: with DSCP 0, which often means that nobody looks at it, and where CNPs have VLAN tags, whose priority may set them apart. CNPs whose session is not known are not among them.",
			Check:    "The DSCP of CNPs at the receivers, and that its class has strict priority in the switches. The report's `classes` has the CNPs of each.",
			False:    "A DSCP that a switch ahead of the tap rewrote.",
			Evidence: "`cnps`, " + streamsWith("`cnps`, `dscp`"),
		},
		{
			Code: "dscp-drift", Severities: mostly,
			Summary:  "one QP's packets in several classes",
			Meaning:  "What one side sends on a QP has several DSCPs or VLAN priorities, CNPs aside: at least 3 packets, and more than its answers could be, which some NICs put in a class of their own. Or data goes both ways, and the two directions have no DSCP in common. As info: one of them has answers alone. A QP has one traffic class from its set-up on, so that somebody on the way rewrites it, or both ends are set up differently. The first 65,536 sessions are looked at.",
			Check:    "What each end sets, the trust mode of the switch ports, and policies that rewrite the DSCP.",
			False:    "A mirror of two ports, ahead of a switch that rewrites the DSCP and behind it; several connections taken for one.",
			Evidence: "`not_listed` (streams beyond 1,024), " + streamsWith("`dscp` and `other_dscp`, or `priority` and `other_priority`; `packets`"),
		},
		{
			Code: "ecmp-polarized", Severities: info,
			Summary:  "one UDP source port for many QPs",
			Meaning:  "At least 8 QPs with data from one host to another, all of them with the same UDP source port. Switches that choose among equal paths by addresses and ports send all of that one way. The first 65,536 sessions are looked at.",
			Check:    "How paths are chosen; what sets the source port: the flow label, both QPNs, or the application.",
			False:    "Networks with one path, or with switches that look at more.",
			Evidence: "`ways` (from one host to another), `qps`, `worst` (`from`, `to`, `port`, `qps`)",
		},
		{
			Code: "gid-unroutable", Severities: warning,
			Summary:  "addresses that no router connects",
			Meaning:  "A connection was asked for, or requests were sent, in vain, and the addresses tell why: one is link-local and the other is not; or it is RoCEv1, which has no IP header for a router, and the GIDs have different prefixes, or only one stands for an IPv4 address. Which IPv4 addresses are in one subnet no packet says.",
			Check:    "The GID index that each end uses: type and address.",
			False:    "An end that is down, in a subnet with several prefixes.",
			Evidence: "`qps`, " + streamsWith("`why`, `version`"),
		},
		{
			Code: "incast", Severities: mostly,
			Summary:  "several hosts send to one at the same time, and it does not go well",
			Meaning:  "The sessions of at least two hosts that send data to one, 32 packets or more each, and none less than an eighth of what another one sends, overlap in time, and one of them loses packets or gets RNR NAKs; or two of them are marked for congestion, or have ACK timeouts. A warning where two of them lose packets or get RNR NAKs, or have timeouts, or where a tenth of their packets is marked. That they sent in one burst is not known: it is first and last packets that are compared. Packets of UC and UD that are missing do not count. Not where a sender loses as well what it sends to others. The first 65,536 sessions are looked at.",
			Check:    "The queue of the switch port towards the receiver, its ECN thresholds, and the application's pattern.",
			False:    "Losses on the own link of a sender that sends to nobody else; sessions that are idle most of the time.",
			Evidence: "`receivers`, `worst` (`receiver`, `senders`, and `others` that sent at other times; `lasted_ns` of all senders at once; `packets`, `lost`, `rnr_naks`, `marked`, `timeouts` of theirs), `first`",
		},
		{
			Code: "migreq-differs", Severities: info,
			Summary:  "one end sets MigReq in the BTH, the other does not",
			Meaning:  "All packets that one end of a session sent have the bit MigReq, and none that the other end sent: at least 3 each, CNPs aside. The bit belongs to path migration, which RoCE does not use; NICs set it (their QPs are in the state Migrated), Soft-RoCE and some FPGAs do not. It is noted for whoever compares the headers of two implementations that do not work together, and blamed for nothing. The first 65,536 sessions are looked at.",
			Check:    "Nothing, where both ends talk to each other. Where they don't: the path migration state that each end sets its QPs to, and the other fields of the BTH.",
			False:    "An implementation that sets the bit in requests and not in answers, in a session that has data one way alone: then both ends may be alike.",
			Evidence: "`packets_set`, `packets_clear`, `not_listed` (sessions beyond 1,024), " + streamsWith("of the end that sets it, `packets_set` and `packets_clear` of the other end"),
		},
		{
			Code: "mixed-mtu", Severities: info,
			Summary:  "sessions between the same hosts with different path MTUs",
			Meaning:  "The path MTU is what the connection manager says, else what First and Middle packets carry. Each session works with its own, so nothing is wrong with either. The first 65,536 sessions are looked at.",
			Check:    "What the applications ask for, and the MTU of the ports.",
			False:    "An application that chooses a small one on purpose; a capture over a change of settings.",
			Evidence: "`pairs_affected`, `pairs` (`a`, `b`, `path_mtus`, `sessions`)",
		},
		{
			Code: "not-ect", Severities: info,
			Summary:  "data that can't be marked for congestion, among other that can",
			Meaning:  "At least 16 packets of a direction with data have the ECN field 0 (not-ECT), all of them, while most packets of other sessions' data in this capture can be marked. Where no RoCE can be, nothing is said: that is a choice. The first 65,536 sessions are looked at.",
			Check:    "The traffic class of the QP, and whether congestion control is on for that priority in the NIC.",
			False:    "A class without ECN on purpose.",
			Evidence: "`without`, `with` (directions), " + streamsWith("`packets`"),
		},
		{
			Code: "pkey-mismatch", Severities: warning,
			Summary:  "the two ends have different partitions",
			Meaning:  "The P_Keys of a session's two directions, or of one and of the REQ that made it, do not match: another partition in the lower 15 bits, or two limited members, of whom neither has bit 15. That of most packets counts, CNPs aside, and it takes 3. The first 65,536 sessions are looked at.",
			Check:    "The P_Key tables of both ends, and the P_Key index of each QP.",
			False:    "NICs that do not check P_Keys on Ethernet.",
			Evidence: "`not_listed` (sessions beyond 1,024), " + streamsWith("`p_key`, `other_p_key`, `packets`"),
		},
	}
}

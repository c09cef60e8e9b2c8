package finding

import "github.com/rocelens/rocelens/pipeline/record"

// onRow is the evidence that names a row of the report's pause table.
const onRow = "`src_mac`, `input`, `interface`, `type`, `priority` with PFC"

// pauseCodes are those of findings from PFC and PAUSE frames.
func pauseCodes() []Code {
	info, warning, critical := []record.Severity{record.Info}, []record.Severity{record.Warning}, []record.Severity{record.Critical}
	return []Code{
		{
			Code: "pause-deadlock-suspect", Severities: critical,
			Summary:  "stations that pause one another in a circle",
			Meaning:  "At least three stations, at as many links, each pause the next one, the last one the first, all of them in a storm (see pfc-storm) at the same time for at least half of a storm's window. Who is at the other end of a link is told by its MAC address: it sends PFC or PAUSE there too, or exchanges packets with the one that pauses.",
			Check:    "Routes that form a circle, as after a failed link; flooding of unknown MAC addresses; a loop. Then the drops of PFC watchdogs.",
			False:    "Three storms that have one cause and last as long, between stations that happen to form a circle. MAC addresses that are behind several ports.",
			Evidence: "`circles`, `worst` (`lasted_ns`, `pausers`: " + onRow + "), `first`",
		},
		{
			Code: "pause-ignored", Severities: warning,
			Summary:  "a station that goes on sending while it is paused",
			Meaning:  "At least 8 RoCE packets of a paused priority came to the station that pauses it, later than the other end needs to stop: 10 µs and the time of two frames of 9,216 bytes at that speed. IEEE 802.3 (annex 31B) allows a few microseconds; the rest is for cables, frames that are on their way, and time stamps. Packets have the priority of their VLAN tag, else that of `--dscp-map`. Not where several stations send them, or more than two pause others at the interface: that is no single link.",
			Check:    "Flow control of that sender, for the priority and the received direction; whether both ends classify alike, by VLAN priority or by DSCP; and that the interface mirrors one port.",
			False:    "Packets that were on their way over a long link, a capture whose interfaces have different delays, a priority that the DSCP map gives wrongly.",
			Evidence: "`packets`, `worst` (" + onRow + "; `from`, `packets`, `pauses` with such packets, `of_pauses`, `latest_ns`, `frame`), `first`",
		},
		{
			Code: "pause-speed-unknown", Severities: info,
			Summary:  "pauses whose length can't be told",
			Meaning:  "PFC and PAUSE frames give times in units of 512 bit times, and neither the capture (pcapng's if_speed) nor the user says how fast the link is. Frames and units are counted; pauses, shares, storms and what follows from them are not known.",
			Check:    "The speed of the captured port: `--link-speed 100G`, or `--link-speed eth0=100G` for one interface.",
			False:    "None: it only says what is missing.",
			Evidence: "`rows` (of the report's `pause`), `frames` (that stop traffic, of the row with the most), `first`",
		},
		{
			Code: "pause-time", Severities: []record.Severity{record.Warning, record.Info},
			Summary:  "priorities that are paused for much of the time",
			Meaning:  "A priority, or with 802.3x PAUSE all traffic, was paused for a tenth of the capture's time or more; as info, for a hundredth. At least for a millisecond in all. Storms are not among them: see pfc-storm. Paused traffic is not dropped, so that no counter of drops shows it.",
			Check:    "Where the traffic of the sender goes on to: the congestion is there, or behind it. ECN thresholds, which should slow senders down before PFC has to.",
			False:    "A link speed that is given wrongly: at twice the speed each pause is half as long. A station that sends pauses long after they are needed, on a link without traffic.",
			Evidence: "`rows` (of the report's `pause`), `worst` (" + onRow + "; `paused_ns`, `share`, `pauses`, `longest_ns`), `first`",
		},
		{
			Code: "pause-tree", Severities: warning,
			Summary:  "a pause that spreads to other links",
			Meaning:  "Where several links are captured: a station that is paused at one began to pause others at another, of the same priority. At least half of its pauses began while it was paused itself, and at least 3, or one of 10 ms. Who is at the other end of a link is told as for pause-deadlock-suspect. The root is paused by nobody in the capture.",
			Check:    "Why the station at the root does not take what it gets.",
			False:    "Two stations that are congested at the same time for different reasons: half of the pauses of one have to begin while it is paused itself.",
			Evidence: "`trees`, `worst` (of the root: " + onRow + "; `links`, `spreads`: `paused_by`, `at`, `src_mac`, `then`, `began`, `pauses`), `first`",
		},
		{
			Code: "pause-victims", Severities: []record.Severity{record.Warning, record.Info},
			Summary:  "sessions that stood still while they were paused",
			Meaning:  "While their priority, or with 802.3x PAUSE all traffic, was paused on their way, they sent less than half of what they sent otherwise. They sent until shortly before pauses and went on shortly after, shortly being as long as the pause; or the capture ended in it. Three pauses and 100 µs in all will do, or 10 ms, if they would have sent 8 packets or more. A warning where one waited for a tenth of its time. Packets have the priority of their VLAN tag, else that of `--dscp-map`.",
			Check:    "Who sends the pause (pfc-storm, pause-time), and where pause-tree says that it comes from. Latencies and timeouts of these sessions follow from it.",
			False:    "An application that has nothing to send just while it is paused, again and again.",
			Evidence: "`waited_ns` (the longest), " + streamsWith("`waited_ns`, `paused_ns`, `rate` and `rate_paused` in bits a second, "+onRow),
		},
		{
			Code: "pause-zero-mac", Severities: warning,
			Summary:  "pauses from a station without an address",
			Meaning:  "PFC or PAUSE frames have the source address 00:00:00:00:00:00. No standard lets a station send from it, and the other end of the link obeys all the same. They are kept apart from those of others, as a sender of their own.",
			Check:    "Which port of the switch counts received pause frames, and what is connected to it: a network adapter that is broken or hangs.",
			False:    "A capture or a mirror that blanks out addresses.",
			Evidence: "`frames` (what they say of each priority counts once), `xoff` (of them, those that stop traffic), `rows` (" + onRow + "; `frames`, `xoff`), `first`",
		},
		{
			Code: "pfc-not-visible", Severities: info,
			Summary:  "no PFC or PAUSE frame is visible at this tap",
			Meaning:  "There is RoCE over Ethernet, another finding makes one ask for flow control (losses, timeouts, silences, marks, incast), and no PFC or PAUSE frame is in the capture. That does not mean that there were none: NICs and switch ports take them out, mirrors rarely pass them on, and filters for RoCE leave them out. A report without this finding says the same in its line on flow control.",
			Check:    "The pause counters of NICs and switch ports for the priority of this traffic; or a capture on the link itself.",
			False:    "None: it says what the capture does not show. PFC need not be wanted on that network at all.",
			Evidence: "`packets` (of RoCE)",
		},
		{
			Code: "pfc-storm", Severities: critical,
			Summary:  "a station that keeps others paused",
			Meaning:  "A priority, or with 802.3x PAUSE all traffic, was paused for more than 90 % of 200 ms (`--storm-share`, `--storm-window`), which is looked at in steps of a sixteenth. 200 ms is when PFC watchdogs step in by default: SONiC's detects after 200 ms and restores after 200 ms (`pfcwd start_default`), Junos' polls every 100 ms, detects after two polls and recovers after 200 ms. Refreshes do not make another storm, nor do breaks shorter than the window, and all priorities of one sender that are paused so at the same time are one storm. It ends when less than half of that share is paused. Only where the speed of the link is known.",
			Check:    "Who sends it: a host that hangs or is too slow, or a switch whose own way out is paused. Whether a watchdog is configured at the other end.",
			False:    "A link speed that is given wrongly. A test that sends pauses on purpose. Storms of priorities that carry nothing harm nobody.",
			Evidence: "`storms`, `lasted_ns` (the longest), `worst` (`src_mac`, `input`, `interface`, `type`, `priorities` with PFC, `lasted_ns`, `paused_ns` and `frames` of the priority with the most, `ended` before the capture did, `frame`), `first`",
		},
	}
}

package finding

import (
	"slices"
	"strings"

	"github.com/rocelens/rocelens/pipeline/record"
)

// Code documents one kind of finding. The code itself is a contract.
type Code struct {
	Code string
	// Severities are those that it can have, the usual one first.
	Severities []record.Severity
	Summary    string // a line for the table
	Meaning    string // when it is raised, and what it says
	Check      string // what to look at next
	False      string // false positives: when it is raised and nothing of the kind is wrong
	Evidence   string // the keys that it always has
}

// Codes are all kinds of findings, in the order of their codes.
func Codes() []Code {
	all := slices.Concat(packetCodes(), sessionCodes(), pauseCodes(), congestionCodes(), driftCodes())
	slices.SortFunc(all, func(a, b Code) int { return strings.Compare(a.Code, b.Code) })
	return all
}

// packetCodes are those of findings from packets and inputs.
func packetCodes() []Code {
	info, warning, critical := []record.Severity{record.Info}, []record.Severity{record.Warning}, []record.Severity{record.Critical}
	return []Code{
		{
			Code: "capture-drops", Severities: warning,
			Summary:  "the capture itself lost packets",
			Meaning:  "Whoever captured says so: pcapng's statistics and drop counts, or ERF's loss counters. Packets that are missing then need not have been lost by the network. A file that records nothing of it raises nothing.",
			Check:    "The capturing program's buffer and disk. Keeping 128 bytes of each packet is enough for everything but the ICRC.",
			False:    "Drops that were counted before the capture began or for other interfaces: some programs copy the system's totals into the file.",
			Evidence: "`drops`, `inputs` (`path`, `drops`, `packets`), `missing_in_sessions` (packets that sessions show to be missing, see capture-loss)",
		},
		{
			Code: "cnp-reserved", Severities: info,
			Summary:  "CNPs whose reserved bytes are not zero",
			Meaning:  "A CNP's 16 bytes after the BTH are reserved and sent as zero. Receivers ignore them.",
			Check:    "Nothing, unless you build the NIC.",
			False:    "Vendors that put something there on purpose.",
			Evidence: "`packets`, `cnps`",
		},
		{
			Code: "copies-apart", Severities: []record.Severity{record.Warning, record.Info},
			Summary:  "the same packets come again later",
			Meaning:  "A sample of 1,024 RoCE packets is compared with all that come later than 10 ms, or that many packets later that mirrored-twice does not find them. At least 8 and one in a hundred of them come again, with the same bytes and the same IP ID. Where there is no IP ID, half of the packets have to come again in another input, all equally late. Between two inputs that is a clock that is off. As info: within one input. How many copies there are in all is not known: `capture.duplicates` is null.",
			Check:    "The clocks of the machines that captured. Give captures of the same traffic to rocelens one by one.",
			False:    "Payload that repeats, with IP IDs that repeat too: a traffic generator that sends the same packets again and again.",
			Evidence: "`again`, `sampled`, `share`, `inputs` (`from` and `to`, indices into the report's inputs; `again`; `low_ns` and `high_ns`, the time from one to the other), `first`",
		},
		{
			Code: "icmp-error", Severities: warning,
			Summary:  "ICMP errors about RoCEv2 packets",
			Meaning:  "A host or router refused RoCEv2 packets and said so: the ICMP or ICMPv6 error quotes them. The finding names who says it, and what.",
			Check:    "What the finding says of that error: a firewall on UDP 4791, a host without RoCE on that address, a missing route, an MTU that is too small on the way.",
			False:    "A host that is restarted or not ready yet; errors that quote packets which somebody forged.",
			Evidence: "`packets`, `errors` (`sender`, `protocol`, `type`, `code`, `meaning`, `packets`), `errors_of_others` (beyond the 64 senders and reasons that are told apart), `first`",
		},
		{
			Code: "icrc-bad", Severities: critical,
			Summary:  "packets that were changed on the way",
			Meaning:  "The ICRC covers all that may not change between sender and receiver, so a wrong one means corruption, or a sender that computes it wrongly at times. Receivers drop such packets. Senders that are wrong every time are not among them: see icrc-not-computed.",
			Check:    "Error counters (FCS, symbol, FEC) of every link between the senders and the tap. Where all are zero: devices that rewrite packets, the sender's NIC and memory.",
			False:    "Devices that rewrite what the ICRC covers, as address translation does: packets are changed on the way then, but no link is to blame. A mirror that does so.",
			Evidence: "`bad`, `checked`, `share`, `senders` (the worst: `addr`, `bad`, `checked`, `share`), `senders_with_bad`, `bad_of_others` (of senders beyond the 512 that are told apart), `first`",
		},
		{
			Code: "icrc-not-computed", Severities: warning,
			Summary:  "a sender that leaves the ICRC out",
			Meaning:  "Not one ICRC of that sender is right, and there are at least three. One with fewer is counted in if its ICRC is a constant that was seen three times in all. Often the ICRC is a constant, and the finding names it. A sender that has right ones as well counts if the wrong ones, 8 or more, are all one constant: packets that are changed on the way keep ICRCs that differ. Where it is no constant, the sender may compute it wrongly, or a device on the way may rewrite addresses or ports, which the ICRC covers.",
			Check:    "Whether the receivers answer: one that checks the ICRC drops every packet. FPGA and programmable-switch stacks often leave it out; a tap ahead of the hardware that puts it in sees the same.",
			False:    "A capture on the sending host, ahead of a NIC that puts the ICRC in. A mirror that rewrites something that the ICRC covers in all packets of a host.",
			Evidence: "`bad`, `senders` (`addr`, `bad`, `checked`, `share`, and `constant` where it is one), `senders_not_computing`, `first`",
		},
		{
			Code: "input-damaged", Severities: warning,
			Summary:  "an input could not be read to its end",
			Meaning:  "It is cut or damaged, or no capture at all. What came before the damage is in the report. Or a compressed stream is whole, and something that is none of it follows in the file: then all packets are in the report, and the finding says so. The exit code is 2.",
			Check:    "Whether it is still being written, and how it was copied.",
			False:    "A file that is still being written, read too early.",
			Evidence: "`inputs` (`path`, `offset`, `reason`, `packets`), `damaged`",
		},
		{
			Code: "malformed", Severities: warning,
			Summary:  "packets whose headers contradict one another",
			Meaning:  "A length, version or pad count does not fit the headers around it. Packets that were merely cut are not malformed.",
			Check:    "The first of them: the finding has the command that shows it.",
			False:    "Another protocol on UDP port 4791; encapsulations that rocelens does not know.",
			Evidence: "`packets`, `share`, `first`",
		},
		{
			Code: "mirrored-twice", Severities: warning,
			Summary:  "the same packets were captured at two places",
			Meaning:  "Of a direction with at least 8 packets, nine in ten are there twice or oftener within 10 ms with the same bytes (fields that change on the way aside) and the same IP ID; or half of them are, from another interface or with another MAC address, VLAN or TTL. A retransmission has a new IP ID. Where there is none (zero, constant, IPv6) nine in ten have to be there equally often, up to 8 times, or a multiple of that: a packet that is there four times among others that are there twice was sent again, and two of the four are copies. The finding says in what the copies differ: `input` (the file), `interface`, `direction` (sent or received, in Linux cooked captures), `mac`, `vlan`, `ttl`, `encapsulation`, or nothing. All counts and rates include the copies.",
			Check:    "The mirror: a port in both directions together with its neighbour, or capturing on `any`.",
			False:    "A traffic generator that sends each packet twice with the same IP ID.",
			Evidence: doubledEvidence,
		},
		{
			Code: "mirror-gaps", Severities: warning,
			Summary:  "frames were lost between the mirror and the capture",
			Meaning:  "ERSPAN II and III number the frames of a mirror session (GRE's sequence number), and some numbers between others never came. Sessions are told apart by input, both outer addresses, the session id and, in type III, the hardware id. Frames that came late or twice are no gap. A number that is more than 65,536 ahead or 4,096 behind is a numbering that began anew, and what was lost there is not counted. Mirrors whose numbers don't count frames (always 0, or several counts in one session) raise nothing: `capture.mirrors` has them as not known. Packets that are missing then need not have been lost by the network.",
			Check:    "Drops of the mirroring switch's own port, of the links to the collector and of its NIC. What the mirror lost before it numbered frames no number shows.",
			False:    "Mirror frames that took another way than to this capture, and a mirror that numbers frames which it filters out later.",
			Evidence: "`missing`, `share` (of what the mirrors sent), `mirrors` (the first: `src`, `dst`, `session`, `hardware`, `input`, `packets`, `missing`, `gaps`, `restarts`), `mirrors_with_gaps`, `missing_in_sessions` (packets that sessions show to be missing, see capture-loss), `first` (the frame behind the first gap)",
		},
		{
			Code: "no-roce", Severities: warning,
			Summary:  "nothing in the capture is RoCE or InfiniBand",
			Meaning:  "Neither by ethertype nor by UDP port, nor by the bytes of other UDP packets (that would be roce-port). It says what there is instead: iWARP and IP over InfiniBand are no RoCE. Where packets could not be decoded (an unknown link type, something unknown in a tunnel or behind a tag, headers cut off), RoCE may be in them, and the finding says no more than that none was found.",
			Check:    "The port that the finding names, where UDP packets look like RoCEv2; then what could not be decoded; then where it was captured: a NIC hands RDMA traffic past the operating system, so that tcpdump on a host's interface does not see it.",
			False:    "A capture with RoCE in a tunnel that is not decoded, or with headers cut off: the finding says where it may be.",
			Evidence: "`packets`, `not_decoded`, `instead` (packets by kind)",
		},
		{
			Code: "partly-doubled", Severities: info,
			Summary:  "some packets came twice",
			Meaning:  "Fewer than for mirrored-twice, but one packet in a hundred of a direction and 8 or more, are there twice within 10 ms with the same bytes and the same IP ID. Copies from another place are the capture's. Of the others it can't be told whether the network doubled them or a mirror that lost the rest of the copies, and `capture.duplicates` is null. Where there is no IP ID they may be retransmissions as well, and half of the direction has to be doubled.",
			Check:    "Whether the mirror has two sources that share some of the traffic; then the network: a loop, a link aggregate, a path that floods.",
			False:    "Retransmissions that come within 10 ms, where there is no IP ID.",
			Evidence: doubledEvidence + ", `undecided` (copies without an IP ID)",
		},
		{
			Code: "roce-port", Severities: []record.Severity{record.Warning, record.Info},
			Summary:  "RoCEv2 on another UDP port than 4791",
			Meaning:  "UDP packets to a port that is not taken as RoCEv2 have its headers, and an ICRC that is right. As info: the headers alone fit, and all of them come from port 4791, or they are half of all UDP. Not looked for with `--no-icrc`.",
			Check:    "Analyse again with `--roce-port`. Switches and NICs classify RoCE by its port: see whether their ECN and PFC settings name this one.",
			False:    "As info: another protocol whose bytes look like the headers of RoCE, on half of all UDP packets.",
			Evidence: "`packets`, `ports` (`port`, `proven`, `like`, `like_from_4791`), `ports_with_roce`, `proven_at_other_ports` (beyond the 32 that are told apart), `first`",
		},
		{
			Code: "headers-cut", Severities: warning,
			Summary:  "sessions that can't be followed, as frames end within a header",
			Meaning:  "Frames end within an extended header that following a session takes: the RETH of a READ (its length tells which PSNs the responses have), the AETH of an acknowledgement (whether it is a NAK), or the DETH of a datagram (whose PSNs it counts). From the first such packet on, requests that are concerned, and the answers to them, are counted and not judged.",
			Check:    "The snap length of the capture, or the truncation of the mirror: 128 bytes are enough for RoCE outside of tunnels.",
			False:    "None.",
			Evidence: "`packets`, " + streamsWith("`packets`"),
		},
		{
			Code: "truncated", Severities: info,
			Summary:  "packets cut by the capture's snap length",
			Meaning:  "Headers are decoded as far as they go, and sizes come from them. The ICRC of such packets can't be checked.",
			Check:    "Capture whole packets where corruption has to be excluded.",
			False:    "None.",
			Evidence: "`packets`, `share`, `icrc_unverifiable`",
		},
		{
			Code: "truncated-by-mirror", Severities: info,
			Summary:  "packets cut before they were captured",
			Meaning:  "A length inside the packet says more than the frame had on the wire: the mirror cut it.",
			Check:    "Truncation at the mirror, and the MTU on the way to the collector.",
			False:    "Frames whose inner length field is wrong.",
			Evidence: "`packets`, `share`, `icrc_unverifiable`",
		},
		{
			Code: "unknown-inner", Severities: warning,
			Summary:  "something in tunnels or behind tags that is not decoded",
			Meaning:  "RoCE may be hidden there. Control traffic that every link has (LLDP, LACP, PTP, 802.1X and the like) does not count.",
			Check:    "The ethertypes: one that only this network's switches know is a tag of theirs, which the mirror may be able to leave out.",
			False:    "Protocols of the network itself that are not in the list of those that every link has.",
			Evidence: "`packets`, `types` (`what`, `packets`), `types_seen`, `first`",
		},
		{
			Code: "unknown-link-type", Severities: warning,
			Summary:  "frames of a link type that is not decoded",
			Meaning:  "Nothing is known of what is in them.",
			Check:    "Capture as Ethernet, Linux cooked or InfiniBand.",
			False:    "None.",
			Evidence: "`packets`, `link_types` (packets by number), `others`",
		},
		{
			Code: "vcrc-bad", Severities: warning,
			Summary:  "native InfiniBand packets with a bad VCRC",
			Meaning:  "The VCRC is made anew on each link, so the last one before the tap changed them; or, where not one is right, the tap does not keep it.",
			Check:    "That link's symbol error counters.",
			False:    "A capture that does not keep the VCRC.",
			Evidence: "`bad`, `checked`, `share`, `first`",
		},
	}
}

const doubledEvidence = "`copies`, `packets`, `share` (of the different packets, those that are there more than once), `times` (that most of these are there, in the direction with most), `sent_again` (packets that are there again and no copies: without an IP ID, see mirrored-twice), `captured_elsewhere` (copies from another place), `differ` (in what), `directions` (`src`, `dst`, `packets`, `copies`, `times`), `directions_doubled`, `first`"

// Markdown is docs/findings.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString(`# Findings

<!-- Written by "go test ./pipeline/finding -update" from the table in pipeline/finding/codes.go. Change it there. -->

A finding is a conclusion that you can act on. ` + "`rocelens analyze`" + ` puts findings at the top of the text report, the worst first,
each with its severity and its code (` + "`critical  [lost-before-tap] 37 packets were lost`" + `), and into the array ` + "`findings`" + `
of the [JSON report](report.md#findings). With ` + "`--fail-on SEVERITY`" + ` it ends with the exit code 3 if there is one at that
severity or above. With ` + "`--no-icrc`" + ` no ICRC is checked: corruption is not seen then, raises no finding, and
` + "`--fail-on`" + ` lets it pass.

| severity | |
|---|---|
| info | good to know when reading the report |
| warning | something is wrong, or the capture does not show what it should |
| critical | traffic is being harmed |

A finding never guesses: what a capture can't show, it says. Which findings an analysis yields may change between
versions. The codes and the keys of their evidence are a contract; titles and details are not. Each kind below says when
it is raised, how it is computed, what to check next, and when it may be raised although nothing of the kind is wrong.

Findings of one severity that can be compared are in the order of what they cost: the share of the traffic or of the time
that is harmed. Where one explains another, both say so, with what shows it (` + "`related`" + ` in JSON): the same tries, streams
that are in both at the same time, or the same sender of pauses. Those stay together, the cause first. What nothing shows
to belong together is not tied, even if it looks like it.

` + "`rocelens monitor`" + ` makes those that say live while it captures, of what happened in a few seconds: see [monitor](monitor.md#findings).
The others compare all sessions of a capture, or need its end.

| code | severity | live | |
|---|---|---|---|
`)
	codes := Codes()
	for i := range codes {
		c := &codes[i]
		b.WriteString("| [" + c.Code + "](#" + c.Code + ") | " + c.severities() + " | " + c.live() + " | " + c.Summary + " |\n")
	}
	for i := range codes {
		c := &codes[i]
		b.WriteString("\n## " + c.Code + "\n\n" + wrap(c.Meaning) + "\n" +
			wrap("Check next: "+strings.ToLower(c.Check[:1])+c.Check[1:]) + "\n" + wrap("False positives: "+lower(c.False)) + "\n" + wrap("Evidence: "+c.Evidence+"."))
	}
	return b.String()
}

// lower is a sentence behind a colon: names that begin with two capitals stay.
func lower(s string) string {
	if len(s) > 1 && s[1] >= 'A' && s[1] <= 'Z' {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// wrap breaks a paragraph into lines.
func wrap(s string) string {
	const width = 118
	var b strings.Builder
	col := 0
	for _, word := range strings.Fields(s) {
		switch {
		case col == 0:
		case col+1+len(word) > width:
			b.WriteByte('\n')
			col = 0
		default:
			b.WriteByte(' ')
			col++
		}
		b.WriteString(word)
		col += len(word)
	}
	return b.String() + "\n"
}

func (c *Code) severities() string {
	var names []string
	for _, s := range c.Severities {
		names = append(names, s.String())
	}
	return strings.Join(names, ", ")
}

func (c *Code) live() string {
	if c.Live() {
		return "live"
	}
	return ""
}

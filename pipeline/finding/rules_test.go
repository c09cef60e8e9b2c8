package finding_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/finding"
	"github.com/rocelens/rocelens/pipeline/record"
)

// facts is a capture of 1,000 RoCE packets with nothing wrong.
func facts() *finding.Facts {
	r := &pipeline.Result{}
	r.Packets, r.Bytes = 1000, 1_000_000
	r.RoCE.V2IPv4, r.ICRC.Good = 1000, 1000
	r.Kinds[decode.KindRoCEv2] = 1000
	return &finding.Facts{Inputs: []capture.Input{{Path: "a.pcap", Format: capture.FormatPcap, Frames: 1000}}, Result: r}
}

// TestRules has what no capture at hand shows.
func TestRules(t *testing.T) {
	drops, none := uint64(7), uint64(0)
	sender := func(i uint64, good, bad uint64, low, high uint32) pipeline.Sender {
		return pipeline.Sender{Addr: decode.Addr{Lo: 0xffff_0a000000 + i}, AddrKind: decode.AddrIPv4, Good: good, Bad: bad, LowBad: low, HighBad: high}
	}
	with := func(f *finding.Facts, all ...pipeline.Sender) {
		f.Senders.N = copy(f.Senders.Rows[:], all)
	}
	instead := func(f *finding.Facts, k decode.Kind) {
		f.RoCE, f.Kinds = pipeline.RoCE{}, [256]uint64{}
		f.Kinds[k] = 1000
	}
	inner := func(f *finding.Facts, types ...uint32) {
		for i, typ := range types {
			f.Inner.Rows[i] = pipeline.InnerType{Layer: decode.LayerEthernet, Type: typ, Count: 5}
		}
		f.Inner.N = len(types)
	}
	for _, tc := range []struct {
		name string
		set  func(f *finding.Facts)
		want string   // severity and code, several with commas
		has  []string // in title or detail
	}{
		{"nothing", func(*finding.Facts) {}, "", nil},
		{"drops", func(f *finding.Facts) { f.Inputs[0].Drops = &drops }, "warning capture-drops", []string{"lost 7 packets", "a.pcap (7)"}},
		{"no drops", func(f *finding.Facts) { f.Inputs[0].Drops = &none }, "", nil},
		{"mirror gaps", func(f *finding.Facts) {
			f.Mirrors = mirrors(pipeline.Mirror{Frames: 900, Missing: 7, Gaps: 2, FirstGap: record.FrameRef{Number: 9}}, pipeline.Mirror{Frames: 93})
		}, "warning mirror-gaps", []string{
			"7 packets were lost between the mirror and this capture (0.7 %)", "192.0.2.1 to 192.0.2.2, session 1 (7 in 2 gaps). No session shows what is missing",
		}},
		{"a mirror without gaps", func(f *finding.Facts) { f.Mirrors = mirrors(pipeline.Mirror{Frames: 900}) }, "", nil},
		{"a mirror that began anew", func(f *finding.Facts) {
			f.Mirrors = mirrors(pipeline.Mirror{Frames: 999, Missing: 1, Gaps: 1, Restarts: 2})
		},
			"warning mirror-gaps", []string{"1 packet was lost between the mirror", "The numbering began anew twice; what was lost there is not counted."}},
		{"a mirror that does not count", func(f *finding.Facts) {
			f.Mirrors = mirrors(pipeline.Mirror{Frames: 999, Missing: 1, Gaps: 1})
			f.Mirrors.Rows[0].Known = false
		}, "", nil},
		{"VCRC", func(f *finding.Facts) { f.VCRC = pipeline.CRC{Good: 9, Bad: 1} }, "warning vcrc-bad", []string{"1 of 10 InfiniBand packets with a bad VCRC (10.0 %)", "last link"}},
		{"no VCRC", func(f *finding.Facts) { f.VCRC = pipeline.CRC{Bad: 10} }, "warning vcrc-bad", []string{"does not keep it"}},
		{"cut and no capture", func(f *finding.Facts) {
			f.Inputs = append(f.Inputs, capture.Input{Path: "b"}, capture.Input{Path: "c"})
			f.Inputs[0].Damage = &capture.DamagedError{Path: "a.pcap", Offset: 9, Reason: "cut"}
			f.Inputs[1].Damage = &capture.DamagedError{Path: "b", NotCapture: true, Reason: "text"}
		}, "warning input-damaged", []string{"2 of 3 inputs", "a.pcap: damaged at byte 9: cut, b: text", "1,000 packets"}},
		{"a constant in most", func(f *finding.Facts) { with(f, sender(1, 20, 3980, 0, 0), sender(2, 100, 0, 0, 0)) },
			"warning icrc-not-computed", []string{"10.0.0.1 does not compute the ICRC of all packets: it is 0x00000000 in 3,980 packets", "Right are 20 of 4,000."}},
		{"a constant in a few", func(f *finding.Facts) { with(f, sender(1, 20, 7, 0, 0)) }, "critical icrc-bad", []string{"7 packets have a bad ICRC"}},
		{"a constant of each", func(f *finding.Facts) { with(f, sender(1, 0, 100, 0, 0), sender(2, 0, 50, 0xffffffff, 0xffffffff)) }, "warning icrc-not-computed",
			[]string{"2 senders do not compute the ICRC: each puts a constant there, in 150 packets", "They are 10.0.0.1 (always 0x00000000), 10.0.0.2 (always 0xffffffff). FPGA"}},
		{"a constant of each, in some", func(f *finding.Facts) { with(f, sender(1, 10, 100, 0, 0), sender(2, 0, 50, 1, 9)) }, "warning icrc-not-computed",
			[]string{"2 senders do not compute the ICRC of all packets, or not rightly: it is wrong in 150 packets",
				"They are 10.0.0.1 (0x00000000 in 100 of 110 packets), 10.0.0.2 (not constant in 50 of 50 packets). A device"}},
		{"one sender of two", func(f *finding.Facts) { with(f, sender(1, 990, 10, 1, 9), sender(2, 0, 100, 5, 5)) },
			"critical icrc-bad, warning icrc-not-computed", []string{"10 packets have a bad ICRC", "10.0.0.1 (10 of 1,000, 1.0 %)", "10.0.0.2 does not compute the ICRC: it is always 0x00000005, in 100 packets"}},
		{"two packets, both bad", func(f *finding.Facts) { with(f, sender(1, 0, 2, 5, 5)) }, "critical icrc-bad", nil},
		{"three, not constant", func(f *finding.Facts) { with(f, sender(1, 0, 3, 5, 6)) }, "warning icrc-not-computed", []string{"does not compute the ICRC, or not rightly: it is wrong in all 3 packets", "rewrites addresses"}},
		{"few of each, one constant", func(f *finding.Facts) { with(f, sender(1, 0, 1, 0, 0), sender(2, 0, 1, 0, 0), sender(3, 0, 1, 0, 0)) },
			"warning icrc-not-computed", []string{"3 senders do not compute", "10.0.0.1, 10.0.0.2, 10.0.0.3"}},
		{"few of each, no constant", func(f *finding.Facts) { with(f, sender(1, 0, 1, 1, 1), sender(2, 0, 1, 2, 2), sender(3, 0, 1, 3, 3)) }, "critical icrc-bad", nil},
		{"senders beyond the table", func(f *finding.Facts) { f.Senders.Other = sender(0, 100, 3, 1, 2) }, "critical icrc-bad", []string{"senders that are not told apart (3 of 103)"}},
		{"LLDP behind a tag", func(f *finding.Facts) { inner(f, 0x88cc, 0x8809) }, "", nil},
		{"MACsec and a vendor's tag", func(f *finding.Facts) { inner(f, 0x88cc, 0x88e5, 0xabcd) },
			"warning unknown-inner", []string{"10 packets", "ethertype 0x88e5 (MACsec, encrypted) (5), ethertype 0xabcd (5)"}},
		{"link type", func(f *finding.Facts) {
			f.Kinds[decode.KindUnknownLink] = 3
			f.UnknownLinks = pipeline.LinkCounts{Link: [8]capture.LinkType{147}, Count: [8]uint64{2}, N: 1, Other: 1}
		}, "warning unknown-link-type", []string{"147 (2), others (1)"}},
		{"malformed, in the second input", func(f *finding.Facts) {
			f.Inputs = append(f.Inputs, capture.Input{Path: "my b.pcap"})
			f.Malformed, f.FirstMalformed = 1, record.FrameRef{Input: 1, Number: 9}
		}, "warning malformed", []string{"`rocelens packets --frames 9 -x 'my b.pcap'`"}},
		{"ICMP errors of two routers", func(f *finding.Facts) {
			f.ICMPErrors.N = 3
			f.ICMPErrors.Rows[0] = pipeline.ICMPError{Addr: decode.Addr{Lo: 0xffff_0a000001}, AddrKind: decode.AddrIPv4, Type: 3, Code: 4, Count: 1, First: record.FrameRef{Number: 9}}
			f.ICMPErrors.Rows[1] = pipeline.ICMPError{Addr: decode.Addr{Lo: 0xffff_0a000001}, AddrKind: decode.AddrIPv4, Type: 11, Code: 9, Count: 2, First: record.FrameRef{Number: 8}}
			f.ICMPErrors.Rows[2] = pipeline.ICMPError{Addr: decode.Addr{Lo: 5}, AddrKind: decode.AddrIPv6, V6: true, Type: 100, Count: 3, First: record.FrameRef{Number: 7}}
			f.ICMPErrors.Other = pipeline.ICMPError{Count: 4, First: record.FrameRef{Number: 6}}
		}, "warning icmp-error", []string{
			"10 ICMP errors about RoCEv2 packets, from ::5, 10.0.0.1. They say: ::5 an error that is not in use (ICMPv6 type 100, code 0) 3 times, " +
				"10.0.0.1 time exceeded (ICMP type 11, code 9) twice, 10.0.0.1 fragmentation needed (ICMP type 3, code 4) once. Look at the first",
			"routing loop", "The MTU on the way",
		}},
		{"CNP", func(f *finding.Facts) { f.Flags[9] = 1 }, "info cnp-reserved", []string{"1 CNP whose"}},
		{"empty", func(f *finding.Facts) { *f.Result = pipeline.Result{} }, "warning no-roce", []string{"the capture is empty"}},
		{"empty and damaged", func(f *finding.Facts) {
			*f.Result = pipeline.Result{}
			f.Inputs[0].Damage = &capture.DamagedError{Path: "a.pcap", Reason: "cut"}
		}, "warning input-damaged", nil},
		{"iWARP", func(f *finding.Facts) { instead(f, decode.KindIWARP) }, "warning no-roce", []string{"1,000 iWARP", "RDMA over TCP"}},
		{"UDP", func(f *finding.Facts) { instead(f, decode.KindUDP) }, "warning no-roce", []string{"--roce-port", "mirror port"}},
		{"nothing known of it", func(f *finding.Facts) {
			instead(f, decode.KindUDP)
			f.Kinds[decode.KindUnknownLink], f.Kinds[decode.KindUDP] = 990, 10
			f.HeadersCut = 3
			inner(f, 0x88cc, 0xabcd)
		}, "warning no-roce, warning unknown-link-type, warning unknown-inner", []string{
			"No RoCE found; 998 packets could not be decoded. RoCE may be in what could not be decoded: 990 of a link type that is not decoded, " +
				"5 in a tunnel or behind a tag with something inside that is not decoded, 3 cut off before the headers say what they are. " +
				"There is instead: 990 unknown link type, 10 UDP. RoCEv2 is UDP to port 4791. If it has another port in this network, name it with --roce-port. ",
		}},
		{"a candidate first", func(f *finding.Facts) {
			instead(f, decode.KindUDP)
			f.Ports.N, f.Ports.Rows[0], f.Ports.Rows[1] = 2, pipeline.Port{Port: 1021, Like: 30, LikeFromRoCE: 30}, pipeline.Port{Port: 1022, Like: 600}
		}, "warning no-roce, info roce-port", []string{
			"No RoCE here: none of 1,000 packets is RoCEv1, RoCEv2 or InfiniBand. 600 packets to UDP port 1022 may be RoCEv2: try --roce-port 1022 first. " +
				"There is instead: 1,000 UDP. 630 packets to",
		}},
		{"looks like it", func(f *finding.Facts) {
			instead(f, decode.KindUDP)
			f.Ports.N, f.Ports.Rows[0] = 1, pipeline.Port{Port: 1021, Like: 600}
		}, "warning no-roce, info roce-port", []string{"--roce-port 1021 makes sense"}},
		{"looks like it, rarely", func(f *finding.Facts) {
			instead(f, decode.KindUDP)
			f.Ports.N, f.Ports.Rows[0] = 1, pipeline.Port{Port: 1021, Like: 100, LikeFromRoCE: 99}
		}, "warning no-roce", nil},
		{"is it, at two ports", func(f *finding.Facts) {
			instead(f, decode.KindUDP)
			f.Ports.N, f.Ports.Rows[0], f.Ports.Rows[1] = 2, pipeline.Port{Port: 1021, Proven: 1}, pipeline.Port{Port: 1022, Proven: 2}
		}, "warning roce-port", []string{"--roce-port 1021,1022", "3 packets have"}},
		{"is it, at too many ports", func(f *finding.Facts) {
			instead(f, decode.KindUDP)
			f.Ports.Other = pipeline.Port{Proven: 9}
		}, "warning roce-port", []string{"many UDP ports"}},
	} {
		f := facts()
		tc.set(f)
		all := finding.Find(f)
		var got []string
		said := ""
		for _, f := range all {
			got = append(got, f.Severity.String()+" "+f.Code)
			said += f.Title + ". " + f.Detail + " "
		}
		if s := strings.Join(got, ", "); s != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, s, tc.want)
		}
		for _, s := range tc.has {
			if !strings.Contains(said, s) {
				t.Errorf("%s: %q is not in %q", tc.name, s, said)
			}
		}
		if again := finding.Find(f); len(again) != len(all) {
			t.Errorf("%s: another result the second time", tc.name)
		}
	}
}

// TestWorstFirst: the order is by severity, and then that of the rules.
func TestWorstFirst(t *testing.T) {
	f := facts()
	drops := uint64(1)
	f.Inputs[0].Drops = &drops
	f.Inputs[0].Damage = &capture.DamagedError{Path: "a.pcap", Reason: "cut"}
	f.Flags[0] = 5 // snapped
	f.Senders.N, f.Senders.Rows[0] = 1, pipeline.Sender{Good: 5, Bad: 1}
	all := finding.Find(f)
	if got, want := above(all, record.Info), []string{"icrc-bad", "input-damaged", "capture-drops", "truncated"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// mirrors are those given, with names and numbers that count.
func mirrors(list ...pipeline.Mirror) pipeline.Mirrors {
	for i := range list {
		m := &list[i]
		m.Src, m.Dst, m.Kind, m.Version = decode.Addr{Lo: 0xffff_c0000201}, decode.Addr{Lo: 0xffff_c0000202}, decode.AddrIPv4, 2
		m.Session, m.Known = uint16(i+1), true
	}
	return pipeline.Mirrors{Rows: list}
}

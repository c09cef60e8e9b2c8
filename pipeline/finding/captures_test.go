package finding_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/finding"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/scenario"
	"github.com/rocelens/rocelens/pipeline/scenario/scenariotest"
)

// analyze is the findings of captures, and what they were drawn from.
func analyze(t *testing.T, cfg pipeline.Config, paths ...string) (*finding.Facts, []record.Finding) {
	t.Helper()
	src, err := capture.OpenAll(paths, capture.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	res, err := pipeline.Run(context.Background(), src, cfg)
	if err != nil {
		t.Fatal(err)
	}
	f := &finding.Facts{Inputs: src.Inputs(), Result: res}
	return f, finding.Find(f)
}

// analyzeScenario is the same of a scenario written to a file, and its truth.
func analyzeScenario(t *testing.T, sc scenario.Scenario) (*finding.Facts, []record.Finding, *scenario.Truth) {
	t.Helper()
	path, truth := scenariotest.Write(t, &sc, scenario.Options{Seed: 1})
	facts, all := analyze(t, pipeline.DefaultConfig(), path)
	return facts, all, truth
}

// above are the codes of findings at a severity or above, but for that on flow
// control, which follows from others: TestNoPauses has it.
func above(all []record.Finding, s record.Severity) []string {
	codes := []string{}
	for _, f := range withoutPauses(all) {
		if f.Severity >= s {
			codes = append(codes, f.Code)
		}
	}
	return codes
}

func withoutPauses(all []record.Finding) []record.Finding {
	return slices.DeleteFunc(slices.Clone(all), func(f record.Finding) bool { return f.Code == "pfc-not-visible" })
}

// ofPackets are those that do not come from sessions.
func ofPackets(all []record.Finding) []record.Finding {
	return slices.DeleteFunc(withoutPauses(all), func(f record.Finding) bool { return f.Evidence.Get("streams_affected") != nil })
}

// twice are the captures that hold packets twice: RoCE packets, of which one
// in two is a copy, but for those whose copy was lost.
var twice = map[string]uint64{
	"any_sll2_with_mirror_duplicates": 977,  // one direction
	"merged_both_ends_aligned":        1108, // both
}

// TestCaptures holds the findings of every capture against its truth.
func TestCaptures(t *testing.T) {
	codes := finding.Codes()
	for _, c := range capturetest.All(t) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			truth := capturetest.LoadTruth(t, c)
			f, all := analyze(t, pipeline.DefaultConfig(), c.Path)
			got := above(all, record.Info)
			if truth.Clean() && len(above(all, record.Warning)) > 0 {
				t.Errorf("a clean capture has %v", got)
			}
			for code, want := range map[string]bool{
				"icrc-bad":       truth.Summary.ICRCBad > 0,
				"truncated":      truth.Summary.SnaplenTruncated > 0,
				"mirrored-twice": twice[c.Name] > 0,
				"partly-doubled": c.Name == "duplicate_write", "copies-apart": false,
				"icrc-not-computed": false, "no-roce": false, "roce-port": false, "input-damaged": false, "unknown-inner": false,
				"sampled-capture": false, "mirror-gaps": false,
				"vcrc-bad": false, "cnp-reserved": false, "unknown-link-type": false,
			} {
				if has := slices.Contains(got, code); has != want {
					t.Errorf("%s: %v, want %v", code, has, want)
				}
			}
			if f.Duplicates.Capture != twice[c.Name] {
				t.Errorf("%d copies by the capture, want %d", f.Duplicates.Capture, twice[c.Name])
			}
			for i, f := range withoutPauses(all) {
				row := slices.IndexFunc(codes, func(c finding.Code) bool { return c.Code == f.Code })
				if row < 0 || !slices.Contains(codes[row].Severities, f.Severity) {
					t.Errorf("%s with severity %s is not in the table", f.Code, f.Severity)
				}
				if slices.Index(got, f.Code) != i {
					t.Errorf("%s twice", f.Code)
				}
				if row >= 0 {
					for _, e := range f.Evidence {
						if !strings.Contains(codes[row].Evidence, "`"+e.Key+"`") {
							t.Errorf("%s: the evidence %s is not documented", f.Code, e.Key)
						}
					}
				}
				if strings.HasSuffix(f.Title, ".") || !strings.HasSuffix(f.Detail, ".") {
					t.Errorf("%s: title %q, detail %q", f.Code, f.Title, f.Detail)
				}
			}
		})
	}
}

// TestPublic has captures and vectors by others, each with the one finding
// that fits, and none where nothing is wrong.
func TestPublic(t *testing.T) {
	dir := filepath.Join(capturetest.NeedShared(t), "public")
	for file, want := range map[string][]string{
		"jorbo-fpga-network-stack/rocev2_hls_write_read_rawip.pcap": {"icrc-not-computed", "one-sided"},
		"Cerebras-libtins/rocev2_test_expected_packets.pcap":        {"icrc-not-computed", "one-sided", "congested"},
		"hwipl-smc-llc/smc_r_llc_rocev1.pcap":                       {"go-back-n", "icrc-not-computed", "one-sided"},
		"oferby-proxy/roce.pcap":                                    {"silence"},
		"datenlord-open-rdma-driver/responser_test_vectors.pcap":    {"one-sided"},
		"secdev-scapy/roce_uts_hexdumps.pcap":                       {"one-sided", "cnp-without-ce"},
		"srinivaskoritala-rdma-softroce-demo/infiniband.pcap":       {"uc-ud-missing"},
		"montybeatnik-rdma-roce-lab/test.pcap":                      {},
		"the-tcpdump-group-tcpdump/ipoib.pcap":                      {"no-roce"},
		"the-tcpdump-group-tcpdump/erspan-type-iii-ft-7.pcap":       {"no-roce", "unknown-inner"},
		"zeek-zeek/mixed-vlan-mpls.pcap":                            {"no-roce"},
	} {
		_, all := analyze(t, pipeline.DefaultConfig(), filepath.Join(dir, file))
		if got := above(all, record.Info); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", file, got, want)
		}
	}
}

// frames reads a capture whole. The bytes are the caller's to change.
func frames(t *testing.T, name string) []capture.Frame {
	t.Helper()
	src, err := capture.Open(capturetest.Get(t, name).Path, capture.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var all []capture.Frame
	err = pipeline.EachBatch(context.Background(), src, func(b *capture.Batch) error {
		for _, f := range b.Frames {
			f.Data = slices.Clone(f.Data)
			all = append(all, f)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// write writes Ethernet frames as a pcap file, in the order of their times.
func write(t *testing.T, all []capture.Frame) string {
	t.Helper()
	slices.SortStableFunc(all, func(a, b capture.Frame) int { return int(a.Time - b.Time) })
	le := binary.LittleEndian
	out := le.AppendUint32(nil, 0xa1b23c4d)
	out = le.AppendUint32(out, 4<<16|2)
	out = append(out, make([]byte, 8)...)
	out = le.AppendUint32(out, 262144)
	out = le.AppendUint32(out, uint32(capture.LinkEthernet))
	for _, f := range all {
		out = le.AppendUint32(out, uint32(f.Time/1e9))
		out = le.AppendUint32(out, uint32(f.Time%1e9))
		out = le.AppendUint32(out, uint32(len(f.Data)))
		out = le.AppendUint32(out, max(f.OrigLen, uint32(len(f.Data))))
		out = append(out, f.Data...)
	}
	path := filepath.Join(t.TempDir(), "made.pcap")
	if err := os.WriteFile(path, out, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// Where things are in an untagged Ethernet frame with IPv4 and UDP.
const ip, udp, bth = 14, 34, 42

// roce says whether it is one, with RoCEv2 inside.
func roce(b []byte) bool {
	return len(b) > bth+16 && binary.BigEndian.Uint16(b[12:]) == 0x0800 && b[ip] == 0x45 && b[ip+9] == 17 &&
		binary.BigEndian.Uint16(b[udp+2:]) == 4791
}

// icrcAt is where the ICRC of such a frame is.
func icrcAt(b []byte) int { return ip + int(binary.BigEndian.Uint16(b[ip+2:])) - 4 }

// sign computes its ICRC, the simple way.
func sign(b []byte) {
	m := slices.Clone(b[:icrcAt(b)])
	for _, i := range []int{ip + 1, ip + 8, ip + 10, ip + 11, udp + 6, udp + 7, bth + 4} {
		m[i] = 0xff
	}
	m = append(slices.Repeat([]byte{0xff}, 8), m[ip:]...)
	binary.LittleEndian.PutUint32(b[icrcAt(b):], crc32.ChecksumIEEE(m))
}

// change applies a function to the RoCE packets of a capture.
func change(t *testing.T, name string, do func(b []byte)) []capture.Frame {
	t.Helper()
	all := frames(t, name)
	n := 0
	for i := range all {
		if roce(all[i].Data) {
			do(all[i].Data)
			n++
		}
	}
	if n == 0 {
		t.Fatalf("%s has no RoCEv2 over IPv4 in plain Ethernet", name)
	}
	return all
}

// few keeps the first n RoCE packets alone.
func few(all []capture.Frame, n int) []capture.Frame {
	all = slices.DeleteFunc(all, func(f capture.Frame) bool { return !roce(f.Data) })
	return all[:n]
}

// copies adds each frame once more, later, as change makes the copy.
func copies(all []capture.Frame, later int64, change func(b []byte) []byte) []capture.Frame {
	n := len(all)
	for i := range n {
		c := all[i]
		c.Time += later
		c.Data = change(slices.Clone(c.Data))
		c.OrigLen += uint32(len(c.Data) - len(all[i].Data))
		all = append(all, c)
	}
	return all
}

// someCopies adds one frame in n once more.
func someCopies(all []capture.Frame, n int, change func(b []byte) []byte) []capture.Frame {
	var some []capture.Frame
	for i := range all {
		if i%n == 0 {
			some = append(some, all[i])
		}
	}
	return append(all, copies(some, 40_000, change)[len(some):]...)
}

func same(b []byte) []byte { return b }

// elsewhere is the frame behind a router: other MAC addresses, a VLAN, a TTL
// less by one.
func elsewhere(b []byte) []byte {
	b[5] ^= 0x55
	b[11] ^= 0x55
	if binary.BigEndian.Uint16(b[12:]) == 0x0800 {
		b[ip+8]--
	}
	return slices.Concat(b[:12], []byte{0x81, 0, 0x60, 7}, b[12:])
}

// TestMade has captures with one thing wrong, made from real ones, and others
// that look like it and are right.
func TestMade(t *testing.T) {
	be := binary.BigEndian
	constant := func(from byte) func([]byte) {
		return func(b []byte) {
			if b[ip+15] == from {
				be.PutUint32(b[icrcAt(b):], 0xdeadbeef)
			}
		}
	}
	both := func(b []byte) { constant(1)(b); constant(2)(b) }
	setID := func(id uint16) func([]byte) {
		return func(b []byte) { be.PutUint16(b[ip+4:], id); sign(b) }
	}
	moved := func(b []byte) { be.PutUint16(b[udp+2:], 1021); sign(b) }
	for name, tc := range map[string]struct {
		frames []capture.Frame
		want   []string // above info
		info   []string
	}{
		"nothing":             {change(t, "rc_write_1024", func([]byte) {}), nil, nil},
		"no ICRC, one sender": {change(t, "rc_write_1024", constant(1)), []string{"icrc-not-computed"}, nil},
		"no ICRC, random": {change(t, "rc_write_1024", func(b []byte) {
			be.PutUint32(b[icrcAt(b):], be.Uint32(b[bth+8:])*2654435761)
		}), []string{"icrc-not-computed"}, nil},
		"no ICRC in most": {change(t, "rc_write_1024", func() func(b []byte) {
			n := 0
			return func(b []byte) {
				if n++; n > 20 {
					both(b)
				}
			}
		}()), []string{"icrc-not-computed"}, nil},
		"no ICRC, both, few of one":      {few(change(t, "rc_write_1024", both), 20), []string{"icrc-not-computed"}, nil},
		"no ICRC, two packets":           {few(change(t, "rc_write_1024", both), 2), []string{"icrc-bad"}, nil},
		"no ICRC, three packets":         {few(change(t, "rc_write_1024", both), 3), []string{"icrc-not-computed"}, nil},
		"no ICRC here, corruption there": {change(t, "corrupt_send_acks", constant(1)), []string{"icrc-bad", "icrc-not-computed", "malformed"}, nil},
		"port 1021":                      {change(t, "rc_write_1024", moved), []string{"roce-port"}, nil},
		"one direction to port 1021": {change(t, "rc_write_1024", func(b []byte) {
			if b[ip+15] == 2 {
				moved(b)
			}
		}), []string{"roce-port"}, nil},
		"twice, elsewhere":                 {copies(frames(t, "rc_write_1024"), 40_000, elsewhere), []string{"mirrored-twice"}, nil},
		"twice, the same place":            {copies(frames(t, "rc_write_1024"), 40_000, same), []string{"mirrored-twice"}, nil},
		"twice, late":                      {copies(frames(t, "rc_write_1024"), 9_000_000, same), []string{"mirrored-twice"}, nil},
		"twice, too late":                  {copies(frames(t, "rc_write_1024"), 11_000_000, same), nil, []string{"copies-apart"}},
		"half of it twice, the same place": {someCopies(frames(t, "rc_write_1024"), 2, same), nil, []string{"partly-doubled"}},
		"a third twice, elsewhere":         {someCopies(frames(t, "rc_write_1024"), 3, elsewhere), nil, []string{"partly-doubled"}},
		"half of it twice, IPv6":           {someCopies(frames(t, "rc_write_ipv6"), 2, same), nil, []string{"partly-doubled"}},
		"one in 200 twice":                 {someCopies(frames(t, "rc_write_1024"), 200, same), nil, nil},

		"twice, with losses":           {copies(frames(t, "loss_before_write_1pct"), 40_000, same), []string{"mirrored-twice"}, nil},
		"twice, IPv6":                  {copies(frames(t, "rc_write_ipv6"), 40_000, elsewhere), []string{"mirrored-twice"}, nil},
		"twice, ID 0":                  {copies(change(t, "loss_after_send_1pct", setID(0)), 40_000, same), []string{"mirrored-twice"}, nil},
		"twice, ID constant":           {copies(change(t, "rc_write_1024", setID(7)), 40_000, same), []string{"mirrored-twice"}, nil},
		"thrice":                       {copies(copies(frames(t, "rc_write_1024"), 40_000, same), 400_000, same), []string{"mirrored-twice"}, nil},
		"retransmissions":              {frames(t, "loss_after_send_1pct"), nil, nil},
		"retransmissions, ID 0":        {change(t, "loss_after_send_1pct", setID(0)), nil, nil},
		"retransmissions, ID constant": {change(t, "loss_after_send_1pct", setID(7)), nil, nil},
	} {
		f, all := analyze(t, pipeline.DefaultConfig(), write(t, tc.frames))
		all = ofPackets(all)
		if got := above(all, record.Warning); !slices.Equal(got, append([]string{}, tc.want...)) {
			t.Errorf("%s: %v, want %v; duplicates %+v", name, got, tc.want, f.Duplicates)
			for _, f := range all {
				t.Logf("%+v", f)
			}
		}
		if got := above(all, record.Info); len(got) != len(tc.want)+len(tc.info) {
			t.Errorf("%s: all of %v", name, got)
		}
	}
}

// TestHeadersCut: of packets cut so short that nobody can tell what they are,
// nothing is claimed; where the headers say it, they are no RoCE.
func TestHeadersCut(t *testing.T) {
	for keep, want := range map[int]string{
		12:      "No RoCE found; 100 packets could not be decoded",                   // in the Ethernet header
		ip + 8:  "No RoCE found; 100 packets could not be decoded",                   // in the IP header
		udp + 3: "No RoCE found; 100 packets could not be decoded",                   // in the destination port
		bth + 4: "No RoCE here: none of 100 packets is RoCEv1, RoCEv2 or InfiniBand", // behind it
	} {
		var all []capture.Frame
		for _, f := range frames(t, "rc_write_1024") {
			if roce(f.Data) && len(all) < 100 {
				binary.BigEndian.PutUint16(f.Data[udp+2:], 53)
				f.OrigLen = uint32(len(f.Data))
				f.Data = f.Data[:keep]
				all = append(all, f)
			}
		}
		_, findings := analyze(t, pipeline.DefaultConfig(), write(t, all))
		if got := findings[0].Title; got != want {
			t.Errorf("%d bytes kept: %s, want %s", keep, got, want)
		}
	}
}

// TestICMPError: who refuses RoCEv2, why, and where that is first said, from the packets
// of a capture.
func TestICMPError(t *testing.T) {
	_, all := analyze(t, pipeline.DefaultConfig(), capturetest.Get(t, "icmp_unreachable_reject").Path)
	i := slices.IndexFunc(all, func(f record.Finding) bool { return f.Code == "icmp-error" })
	if i < 0 {
		t.Fatal("not found")
	}
	const want = "6 ICMP errors about RoCEv2 packets, from 10.10.0.2: port unreachable (ICMP type 3, code 3)"
	if first := all[i].Evidence.Get("first").(record.FrameRef); all[i].Title != want || first.Number != 1003 {
		t.Errorf("%s, first in frame %d", all[i].Title, first.Number)
	}
}

// TestICMPv6Error makes one: a router that answers the first packet of a
// capture.
func TestICMPv6Error(t *testing.T) {
	all := frames(t, "rc_write_ipv6")
	i := slices.IndexFunc(all, func(f capture.Frame) bool {
		return len(f.Data) > 62 && f.Data[20] == 17 && binary.BigEndian.Uint16(f.Data[56:]) == 4791
	})
	quoted := all[i].Data[14:62]
	b := slices.Concat(all[i].Data[:54], []byte{2, 0, 0, 0, 0, 0, 5, 0xdc}, quoted)
	binary.BigEndian.PutUint16(b[18:], uint16(len(b)-54))
	b[20] = 58                                 // ICMPv6
	copy(b[22:], append(make([]byte, 15), 77)) // from ::77 in hexadecimal 4d
	answer := all[i]
	answer.Data, answer.OrigLen = b, uint32(len(b))
	_, found := analyze(t, pipeline.DefaultConfig(), write(t, append(all, answer)))
	const want = "1 ICMP error about RoCEv2 packets, from ::4d: packet too big (ICMPv6 type 2, code 0)"
	if len(found) != 1 || found[0].Title != want {
		t.Errorf("%+v", found)
	}
}

// find is the finding with a code; the test fails without it.
func find(t *testing.T, all []record.Finding, code string) record.Finding {
	t.Helper()
	i := slices.IndexFunc(all, func(f record.Finding) bool { return f.Code == code })
	if i < 0 {
		t.Fatalf("no %s in %+v", code, all)
	}
	return all[i]
}

// TestDoubledSaysWhat: what differs between the copies, and whether it is known
// how many the capture made.
func TestDoubledSaysWhat(t *testing.T) {
	wire := func() []capture.Frame { return frames(t, "rc_write_1024") }
	ttl := func(b []byte) []byte {
		if binary.BigEndian.Uint16(b[12:]) == 0x0800 {
			b[ip+8]--
		}
		return b
	}
	for name, tc := range map[string]struct {
		frames  []capture.Frame
		code    string
		decided bool
		want    string
	}{
		"elsewhere": {copies(wire(), 40_000, elsewhere), "mirrored-twice", true, "Between the copies the MAC addresses, the VLAN tag and the TTL differ. "},
		"TTL":       {copies(wire(), 40_000, ttl), "mirrored-twice", true, "Between the copies the TTL differs. "},
		"same place": {copies(wire(), 40_000, same), "mirrored-twice", true,
			"Between the copies nothing differs: file, interface, MAC addresses, VLAN tag, tunnel and TTL are the same. "},
		"one elsewhere, one not": {append(copies(wire(), 40_000, ttl), copies(wire(), 50_000, same)[len(wire()):]...), "mirrored-twice", true,
			" of the copies the TTL differs; between the others nothing does. "},
		"a third elsewhere": {someCopies(wire(), 3, ttl), "partly-doubled", true, " copies: the TTL differs. The capture has a part"},
		"half, same place":  {someCopies(wire(), 2, same), "partly-doubled", false, "the capture can't tell. All"},
		"half, IPv6":        {someCopies(frames(t, "rc_write_ipv6"), 2, same), "partly-doubled", false, "The capture can't tell which they are. All"},
	} {
		f, all := analyze(t, pipeline.DefaultConfig(), write(t, tc.frames))
		if detail := find(t, all, tc.code).Detail; !strings.Contains(detail, tc.want) {
			t.Errorf("%s: %q is not in %q", name, tc.want, detail)
		}
		if f.Duplicates.Decided() != tc.decided {
			t.Errorf("%s: decided %v: %+v", name, !tc.decided, f.Duplicates)
		}
	}
	_, all := analyze(t, pipeline.DefaultConfig(), capturetest.Get(t, "any_sll2_with_mirror_duplicates").Path)
	if detail := find(t, all, "mirrored-twice").Detail; !strings.Contains(detail, "Between the copies the interface differs. ") {
		t.Error(detail)
	}
}

// TestManyTimes has each packet several times: with IP IDs, without, and
// without among packets that were sent again. How often it is there is told,
// what was sent again is no copy, and who follows the sessions sees what it
// sees of each packet once.
func TestManyTimes(t *testing.T) {
	say := map[int]string{2: "twice", 3: "three times", 4: "four times", 7: "seven times", 8: "eight times"}
	for _, name := range []string{"rc_write_1024", "loss_before_write_1pct", "rc_write_ipv6", "ipv6_loss_before_read_1pct"} {
		once, found := analyze(t, pipeline.DefaultConfig(), write(t, frames(t, name)))
		packets := once.RoCE.Total()
		if slices.Contains(above(found, record.Info), "mirrored-twice") {
			t.Errorf("%s: %+v", name, found)
		}
		for k, times := range say {
			all := frames(t, name)
			n := len(all)
			for i := range all {
				for j := 1; j < k; j++ {
					c := all[i]
					c.Time += int64(j)
					all = append(all, c)
				}
			}
			slices.SortStableFunc(all, func(a, b capture.Frame) int { return cmp.Compare(a.Time, b.Time) })
			many, found := analyze(t, pipeline.DefaultConfig(), write(t, all))
			f := find(t, found, "mirrored-twice")
			got, decided := many.Duplicates.Capture, many.Duplicates.Decided()
			share := f.Evidence.Get("share").(float64)
			if got != packets*uint64(k-1) || !decided || share > 1 || share < 0.9 || f.Evidence.Get("times") != uint64(k) || !strings.Contains(f.Title, " captured "+times+": ") {
				t.Errorf("%s, %d frames %s: %d copies, want %d, decided %v; %+v", name, n, times, got, packets*uint64(k-1), decided, f)
			}
			if again := f.Evidence.Get("sent_again").(uint64); (again > 0) != (name == "ipv6_loss_before_read_1pct") ||
				strings.Contains(f.Detail, "not sent again") != strings.HasSuffix(name, "e_1pct") && name != "rc_write_1024" {
				t.Errorf("%s %s: %d sent again: %s", name, times, again, f.Detail)
			}
			if many.Sessions.Len() != once.Sessions.Len() {
				t.Fatalf("%s %s: %d sessions, want %d", name, times, many.Sessions.Len(), once.Sessions.Len())
			}
			for i := range once.Sessions.Len() {
				a, b := once.Sessions.At(i), many.Sessions.At(i)
				if x, y := a.AToB.Retransmitted.Packets+a.BToA.Retransmitted.Packets, b.AToB.Retransmitted.Packets+b.BToA.Retransmitted.Packets; x != y {
					t.Errorf("%s %s: %d sent again, want %d", name, times, y, x)
				}
			}
		}
	}
}

// TestClocksApart has one traffic in two files with clocks that differ, far
// more than copies are looked for: how many copies there are is not known then.
func TestClocksApart(t *testing.T) {
	shifted := func(name string, by int64) string {
		all := frames(t, name)
		for i := range all {
			all[i].Time += by
		}
		return write(t, all)
	}
	for name, tc := range map[string]struct {
		capture string
		by      int64
		want    string
	}{
		"ahead":         {"rc_write_1024", 1_500_000_000, ", 1.500 s later, in "},
		"behind":        {"rc_write_1024", -86_400_000_000_000, ", 86400.000 s earlier, in "},
		"a little":      {"rc_write_1024", 20_000_000, ", 0.020 s later, in "},
		"without IDs":   {"rc_write_ipv6", 1_500_000_000, ", 1.500 s later, in "},
		"with repeats":  {"ipv6_loss_before_read_1pct", 1_500_000_000, ", 1.500 s later, in "},
		"known to be 0": {"rc_write_1024", 1_000_000, ""},
	} {
		f, all := analyze(t, pipeline.DefaultConfig(), shifted(tc.capture, 0), shifted(tc.capture, tc.by))
		if tc.want == "" {
			if got := above(all, record.Info); !slices.Equal(got, []string{"mirrored-twice"}) || !f.Duplicates.Decided() {
				t.Errorf("%s: %v, %+v", name, got, f.Duplicates)
			}
			continue
		}
		found := find(t, all, "copies-apart")
		if found.Severity != record.Warning || !strings.Contains(found.Detail, tc.want) || f.Duplicates.Decided() {
			t.Errorf("%s: %+v, decided %v", name, found, f.Duplicates.Decided())
		}
	}
	// Files that follow one another have nothing twice.
	for _, name := range []string{"loss_before_write_1pct", "ipv6_loss_before_read_1pct"} {
		all := frames(t, name)
		f, found := analyze(t, pipeline.DefaultConfig(), write(t, all[:len(all)/2]), write(t, all[len(all)/2:]))
		if len(ofPackets(found)) > 0 || len(f.Duplicates.Later) > 0 {
			t.Errorf("%s in two parts: %+v, %+v", name, found, f.Duplicates)
		}
	}
}

// TestBehindTheStream: what follows a whole gzip stream is no loss of packets.
func TestBehindTheStream(t *testing.T) {
	b, err := os.ReadFile(write(t, frames(t, "rc_write_1024")))
	if err != nil {
		t.Fatal(err)
	}
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	if _, err := w.Write(b); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "behind.pcap.gz")
	if err := os.WriteFile(path, append(z.Bytes(), "seven b"...), 0o600); err != nil {
		t.Fatal(err)
	}
	f, all := analyze(t, pipeline.DefaultConfig(), path)
	got := find(t, all, "input-damaged")
	if !strings.HasSuffix(got.Title, ": 7 bytes that are no gzip follow the gzip stream, and are left out") || strings.Contains(got.Detail, "missing") ||
		!strings.Contains(got.Detail, " covers the 1,739 packets of the compressed data, which is whole.") || f.Packets != 1739 {
		t.Errorf("%d packets, %+v", f.Packets, got)
	}
}

// TestConstantIsNoLoss: packets with a constant for an ICRC that follow right
// ones arrived as they were sent, and nothing is said to be missing.
func TestConstantIsNoLoss(t *testing.T) {
	n := 0
	all := change(t, "rc_write_1024", func(b []byte) {
		if n++; n > 20 {
			binary.BigEndian.PutUint32(b[icrcAt(b):], 0)
		}
	})
	f, found := analyze(t, pipeline.DefaultConfig(), write(t, all))
	if got := above(found, record.Info); !slices.Equal(got, []string{"icrc-not-computed"}) {
		t.Errorf("%v: %+v", got, found)
	}
	if n := f.ICRC.Bad; n != 1680 {
		t.Errorf("%d bad ICRCs", n)
	}
}

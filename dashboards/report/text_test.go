package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/finding"
	"github.com/rocelens/rocelens/pipeline/pause"
	"github.com/rocelens/rocelens/pipeline/record"
)

// base is a report of 1,000 packets of which all are RoCE and nothing is wrong.
func base() (in []capture.Input, c *pipeline.Result) {
	c = &pipeline.Result{Counters: pipeline.Counters{
		Packets: 1000, Bytes: 1_100_000, First: 1_700_000_000_000_000_000, Last: 1_700_000_002_500_000_000,
		RoCE: pipeline.RoCE{V2IPv4: 1000}, RoCEBytes: 1_100_000,
		ICRC: pipeline.CRC{Good: 1000},
	}}
	c.Kinds[decode.KindRoCEv2] = 1000
	c.Opcodes[0x07] = 999
	c.Opcodes[0x11] = 1
	c.AETH.Acks = 1
	c.ECN[2] = 1000
	return []capture.Input{{Path: "a.pcap", Format: capture.FormatPcap, Frames: 1000, Bytes: 1_100_000}}, c
}

// noRoCE makes all packets something else.
func noRoCE(c *pipeline.Result, k decode.Kind) {
	c.RoCE, c.RoCEBytes, c.ICRC, c.AETH = pipeline.RoCE{}, 0, pipeline.CRC{}, pipeline.AETH{}
	c.Opcodes, c.Kinds = [256]uint64{}, [256]uint64{}
	c.Kinds[k] = c.Packets
}

// made is the report with its findings.
func made(in []capture.Input, c *pipeline.Result) *Report {
	return New(in, c, finding.Find(&finding.Facts{Inputs: in, Result: c}), "test")
}

// bad gives packets of one sender a bad ICRC.
func bad(c *pipeline.Result, good, bad uint64, first record.FrameRef) {
	c.ICRC = pipeline.CRC{Good: good, Bad: bad, FirstBad: first}
	c.Senders = pipeline.Senders{N: 1}
	c.Senders.Rows[0] = pipeline.Sender{
		Addr: decode.Addr{Lo: 0xffff_0a000001}, AddrKind: decode.AddrIPv4, Good: good, Bad: bad, FirstBad: first, LowBad: 1, HighBad: 1 + uint32(good),
	}
}

func render(t *testing.T, in []capture.Input, c *pipeline.Result, opt Options) string {
	t.Helper()
	var b bytes.Buffer
	opt.Location = time.UTC
	if err := Text(&b, made(in, c), opt); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// flat undoes the wrapping of lines.
func flat(s string) string { return strings.Join(strings.Fields(s), " ") }

// TestFindingsWithoutColor: in a pipe, severity and code of each finding are
// there all the same, the severities in a margin that holds nothing else.
func TestFindingsWithoutColor(t *testing.T) {
	in, c := base()
	bad(c, 998, 2, record.FrameRef{Number: 213, Time: c.First})
	in[0].Damage = &capture.DamagedError{Path: "a.pcap", Reason: "cut"}
	c.Flags[0], c.Truncated = 10, 10
	for _, width := range []int{60, 80, 100, 120} {
		text := render(t, in, c, Options{Width: width})
		head, _, _ := strings.Cut(text, "\n\n")
		var got []string
		for _, line := range strings.Split(head, "\n") {
			if margin := line[:severityWidth]; strings.TrimSpace(margin) != "" {
				code, _, _ := strings.Cut(line[severityWidth:], " ")
				got = append(got, strings.TrimSpace(margin)+" "+code)
			}
			if len(line) > width && strings.Contains(strings.TrimSpace(line), " ") {
				t.Errorf("width %d: %q", width, line)
			}
		}
		if want := []string{"critical [icrc-bad]", "warning [input-damaged]", "info [truncated]"}; !slices.Equal(got, want) {
			t.Errorf("width %d: %q, want %q in\n%s", width, got, want, text)
		}
	}
}

func TestTextSaysWhatIsWrong(t *testing.T) {
	drops := uint64(7)
	for _, tc := range []struct {
		name   string
		change func(in []capture.Input, c *pipeline.Result)
		first  string // how the report begins
		has    []string
		hasNot []string
	}{
		{
			name: "nothing", change: func([]capture.Input, *pipeline.Result) {},
			first:  "Input a.pcap (pcap), read to its end Packets 1,000, 1.1 MB on the wire, in 2.500 s (400 packets/s, 3.5 Mbit/s)",
			has:    []string{"ICRC 1,000 good, 0 bad, 0 can't be checked", "Truncated 0", "Malformed 0", "0 CNPs", "0 PFC, 0 PAUSE"},
			hasNot: []string{"critical", "warning", "info"},
		},
		{
			name: "damage",
			change: func(in []capture.Input, _ *pipeline.Result) {
				in[0].Damage = &capture.DamagedError{Path: "a.pcap", Offset: 20480, Reason: "a record is cut off"}
			},
			first: "warning [input-damaged] a.pcap: damaged at byte 20480: a record is cut off. This report covers the 1,000 packets before that; " +
				"what came after is missing. Check whether",
			has: []string{"Input a.pcap (pcap), damaged at byte 20,480 "},
		},
		{
			name: "bad ICRCs come before damage, and name the first",
			change: func(in []capture.Input, c *pipeline.Result) {
				in[0].Damage = &capture.DamagedError{Path: "a.pcap", Reason: "cut"}
				bad(c, 998, 2, record.FrameRef{Number: 213, Offset: 230144, Time: c.First + 1_200_000})
			},
			first: "critical [icrc-bad] 2 packets have a bad ICRC, of 1,000 checked (0.2 %): changed on the way, or computed wrongly by the sender. Receivers drop",
			has: []string{
				"By sender: 10.0.0.1 (2 of 1,000, 0.2 %).",
				"First: frame 213 (byte 230,144), 1.2 ms after the start. warning [input-damaged] a.pcap: damaged", "998 good, 2 bad",
			},
		},
		{
			name: "no ICRC is good",
			change: func(_ []capture.Input, c *pipeline.Result) {
				bad(c, 0, 1000, record.FrameRef{Number: 1, Time: c.First})
			},
			first: "warning [icrc-not-computed] 10.0.0.1 does not compute the ICRC: it is always 0x00000001, in 1,000 packets. FPGA",
		},
		{
			name: "ICRC switched off",
			change: func(_ []capture.Input, c *pipeline.Result) {
				c.ICRC = pipeline.CRC{Unchecked: 990, Unverifiable: 10, Reasons: [16]uint64{decode.ICRCReasonTruncated: 10}}
			},
			has:    []string{"ICRC not checked (--no-icrc): this report can't tell whether packets were changed on the way; 10 can't be checked (cut short) in any case Tunnels"},
			hasNot: []string{"good", "bad"},
		},
		{
			name: "cut short",
			change: func(_ []capture.Input, c *pipeline.Result) {
				c.Truncated, c.Flags[0] = 900, 900
				c.ICRC = pipeline.CRC{Good: 100, Unverifiable: 900, Reasons: [16]uint64{decode.ICRCReasonTruncated: 900}}
			},
			first: "info [truncated] 900 packets cut short by the capture's snap length (90.0 %). Sizes come from the headers and are right all the same, but the " +
				"ICRC of 900 cut packets can't be checked.",
			has: []string{"Truncated 900 (90.0 %), by the capture's snap length"},
		},
		{
			name: "cut by the mirror", change: func(_ []capture.Input, c *pipeline.Result) { c.Truncated, c.Flags[0], c.Flags[1] = 900, 100, 800 },
			first: "info [truncated] 100 packets cut short by the capture's snap length",
			has:   []string{"info [truncated-by-mirror] 800 packets cut short before they were captured, by the mirror (80.0 %)", "900 (90.0 %), 800 of them before they were captured, by the mirror"},
		},
		{
			name: "naks", change: func(_ []capture.Input, c *pipeline.Result) {
				c.AETH = pipeline.AETH{Acks: 5, RNRNaks: 2, Naks: [32]uint64{decode.NakSequence: 3, decode.NakRemoteAccess: 1}, Reserved: 1}
			},
			has: []string{
				"5 ACK, 2 RNR NAK, 4 NAK (3 PSN sequence error, 1 remote access error); 1 without a meaning",
			},
			hasNot: []string{"critical", "warning", "info"},
		},
		{
			name: "lost by the capture", change: func(in []capture.Input, _ *pipeline.Result) { in[0].Drops = &drops },
			first: "warning [capture-drops] The capture itself lost 7 packets", has: []string{"Capture drops 7 "},
		},
		{
			name: "malformed", change: func(_ []capture.Input, c *pipeline.Result) {
				c.Malformed, c.FirstMalformed = 1, record.FrameRef{Number: 5, Time: c.First}
			},
			has: []string{"warning [malformed] 1 packet malformed: headers contradict one another", "Look at the first with `rocelens packets --frames 5 -x a.pcap`: ", "First: frame 5 (byte 0)."},
		},
		{
			name: "copies", change: func(_ []capture.Input, c *pipeline.Result) { c.Duplicates.Capture = 7 },
			has: []string{"Duplicates 7 RoCE packets captured again Truncated"},
		},
		{
			name: "copies of unknown making", change: func(_ []capture.Input, c *pipeline.Result) { c.Duplicates.Capture, c.Duplicates.Network = 7, 1 },
			has: []string{"Duplicates 7 RoCE packets or more captured again; not known of 1 packet that came twice whether the capture or the network doubled them Truncated"},
		},
		{
			name: "late copies", change: func(_ []capture.Input, c *pipeline.Result) {
				c.Duplicates.Later = []pipeline.LaterCopies{{To: 1, Sampled: 100, Again: 1}}
			},
			has: []string{"Duplicates not known: packets come again too late to be counted Truncated"}, hasNot: []string{"critical", "warning", "info"},
		},
		{
			name: "retransmissions without IP IDs", change: func(_ []capture.Input, c *pipeline.Result) { c.Duplicates.Undecided = 7 },
			has: []string{"Duplicates can't be told from retransmissions: without IP IDs they look the same Truncated"}, hasNot: []string{"critical", "warning", "info"},
		},
		{
			name: "too many directions", change: func(_ []capture.Input, c *pipeline.Result) { c.Duplicates.Unplaced = 7 },
			has: []string{"Duplicates not known: there are more pairs of addresses than are told apart Truncated"}, hasNot: []string{"critical", "warning", "info"},
		},
		{
			name: "TCP only", change: func(_ []capture.Input, c *pipeline.Result) { noRoCE(c, decode.KindTCP) },
			first:  "warning [no-roce] No RoCE here: none of 1,000 packets is RoCEv1, RoCEv2 or InfiniBand. There is instead: 1,000 TCP. If RoCE was expected:",
			has:    []string{"RoCE 0 Other packets 1,000 TCP"},
			hasNot: []string{"ICRC", "Opcode", "--roce-port"},
		},
		{
			name: "UDP only", change: func(_ []capture.Input, c *pipeline.Result) { noRoCE(c, decode.KindUDP) },
			has: []string{"name it with --roce-port"},
		},
		{
			name: "iWARP", change: func(_ []capture.Input, c *pipeline.Result) { noRoCE(c, decode.KindIWARP) },
			has: []string{"There is instead: 1,000 iWARP. iWARP is RDMA over TCP: it is not RoCE and is not analysed."},
		},
		{
			name: "IPoIB", change: func(_ []capture.Input, c *pipeline.Result) { noRoCE(c, decode.KindIPoIB) },
			has: []string{"There is instead: 1,000 IPoIB. IPoIB is ordinary IP"},
		},
		{
			name: "unknown link type", change: func(_ []capture.Input, c *pipeline.Result) {
				noRoCE(c, decode.KindUnknownLink)
				c.UnknownLinks = pipeline.LinkCounts{Link: [8]capture.LinkType{9, 147}, Count: [8]uint64{400, 590}, N: 2, Other: 10}
			},
			has: []string{"warning [no-roce] No RoCE found; 1,000 packets could not be decoded.", "warning [unknown-link-type] 1,000 packets of a link type that rocelens does not decode", "By link type: 9 (400), 147 (590), others (10)."},
		},
		{
			name: "nothing in it", change: func(in []capture.Input, c *pipeline.Result) {
				*c = pipeline.Result{}
				in[0].Frames = 0
			},
			first: "warning [no-roce] No packets: the capture is empty. Check the interface and the filter that it was made with. Input a.pcap (pcap), read to its end Packets 0",
		},
		{
			name: "not a capture", change: func(in []capture.Input, c *pipeline.Result) {
				*c = pipeline.Result{}
				in[0] = capture.Input{Path: "a.txt", Damage: &capture.DamagedError{Path: "a.txt", Reason: "not a capture"}}
			},
			first: "warning [input-damaged] a.txt: damaged at byte 0: not a capture. Nothing in it could be read.", has: []string{"Input a.txt (not a capture) Packets 0"},
		},
		{
			name: "hidden, quoted and odd things", change: func(_ []capture.Input, c *pipeline.Result) {
				for i, f := range []decode.Flags{decode.UnknownInner, decode.QuotesRoCE, decode.CNPBodyNotZero} {
					for bit := range c.Flags {
						if f == 1<<bit {
							c.Flags[bit] = uint64(i + 1)
						}
					}
				}
				c.ICMPErrors = pipeline.ICMPErrors{N: 1}
				c.ICMPErrors.Rows[0] = pipeline.ICMPError{
					Addr: decode.Addr{Lo: 0xffff_0a000009}, AddrKind: decode.AddrIPv4, Type: 3, Code: 3, Count: 2, First: record.FrameRef{Number: 7, Time: c.First},
				}
				c.Inner = pipeline.InnerTypes{N: 1}
				c.Inner.Rows[0] = pipeline.InnerType{Layer: decode.LayerEthernet, Type: 0x1234, Count: 1}
			},
			has: []string{"warning [unknown-inner] 1 packet in a tunnel", "warning [icmp-error] 2 ICMP errors about RoCEv2 packets, from 10.0.0.9: port unreachable (ICMP type 3, code 3). Nobody takes UDP 4791 there:", "First: frame 7", "info [cnp-reserved] 3 CNPs whose 16 reserved bytes"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in, c := base()
			tc.change(in, c)
			got := flat(render(t, in, c, Options{}))
			if !strings.HasPrefix(got, tc.first) {
				t.Errorf("begins with\n%.300s\nnot with\n%s", got, tc.first)
			}
			for _, s := range tc.has {
				if !strings.Contains(got, s) {
					t.Errorf("%q is missing in\n%s", s, got)
				}
			}
			for _, s := range tc.hasNot {
				if strings.Contains(got, s) {
					t.Errorf("%q is in\n%s", s, got)
				}
			}
		})
	}
}

// TestTextFits checks that no line is wider than it may be, that colour
// changes nothing but colour, and that nobody sees the glue.
func TestTextFits(t *testing.T) {
	in, c := base()
	bad(c, 1, 999, record.FrameRef{Number: 1, Time: c.First})
	c.Flags[0], c.Truncated = 10, 10
	c.Pause.Rows = []pause.Row{{}, {Pauser: record.Pauser{PFC: true}, Priority: 3, XOff: 1_000_000, QuantaMax: 65535}}
	c.Kinds[decode.KindTCP], c.Kinds[decode.KindARP], c.Kinds[decode.KindUDP] = 12_345_678, 2_345_678, 345_678
	c.Packets += 15_037_034
	in[0].Damage = &capture.DamagedError{Path: "a.pcap", Reason: "a record says that it has 4,294,967,295 bytes, which is more than any frame has"}
	for _, width := range []int{80, 100, 120} {
		plainText := render(t, in, c, Options{Width: width})
		for _, line := range strings.Split(plainText, "\n") {
			if n := utf8.RuneCountInString(line); n > width {
				t.Errorf("%d columns, not %d: %s", n, width, line)
			}
		}
		colored := render(t, in, c, Options{Width: width, Color: true})
		if colored == plainText {
			t.Error("no colour")
		}
		for _, code := range []string{bold, red, yellow, cyan, plain} {
			colored = strings.ReplaceAll(colored, code, "")
		}
		if d := cmp.Diff(plainText, colored); d != "" {
			t.Error(d)
		}
		if strings.Contains(plainText, glue) {
			t.Error("glue in the text")
		}
	}
}

func TestSeveralInputs(t *testing.T) {
	in, c := base()
	drops := uint64(0)
	in = append(in, capture.Input{Path: "b.pcapng", Format: capture.FormatPcapNG, Compression: capture.Zstd, Frames: 10, Bytes: 900, Drops: &drops})
	bad(c, 999, 1, record.FrameRef{Input: 1, Number: 3, Time: c.First})
	got := flat(render(t, in, c, Options{}))
	for _, s := range []string{
		"First: frame 2:3 (byte 0).", "Input 1 a.pcap (pcap), 1,000 packets, 1.1 MB, read to its end",
		"Input 2 b.pcapng (pcapng, zstd), 10 packets, 900 bytes, read", "Capture drops 0, recorded in 1 of 2 inputs",
	} {
		if !strings.Contains(got, s) {
			t.Errorf("%q is missing in\n%s", s, got)
		}
	}
}

func TestFormat(t *testing.T) {
	for _, tc := range []struct{ got, want string }{
		{count(0), "0"}, {count(999), "999"}, {count(1000), "1,000"}, {count(1234567), "1,234,567"}, {count(123456), "123,456"},
		{share(0, 0), "-"}, {share(0, 7), "0.0 %"}, {share(7, 7), "100.0 %"}, {share(1, 100000), "<0.1 %"},
		{share(99999, 100000), ">99.9 %"}, {share(1, 3), "33.3 %"},
		{byteSize(1), "1 byte"}, {byteSize(999), "999 bytes"}, {byteSize(1000), "1.0 kB"}, {byteSize(99_949), "99.9 kB"},
		{byteSize(99_950), "100 kB"}, {byteSize(999_499), "999 kB"}, {byteSize(999_500), "1.0 MB"}, {byteSize(12e15), "12.0 PB"},
		{duration(0), "0 ns"}, {duration(1500), "1.5 µs"}, {duration(2_500_000), "2.5 ms"}, {duration(3_642_209_000), "3.642 s"},
		{duration(125e9), "2 min 5 s"}, {duration(3*3600e9 + 59*60e9), "3 h 59 min"}, {duration(80 * 3600e9), "3 d 8 h"},
		{span(0, 1e9, time.UTC), "1970-01-01 00:00:00.000000 to 00:00:01.000000 UTC"},
		{span(0, 86400e9, time.UTC), "1970-01-01 00:00:00.000000 to 1970-01-02 00:00:00.000000 UTC"},
		{wrap("a ", "bc de f", 5), "a bc\n  de\n  f\n"}, {wrap("a ", "toolongword b", 5), "a toolongword\n  b\n"},
	} {
		if got := strings.ReplaceAll(tc.got, glue, " "); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}

// TestJSONNulls: what was not measured is null, what does not apply is absent.
func TestJSONNulls(t *testing.T) {
	in, c := base()
	decoded := func() map[string]any {
		var b bytes.Buffer
		if err := JSON(&b, made(in, c), Options{}); err != nil {
			t.Fatal(err)
		}
		var m map[string]any
		if err := json.Unmarshal(b.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	m := decoded()
	input := m["inputs"].([]any)[0].(map[string]any)
	for name, v := range map[string]any{
		"damaged_at": input["damaged_at"], "reported_drops": input["reported_drops"],
	} {
		if v != nil {
			t.Errorf("%s is %v", name, v)
		}
	}
	for _, key := range []string{"vcrc", "partial"} {
		if _, there := m[key]; there {
			t.Errorf("%s is there", key)
		}
	}
	if d := cmp.Diff(map[string]any{"RC_RDMA_WRITE_MIDDLE": 999., "RC_ACKNOWLEDGE": 1.}, m["opcodes"]); d != "" {
		t.Error(d)
	}
	*c = pipeline.Result{}
	capt := decoded()["capture"].(map[string]any)
	if capt["first"] != nil || capt["last"] != nil {
		t.Errorf("without a packet, first is %v and last %v", capt["first"], capt["last"])
	}
	in, c = base()
	c.ICRC = pipeline.CRC{Unchecked: 1000}
	c.RoCE = pipeline.RoCE{NativeIB: 1000}
	m = decoded()
	if icrc := m["icrc"].(map[string]any); icrc["good"] != nil || icrc["bad"] != nil || icrc["unverifiable"] != 0. {
		t.Errorf("unchecked: %v", icrc)
	}
	if _, there := m["vcrc"]; !there {
		t.Error("native InfiniBand without vcrc")
	}
}

// TestOpcodesKeepTheirOrder: by number, also where that is not by name.
func TestOpcodesKeepTheirOrder(t *testing.T) {
	o := Opcodes{{0x00, 1}, {0x11, 2}, {0x64, 3}, {0x81, 4}, {0xc1, 5}}
	raw, err := o.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"RC_SEND_FIRST":1,"RC_ACKNOWLEDGE":2,"UD_SEND_ONLY":3,"CNP":4,"0xc1":5}`; string(raw) != want {
		t.Errorf("%s, want %s", raw, want)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriteErrors(t *testing.T) {
	in, c := base()
	for _, write := range []func() error{
		func() error { return Text(failing{}, made(in, c), Options{}) },
		func() error { return JSON(failing{}, made(in, c), Options{}) },
	} {
		if err := write(); err == nil {
			t.Error("a failed write is not reported")
		}
	}
}

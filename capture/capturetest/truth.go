package capturetest

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
)

// Truth is what is known of a capture from other sources than rocelens: an
// independent decode of the file and tshark's count. Keys of the file that are
// not here (the commands that ran, drop lists, counters) are left for the
// tests that need them.
type Truth struct {
	File        string  `json:"file"` // name of the unpacked capture
	Description string  `json:"description"`
	Summary     Summary `json:"summary"`
	Tshark      Tshark  `json:"tshark"`
}

// Summary is the independent decode.
type Summary struct {
	Packets          int     `json:"packets"`
	RoCEPackets      int     `json:"roce_packets"`
	NonRoCEPackets   int     `json:"non_roce_packets"`
	SnaplenTruncated int     `json:"snaplen_truncated"` // frames that the capture cut
	DurationS        float64 `json:"duration_s"`
	ICRCBad          int     `json:"icrc_bad"`
	ICRCNotCheckable int     `json:"icrc_not_checkable"`
	// Opcodes counts by direction and name: "10.10.0.1>10.10.0.2 RC_SEND_ONLY".
	Opcodes map[string]int `json:"opcodes"`
	// AckSyndromes counts what the opcode Acknowledge carries, likewise by
	// direction: ACK, NAK_PSN_SEQ, RNR_NAK(12), SYN_9f.
	AckSyndromes map[string]int `json:"ack_syndromes"`
	// Encapsulation counts RoCE packets by what is around them, from the
	// outside in: "erspan2,vlan100/p3".
	Encapsulation map[string]int `json:"encapsulation"`
	// Repeated counts packets of reliable connections whose PSN was there
	// before: requests and read_responses.
	Repeated map[string]int `json:"rc_repeated_psn_packets"`
	// CEMarked counts packets marked for congestion, by direction.
	CEMarked map[string]int `json:"ce_marked_packets"`
}

// Tshark is what tshark counted.
type Tshark struct {
	Version          string         `json:"version"`
	Frames           int            `json:"frames"`
	InfiniBandFrames int            `json:"infiniband_frames"`
	BTHOpcodes       map[string]int `json:"bth_opcodes"` // by decimal opcode
}

// LoadTruth reads the truth of a capture.
func LoadTruth(tb testing.TB, c Capture) *Truth {
	tb.Helper()
	raw, err := os.ReadFile(c.Truth)
	if err != nil {
		tb.Fatal(err)
	}
	var t Truth
	if err := json.Unmarshal(raw, &t); err != nil {
		tb.Fatalf("%s: %v", c.Truth, err)
	}
	return &t
}

// Clean says that nothing went wrong while it was captured.
func (t *Truth) Clean() bool {
	return strings.Contains(t.Description, "No faults injected") && t.Summary.Repeated["requests"]+t.Summary.Repeated["read_responses"] == 0
}

// OpcodeTotals sums Summary.Opcodes over both directions.
func (t *Truth) OpcodeTotals() map[string]int { return sumDirections(t.Summary.Opcodes) }

// SyndromeTotals sums Summary.AckSyndromes over both directions.
func (t *Truth) SyndromeTotals() map[string]int { return sumDirections(t.Summary.AckSyndromes) }

// sumDirections adds up the keys "src>dst NAME" by NAME.
func sumDirections(m map[string]int) map[string]int {
	sum := make(map[string]int)
	for k, n := range m {
		_, name, _ := strings.Cut(k, " ")
		sum[name] += n
	}
	return sum
}

// TsharkOpcodes is Tshark.BTHOpcodes by number.
func (t *Truth) TsharkOpcodes(tb testing.TB) map[uint8]int {
	tb.Helper()
	m := make(map[uint8]int)
	for k, n := range t.Tshark.BTHOpcodes {
		op, err := strconv.ParseUint(k, 10, 8)
		if err != nil {
			tb.Fatalf("%s: tshark opcode %q: %v", t.File, k, err)
		}
		m[uint8(op)] = n
	}
	return m
}

// Encapsulations is Summary.Encapsulation by the report's names, each counted
// once a packet: one tag is vlan, two are qinq, "erspan2,vlan100/p3" is
// erspan2 and vlan.
func (t *Truth) Encapsulations(tb testing.TB) map[string]int {
	tb.Helper()
	m := make(map[string]int)
	for stack, n := range t.Summary.Encapsulation {
		tags := 0
		for _, part := range strings.Split(stack, ",") {
			switch {
			case strings.HasPrefix(part, "vlan"):
				tags++
			case strings.HasPrefix(part, "vxlan"):
				m["vxlan"] += n
			case part == "gretap":
				m["gre"] += n
			case part == "erspan1", part == "erspan2", part == "erspan3":
				m[part] += n
			default:
				tb.Fatalf("%s: encapsulation %q is not known to the tests", t.File, part)
			}
		}
		switch {
		case tags == 1:
			m["vlan"] += n
		case tags > 1:
			m["qinq"] += n
		}
	}
	return m
}

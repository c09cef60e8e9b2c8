package groundtruth_test

import (
	"encoding/json"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/decode"
)

// truth is what is known of a capture from other sources than the capture.
type truth struct {
	Description  string                      `json:"description"`
	CapturePoint string                      `json:"capture_point"`
	Commands     json.RawMessage             `json:"commands"`
	During       json.RawMessage             `json:"during"`
	Counters     map[string]map[string]int   `json:"counter_delta"`
	Before       map[string]json.RawMessage  `json:"dropped_before_capture"`
	Altered      map[string]json.RawMessage  `json:"altered_or_dropped_before_capture"`
	After        map[string]json.RawMessage  `json:"dropped_after_capture"`
	Marked       map[string]json.RawMessage  `json:"ce_marked_before_capture"`
	Switch       *dropList                   `json:"switch_drops"`
	SwitchMarks  *dropList                   `json:"switch_marks"`
	FaultStats   []struct{ Cmd, Out string } `json:"fault_stats"`
	Clocks       json.RawMessage             `json:"clock_offsets"`
	Injected     json.RawMessage             `json:"injected_faults"`
	Sweep        *sweep                      `json:"sweep"`
	Summary      struct {
		Repeated map[string]int `json:"rc_repeated_psn_packets"`
		ICRCBad  int            `json:"icrc_bad"`
	} `json:"summary"`
}

// dropList is packets that something dropped, marked or altered.
type dropList struct {
	Count   int          `json:"count"`
	Packets []listedDrop `json:"packets"`
}

// listedDrop is a packet as the lists have it: those of hosts name direction
// and operation, those of the switch addresses and opcode.
type listedDrop struct {
	Dir string          `json:"dir"`
	Src string          `json:"src"`
	Dst string          `json:"dst"`
	Op  json.RawMessage `json:"op"`
	QPN uint32          `json:"dqp"`
	PSN uint32          `json:"psn"`
}

// sweep is a point of the loss sweep and what ib_write_bw reported.
type sweep struct {
	LossPct     float64 `json:"loss_pct"`
	PathMTU     int     `json:"path_mtu"`
	Message     int     `json:"message_bytes"`
	Messages    int     `json:"messages"`
	ReportedAvg float64 `json:"reported_bw_avg_MBps"`
	Needed      int     `json:"data_packets_needed"`
	Received    int     `json:"receiver_rcvd_pkts"`
	Dropped     int     `json:"dropped_by_netem"`
}

func loadTruth(tb testing.TB, c capturetest.Capture) *truth {
	tb.Helper()
	raw, err := os.ReadFile(c.Truth)
	if err != nil {
		tb.Fatal(err)
	}
	t := new(truth)
	if err := json.Unmarshal(raw, t); err != nil {
		tb.Fatalf("%s: %v", c.Truth, err)
	}
	return t
}

// packetClass is what kind of packet was lost; each is looked for elsewhere.
type packetClass uint8

const (
	classRequest    packetClass = iota // of RC
	classResponse                      // READ responses and atomic acknowledges
	classAck                           // ACKs and NAKs: nothing tells of their loss but what follows
	classUnreliable                    // UC and UD
)

// drop is one dropped packet.
type drop struct {
	src, dst netip.Addr
	class    packetClass
	qpn, psn uint32
}

func (d drop) key() string { return flowKey(d.dst, d.qpn) }

// flowKey names the QP that packets go to.
func flowKey(dst netip.Addr, qpn uint32) string {
	return dst.String() + "/" + strconv.FormatUint(uint64(qpn), 10)
}

// drops reads drop lists. The lists of one host each stand beside a note,
// which is no list.
func drops(tb testing.TB, lists ...map[string]json.RawMessage) []drop {
	tb.Helper()
	var all []drop
	for _, m := range lists {
		for host, raw := range m {
			if host == "note" {
				continue
			}
			var l dropList
			if err := json.Unmarshal(raw, &l); err != nil {
				tb.Fatalf("drop list of %s: %v", host, err)
			}
			all = append(all, l.drops(tb)...)
		}
	}
	return all
}

func (l *dropList) drops(tb testing.TB) []drop {
	tb.Helper()
	if l == nil {
		return nil
	}
	all := make([]drop, 0, len(l.Packets))
	for _, p := range l.Packets {
		src, dst := p.Src, p.Dst
		if p.Dir != "" {
			src, dst, _ = strings.Cut(p.Dir, ">")
		}
		all = append(all, drop{src: parseAddr(tb, src), dst: parseAddr(tb, dst), class: classOf(tb, p.Op), qpn: p.QPN, psn: p.PSN})
	}
	return all
}

// classOf reads the name of an operation, or the number of an opcode.
func classOf(tb testing.TB, raw json.RawMessage) packetClass {
	tb.Helper()
	var name string
	if err := json.Unmarshal(raw, &name); err != nil {
		n, err := strconv.ParseUint(string(raw), 10, 8)
		if err != nil {
			tb.Fatalf("operation %s: %v", raw, err)
		}
		name = decode.Opcode(n).String()
	}
	switch {
	case strings.HasPrefix(name, "UC_"), strings.HasPrefix(name, "UD_"):
		return classUnreliable
	case strings.Contains(name, "READ_RESPONSE"), strings.HasSuffix(name, "ATOMIC_ACKNOWLEDGE"):
		return classResponse
	case strings.HasSuffix(name, "ACKNOWLEDGE"):
		return classAck
	}
	return classRequest
}

// parseAddr reads an address, IPv6 also as 32 hex digits.
func parseAddr(tb testing.TB, s string) netip.Addr {
	tb.Helper()
	if len(s) == 32 && !strings.ContainsAny(s, ".:") {
		var parts []string
		for ; s != ""; s = s[4:] {
			parts = append(parts, s[:4])
		}
		s = strings.Join(parts, ":")
	}
	a, err := netip.ParseAddr(s)
	if err != nil {
		tb.Fatal(err)
	}
	return a.Unmap()
}

// before are the packets dropped ahead of the tap, after those behind it. The
// switch's drops are behind a tap at its ingress and ahead of one at its
// egress.
func (t *truth) before(tb testing.TB) []drop {
	list := drops(tb, t.Before, t.Altered)
	if t.CapturePoint != switchIngress {
		list = append(list, t.Switch.drops(tb)...)
	}
	return list
}

func (t *truth) after(tb testing.TB) []drop {
	list := drops(tb, t.After)
	if t.CapturePoint == switchIngress {
		list = append(list, t.Switch.drops(tb)...)
	}
	return list
}

// switchIngress is the capture point of taps ahead of the switch's queues.
const switchIngress = "seg"

// host is the letter of the host that has an address: all addresses of the
// captures end in its number.
func host(a netip.Addr) string {
	b := a.AsSlice()
	return string(rune('A' + b[len(b)-1] - 1))
}

// counter is one counter of the Soft-RoCE device of each host.
func (t *truth) counter(name string) tally {
	sum := make(tally)
	for h, counters := range t.Counters {
		sum.add(h, counters["rxe0."+name])
	}
	return sum
}

// clean says that nothing was injected and nothing was sent again. The captures
// of the fabric are those with clocks held against one another; where
// something was injected they say so.
func (t *truth) clean() bool {
	for _, n := range t.Summary.Repeated {
		if n > 0 {
			return false
		}
	}
	return strings.Contains(t.Description, "No faults injected") || t.Clocks != nil && t.Injected == nil
}

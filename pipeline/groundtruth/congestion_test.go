package groundtruth_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/sketch"
)

// cnps are the captures that have CNPs, and how many; no other has one.
var cnps = map[string]uint64{"ecn_ce_with_synthetic_cnp": 36}

// tosTruth is the TOS of each RoCE packet by direction, of the independent
// decode.
type tosTruth struct {
	Summary struct {
		TOS map[string]int `json:"ip_tos"` // "10.10.0.1>10.10.0.2 tos=0x6a"
	} `json:"summary"`
}

// truthAddr is an address as the truth writes it: dotted, or 32 digits.
func truthAddr(tb testing.TB, s string) string {
	tb.Helper()
	if b, err := hex.DecodeString(s); err == nil && len(b) == 16 {
		return netip.AddrFrom16([16]byte(b)).String()
	}
	if _, err := netip.ParseAddr(s); err != nil {
		tb.Fatal(err)
	}
	return s
}

func addrText(e *record.Endpoint) string { return string(e.Append(nil)) }

// TestECNOfEachDirection: of what each host sends to each other, as many packets
// can be marked, are marked, and have each DSCP as the independent decode says,
// in every capture; so their shares are equal too. Sessions leave out
// connection management and what the capture has twice. No CNP is invented.
func TestECNOfEachDirection(t *testing.T) {
	type way struct {
		ECN  [4]uint64
		DSCP [64]uint64
	}
	twice := map[string]bool{"any_sll2_with_mirror_duplicates": true, "merged_both_ends_aligned": true, "duplicate_write": true}
	for _, a := range all(t) {
		if twice[a.name] {
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			raw, err := os.ReadFile(truthPath(a.path))
			if err != nil {
				t.Fatal(err)
			}
			var x tosTruth
			if err := json.Unmarshal(raw, &x); err != nil {
				t.Fatal(err)
			}
			want := make(map[string]way)
			for k, n := range x.Summary.TOS {
				dirs, value, _ := strings.Cut(k, " tos=")
				src, dst, _ := strings.Cut(dirs, ">")
				tos, err := strconv.ParseUint(value, 0, 8)
				if err != nil {
					t.Fatal(err)
				}
				k := truthAddr(t, src) + ">" + truthAddr(t, dst)
				w := want[k]
				w.ECN[tos&3] += uint64(n)
				w.DSCP[tos>>2] += uint64(n)
				want[k] = w
			}
			if len(want) == 0 {
				t.Fatal("the truth has no TOS")
			}
			got := make(map[string]way)
			eachPacket(t, a.path, func(p *decode.Packet) {
				if p.RoCE() && p.DestQP == 1 {
					k := string(p.Src.Append(nil, p.AddrKind)) + ">" + string(p.Dst.Append(nil, p.AddrKind))
					w := got[k]
					w.ECN[p.TOS&3]++
					w.DSCP[p.TOS>>2]++
					got[k] = w
				}
			})
			var told, matched uint64
			for s := range a.res.Sessions.All() {
				for _, d := range []struct {
					d        *record.Direction
					from, to *record.Endpoint
				}{{&s.AToB, &s.A, &s.B}, {&s.BToA, &s.B, &s.A}} {
					told += d.d.CNPsReceived
					if c := d.d.Congestion; c != nil {
						matched += c.CNPs
					}
					if d.d.Packets == 0 {
						continue
					}
					k := addrText(d.from) + ">" + addrText(d.to)
					w := got[k]
					for i, n := range d.d.ECN {
						w.ECN[i] += n
					}
					for _, c := range d.d.DSCP {
						w.DSCP[c.DSCP] += c.Packets
					}
					got[k] = w
				}
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
			if told != cnps[a.name] || matched != told {
				t.Errorf("%d CNPs, %d of them tied to the data of their QP, want %d", told, matched, cnps[a.name])
			}
		})
	}
}

// truthPath is where the truth of a capture is.
func truthPath(path string) string {
	for _, ext := range []string{".pcap.zst", ".pcapng.zst"} {
		path = strings.TrimSuffix(path, ext)
	}
	return path + ".json"
}

// marking is a packet that was marked, as the lists name it.
type marking struct {
	Src, Dst string
	QPN, PSN uint32
	ID       uint16
}

// TestEachMark: the packets with CE are those that netem or the switch marked,
// one by one, behind whoever marked them; ahead of it there is none.
func TestEachMark(t *testing.T) {
	type listed struct {
		Dir, Src, Dst string
		QPN           uint32 `json:"dqp"`
		PSN           uint32 `json:"psn"`
		ID            uint16 `json:"ipid"`
	}
	type list struct {
		Count   int      `json:"count"`
		Packets []listed `json:"packets"`
	}
	found := 0
	for _, a := range all(t) {
		if len(a.truth.Marked) == 0 && a.truth.SwitchMarks == nil {
			continue
		}
		found++
		t.Run(a.name, func(t *testing.T) {
			raw, err := os.ReadFile(truthPath(a.path))
			if err != nil {
				t.Fatal(err)
			}
			var x struct {
				Marked map[string]json.RawMessage `json:"ce_marked_before_capture"`
				Switch *list                      `json:"switch_marks"`
			}
			if err := json.Unmarshal(raw, &x); err != nil {
				t.Fatal(err)
			}
			want := make(map[marking]int)
			count, whole := 0, true
			take := func(l *list) {
				count += l.Count
				whole = whole && l.Count == len(l.Packets) // the switch's log is listed in part
				for _, p := range l.Packets {
					if p.Dir != "" {
						p.Src, p.Dst, _ = strings.Cut(p.Dir, ">")
					}
					want[marking{p.Src, p.Dst, p.QPN, p.PSN, p.ID}]++
				}
			}
			for name, raw := range x.Marked {
				var l list
				if name == "note" {
					continue
				}
				if err := json.Unmarshal(raw, &l); err != nil {
					t.Fatal(err)
				}
				take(&l)
			}
			if x.Switch != nil && a.truth.CapturePoint != switchIngress {
				take(x.Switch)
			}
			got, n := marked(t, a.path)
			if n != count {
				t.Errorf("%d packets with CE, %d were marked", n, count)
			}
			for m, k := range want {
				if got[m] != k {
					t.Errorf("%+v: marked %d times, seen %d times", m, k, got[m])
				}
			}
			if whole && len(got) != len(want) {
				t.Errorf("%d packets with CE, %d were marked", len(got), len(want))
			}
			var data uint64
			for s := range a.res.Sessions.All() {
				for _, d := range []*record.Direction{&s.AToB, &s.BToA} {
					if d.Congestion != nil {
						data += d.Congestion.DataMarked + d.Congestion.AcksMarked
					}
				}
			}
			if data != uint64(count) {
				t.Errorf("sessions have %d marks, want %d", data, count)
			}
		})
	}
	if found == 0 {
		t.Error("no capture with a list of marks")
	}
}

// marked reads the marks packet by packet.
func marked(t *testing.T, path string) (all map[marking]int, n int) {
	t.Helper()
	all = make(map[marking]int)
	eachPacket(t, path, func(p *decode.Packet) {
		if p.RoCE() && p.TOS&3 == 3 {
			all[marking{string(p.Src.Append(nil, p.AddrKind)), string(p.Dst.Append(nil, p.AddrKind)), p.DestQP, p.PSN, p.IPID}]++
			n++
		}
	})
	return all, n
}

// TestEachCNP: each CNP belongs to the QP whose data was marked, and comes as
// long after the mark as tshark's times say: each of them, from the last marked
// packet and from the first one since the CNP before. The script that sent them
// kept CNPs for one QP 5 ms apart.
func TestEachCNP(t *testing.T) {
	for _, a := range all(t) {
		if cnps[a.name] == 0 {
			continue
		}
		const client, server = "10.10.0.1", "10.10.0.2"
		type qp struct {
			delays, waits, spacing []int64
			marked                 uint64
			first, last, cnp       int64
		}
		qps := make(map[uint64]*qp) // the QPNs are the same at both ends
		out := capturetest.RunTshark(t, a.path, "-Y", "infiniband.bth", "-T", "fields",
			"-e", "frame.time_epoch", "-e", "ip.src", "-e", "infiniband.bth.destqp", "-e", "infiniband.bth.opcode", "-e", "ip.dsfield.ecn")
		for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
			f := strings.Split(s.Text(), "\t")
			at, err := strconv.ParseInt(strings.Replace(f[0], ".", "", 1), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			n, err := strconv.ParseUint(f[2], 0, 24)
			if err != nil {
				t.Fatal(err)
			}
			q := qps[n]
			if q == nil {
				q = new(qp)
				qps[n] = q
			}
			switch {
			case f[1] == server && f[3] == "129":
				if q.first != 0 { // else the last mark had its CNP
					q.waits = append(q.waits, at-q.first)
				}
				q.delays = append(q.delays, at-q.last)
				if q.cnp != 0 {
					q.spacing = append(q.spacing, at-q.cnp)
				}
				q.first, q.cnp = 0, at
			case f[1] == client && f[4] == "3":
				q.marked++
				q.last = at
				if q.first == 0 {
					q.first = at
				}
			}
		}
		seen := 0
		for s := range a.res.Sessions.All() {
			q := qps[uint64(s.A.QPN)]
			c := s.AToB.Congestion
			if q == nil || c == nil {
				t.Fatalf("%s: %v", s.ID, c)
			}
			seen += len(q.delays)
			if s.B.QPN != s.A.QPN || c.DataMarked != q.marked || s.AToB.CNPsReceived != uint64(len(q.delays)) || s.BToA.CNPsReceived != 0 {
				t.Errorf("%s: %d marked, %d CNPs, %d the other way; want %d and %d", s.ID, c.DataMarked, s.AToB.CNPsReceived, s.BToA.CNPsReceived, q.marked, len(q.delays))
			}
			sameTimes(t, s.ID+", from the last mark", &c.NPDelay, q.delays)
			sameTimes(t, s.ID+", from the first mark", &c.MarkWait, q.waits)
			sameTimes(t, s.ID+", from CNP to CNP", &c.Spacing, q.spacing)
			if c.Spacing.Min < 5_000_000 {
				t.Errorf("%s: CNPs %d ns apart", s.ID, c.Spacing.Min)
			}
		}
		if uint64(seen) != cnps[a.name] {
			t.Errorf("tshark has %d CNPs, want %d", seen, cnps[a.name])
		}
	}
}

// sameTimes: a histogram has exactly these times, each in its bucket.
func sameTimes(t *testing.T, what string, h *sketch.Histogram, want []int64) {
	t.Helper()
	buckets := make(map[int]uint32)
	sum := int64(0)
	for _, ns := range want {
		buckets[sketch.Bucket(ns)]++
		sum += ns
	}
	got := make(map[int]uint32)
	h.Each(func(bucket int, n uint32) { got[bucket] += n })
	if d := cmp.Diff(buckets, got); d != "" || h.Sum != sum || h.Count != uint64(len(want)) {
		t.Errorf("%s: sum %d, want %d of %v: %s", what, h.Sum, sum, want, d)
	}
}

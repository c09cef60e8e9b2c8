package cm_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/capture/frametest"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/decode/mad"
	"github.com/rocelens/rocelens/pipeline/cm"
	"github.com/rocelens/rocelens/pipeline/record"
)

// eachPacket calls do with every packet of a capture file.
func eachPacket(tb testing.TB, path string, do func(*decode.Packet, record.FrameRef)) {
	tb.Helper()
	d := decode.New(decode.DefaultConfig())
	var p decode.Packet
	frametest.Each(tb, path, func(f *capture.Frame) {
		d.Decode(f, &p)
		do(&p, record.FrameRef{Number: f.Number, Time: f.Time})
	})
}

// follow are the connections of a capture.
func follow(tb testing.TB, path string) (list []*cm.Conn, t *cm.Tracker) {
	tb.Helper()
	t = cm.New(1000)
	eachPacket(tb, path, func(p *decode.Packet, ref record.FrameRef) { t.Add(p, ref) })
	t.Each(func(c *cm.Conn) { list = append(list, c) })
	return list, t
}

// story is a connection in one line.
func story(c *cm.Conn) string {
	b := c.A.AppendID(nil)
	b = c.B.AppendID(append(b, " > "...))
	b = append(b, " "+c.Service.String()+" "+c.Application+" "+c.State.String()...)
	for a := mad.REQ; a <= mad.APR; a++ {
		if n := c.Seen(a).Count; n > 0 {
			b = append(b, " "+a.String()+" "+strconv.Itoa(int(n))...)
		}
	}
	if s := c.RejectText(); s != "" {
		b = append(b, ": "+s...)
	}
	return string(b)
}

// TestStories holds the connections of real captures against what their
// commands did: what ran, and what the tools printed.
func TestStories(t *testing.T) {
	for name, want := range map[string][]string{
		"rdmacm_rping":   {"10.10.0.1/0x38 > 10.10.0.2/0x61 RC rping disconnected REQ 1 REP 1 RTU 1 DREQ 1 DREP 1"},
		"rdmacm_rstream": {"10.10.0.1/0x55 > 10.10.0.2/0x7d RC  disconnected REQ 1 REP 1 RTU 1 DREQ 1 DREP 1"},
		"nfs_rdma_v4":    {"10.10.0.1/0xc1 > 10.10.0.2/0xe7 RC nfs-rdma disconnected REQ 1 REP 1 RTU 1 DREQ 1 DREP 1"},
		"iser_login_io":  {"10.10.0.1/0xc6 > 10.10.0.2/0xec RC iser disconnected REQ 1 REP 1 RTU 1 DREQ 2 DREP 1"},
		"rdmacm_reject":  {"10.10.0.1/0x40 > 10.10.0.2/? RC  rejected REQ 1 REJ 1: nobody listens on this service ID"},
		"rdmacm_udaddy": {
			"10.10.0.1/? > 10.10.0.2/0x67 UD udaddy replied SIDR_REQ 1 SIDR_REP 1",
			"10.10.0.1/? > 10.10.0.2/0x68 UD udaddy replied SIDR_REQ 1 SIDR_REP 1",
		},
		"rc_rdmacm_client_crash": {
			"10.10.0.1/0x36 > 10.10.0.2/0x60 RC perftest disconnected REQ 1 REP 1 RTU 1 DREQ 1 DREP 1",
			"10.10.0.1/0x37 > 10.10.0.2/? RC perftest rejected REQ 1 REJ 1: nobody listens on this service ID",
		},
		// The first connection exchanges what the tool's own TCP does elsewhere.
		"rdmacm_ib_write_bw": {
			"10.10.0.1/0x56 > 10.10.0.2/0x7e RC perftest disconnected REQ 1 REP 1 RTU 1 DREQ 2 DREP 2",
			"10.10.0.1/0x57 > 10.10.0.2/0x7f RC perftest disconnected REQ 1 REP 1 RTU 1 DREQ 1 DREP 1",
		},
		// The capture begins with two connections that exist already: a DREQ
		// names the QPN of the other side alone.
		"nvmeof_fio_loss_after_1pct": {
			"10.10.0.1/? > 10.10.0.2/0x2b unknown  disconnected DREQ 1 DREP 1",
			"10.10.0.1/? > 10.10.0.2/0x2a unknown  disconnected DREQ 1 DREP 1",
			"10.10.0.1/0x2d > 10.10.0.2/0x2c RC nvme-rdma disconnected REQ 1 REP 1 RTU 1 DREQ 1 DREP 1",
			"10.10.0.1/0x2e > 10.10.0.2/0x2d RC nvme-rdma disconnected REQ 1 REP 1 RTU 1 DREQ 1 DREP 1",
			"10.10.0.1/0x2f > 10.10.0.2/0x2e RC nvme-rdma disconnected REQ 1 REP 1 RTU 1 DREQ 1 DREP 1",
			"10.10.0.1/0x30 > 10.10.0.2/0x2f RC nvme-rdma disconnected REQ 1 REP 1 RTU 1 DREQ 1 DREP 1",
			"10.10.0.1/0x31 > 10.10.0.2/0x30 RC nvme-rdma established REQ 1 REP 1 RTU 1",
			"10.10.0.1/0x32 > 10.10.0.2/0x31 RC nvme-rdma established REQ 1 REP 1 RTU 1",
		},
	} {
		var got []string
		list, _ := follow(t, capturetest.Get(t, name).Path)
		for _, c := range list {
			got = append(got, story(c))
		}
		if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
			t.Errorf("%s:\n%s\nwant\n%s", name, g, w)
		}
	}
	list, _ := follow(t, capturetest.Get(t, "rdmacm_cmtime").Path)
	if len(list) != 20 {
		t.Errorf("cmtime made 20 connections, not %d", len(list))
	}
	for _, c := range list {
		if s := story(c); !strings.HasSuffix(s, "disconnected REQ 1 REP 1 RTU 1 DREQ 1 DREP 1") {
			t.Error(s)
		}
	}
}

// TestDataFollows holds what the messages say against the packets that
// follow: each flow between the two QPNs begins with the PSN that was agreed,
// and has the UDP source port that goes with the flow label, or in captures of
// an older kernel with the sender's QPN.
func TestDataFollows(t *testing.T) {
	type flow struct {
		src, dst decode.Addr
		qpn      uint32
	}
	type first struct {
		psn  uint32
		port uint16
	}
	older := map[string]bool{"roce_capture_read-write-ecn.pcap": true, "test.pcap": true}
	flows, ports := 0, 0
	for _, path := range capturetest.Paths(t) {
		begin := make(map[flow]first)
		eachPacket(t, path, func(p *decode.Packet, _ record.FrameRef) {
			f := flow{p.Src, p.Dst, p.DestQP}
			if _, ok := begin[f]; !ok && p.Has&decode.HasBTH != 0 && request(p.Opcode) && p.DestQP > 1 {
				begin[f] = first{p.PSN, p.SrcPort}
			}
		})
		list, _ := follow(t, path)
		for _, c := range list {
			for side, f := range []flow{{c.A.Addr, c.B.Addr, c.B.QPN}, {c.B.Addr, c.A.Addr, c.A.QPN}} {
				b, ok := begin[f]
				if !ok || !c.CM.HasStartPSN[side] {
					continue
				}
				flows++
				if b.psn != c.CM.StartPSN[side] {
					t.Errorf("%s: %s: side %d begins with PSN %#x, agreed was %#x", filepath.Base(path), story(c), side, b.psn, c.CM.StartPSN[side])
				}
				if port, ok := c.SourcePort(); ok {
					if older[filepath.Base(path)] {
						port = cm.PortOfQPN([]uint32{c.A.QPN, c.B.QPN}[side])
					}
					if ports++; port != b.port {
						t.Errorf("%s: %s: side %d sends from port %d, expected was %d", filepath.Base(path), story(c), side, b.port, port)
					}
				}
			}
		}
	}
	if flows < 20 || ports < 20 {
		t.Errorf("only %d flows and %d ports were compared", flows, ports)
	}
	t.Logf("%d flows, %d ports", flows, ports)
}

// request says whether an operation is one of requests: not a READ response
// (0x0d to 0x10), and no ACK (0x11, 0x12).
func request(o decode.Opcode) bool {
	operation := o & 0x1f
	return operation < 0x0d || operation > 0x12
}

// TestDatagramPorts holds the port of datagrams from Soft-RoCE against the QPN
// that they name as their source.
func TestDatagramPorts(t *testing.T) {
	packets := 0
	for _, c := range capturetest.All(t) {
		eachPacket(t, c.Path, func(p *decode.Packet, _ record.FrameRef) {
			if p.Kind != decode.KindRoCEv2 || p.Has&decode.HasDETH == 0 {
				return
			}
			if packets++; p.SrcPort != cm.PortOfQPN(p.SrcQP) {
				t.Errorf("%s: from QP %#x port %d, not %d", c.Name, p.SrcQP, p.SrcPort, cm.PortOfQPN(p.SrcQP))
			}
		})
	}
	if packets < 100 {
		t.Errorf("only %d packets", packets)
	}
	t.Logf("%d packets", packets)
}

// TestPrintedQPNs holds the port of QPNs that no REQ names against the QPNs
// that perftest printed on both hosts. CNPs are left out: those in the
// collection are made, and their port is not the kernel's.
func TestPrintedQPNs(t *testing.T) {
	compared := 0
	for _, c := range capturetest.All(t) {
		qpns := printedQPNs(t, c.Truth)
		if len(qpns) == 0 {
			continue
		}
		peers := make(map[uint32]map[uint16]bool) // ports by the QPN and all it may talk to
		for host, as := range qpns {
			for other, bs := range qpns {
				if host == other {
					continue
				}
				for _, a := range as {
					for _, b := range bs {
						if peers[a] == nil {
							peers[a] = make(map[uint16]bool)
						}
						peers[a][cm.PortOfLabel(cm.LabelOfQPNs(a, b))] = true
					}
				}
			}
		}
		list, _ := follow(t, c.Path)
		if len(list) > 0 { // its ports are the REQ's
			continue
		}
		seen := make(map[uint32]uint16)
		eachPacket(t, c.Path, func(p *decode.Packet, _ record.FrameRef) {
			if p.Kind == decode.KindRoCEv2 && p.Has&decode.HasBTH != 0 && p.Has&decode.HasDETH == 0 &&
				p.Opcode != decode.OpCNP && peers[p.DestQP] != nil {
				seen[p.DestQP] = p.SrcPort
			}
		})
		for q, port := range seen {
			if compared++; !peers[q][port] {
				t.Errorf("%s: packets to QP %#x come from port %d, not %v", c.Name, q, port, peers[q])
			}
		}
	}
	t.Logf("%d flows", compared)
	if compared < 20 {
		t.Errorf("only %d flows were compared", compared)
	}
}

// printedQPNs are the QPNs by host that the tools printed.
func printedQPNs(tb testing.TB, truth string) map[string][]uint32 {
	tb.Helper()
	raw, err := os.ReadFile(truth)
	if err != nil {
		tb.Fatal(err)
	}
	var t struct {
		QPs []struct {
			Host string `json:"host"`
			QPN  uint32 `json:"qpn"`
		} `json:"qps_printed_by_tools"`
	}
	if err := json.Unmarshal(raw, &t); err != nil {
		tb.Fatal(err)
	}
	qpns := make(map[string][]uint32)
	for _, q := range t.QPs {
		qpns[q.Host] = append(qpns[q.Host], q.QPN)
	}
	return qpns
}

package mad_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/capture/frametest"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/decode/mad"
)

// column is a field of tshark's and ours of the same meaning, as tshark
// prints it.
type column struct {
	name string
	ours func(*mad.Message) string
}

func number(get func(*mad.Message) uint64) func(*mad.Message) string {
	return func(m *mad.Message) string { return strconv.FormatUint(get(m), 10) }
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func address(g [16]byte) string { return netip.AddrFrom16(g).Unmap().String() }

func last4(a [16]byte) string { return netip.AddrFrom4([4]byte(a[12:])).String() }

// columns are what tshark 4.0 decodes of each message; of MRA, LAP, APR and
// SIDR it decodes nothing.
var columns = map[mad.Attribute][]column{
	mad.REQ: {
		{"req", number(func(m *mad.Message) uint64 { return uint64(m.LocalID) })},
		{"req.serviceid", number(func(m *mad.Message) uint64 { return uint64(m.ServiceID) })},
		{"req.localcaguid", number(func(m *mad.Message) uint64 { return m.CAGUID })},
		{"req.localqkey", number(func(m *mad.Message) uint64 { return uint64(m.QKey) })},
		{"req.localqpn", number(func(m *mad.Message) uint64 { return uint64(m.QPN) })},
		{"req.responderres", number(func(m *mad.Message) uint64 { return uint64(m.ResponderResources) })},
		{"req.localeecn", number(func(m *mad.Message) uint64 { return uint64(m.EECN) })},
		{"req.initdepth", number(func(m *mad.Message) uint64 { return uint64(m.InitiatorDepth) })},
		{"req.remoteeecn", number(func(m *mad.Message) uint64 { return uint64(m.RemoteEEC) })},
		{"req.remoteresptout", number(func(m *mad.Message) uint64 { return uint64(m.RemoteResponseTimeout) })},
		{"req.transpsvctype", number(func(m *mad.Message) uint64 { return uint64(m.Transport) })},
		{"req.e2eflowctrl", number(func(m *mad.Message) uint64 { return bit(m.EndToEnd) })},
		{"req.startpsn", number(func(m *mad.Message) uint64 { return uint64(m.StartPSN) })},
		{"req.localresptout", number(func(m *mad.Message) uint64 { return uint64(m.LocalResponseTimeout) })},
		{"req.retrcount", number(func(m *mad.Message) uint64 { return uint64(m.RetryCount) })},
		{"req.pkey", number(func(m *mad.Message) uint64 { return uint64(m.PKey) })},
		{"req.pppmtu", number(func(m *mad.Message) uint64 { return uint64(m.MTU) })},
		{"req.rdcexist", number(func(m *mad.Message) uint64 { return bit(m.RDC) })},
		{"req.rnrretrcount", number(func(m *mad.Message) uint64 { return uint64(m.RNRRetry) })},
		{"req.maxcmretr", number(func(m *mad.Message) uint64 { return uint64(m.MaxCMRetries) })},
		{"req.srq", number(func(m *mad.Message) uint64 { return bit(m.SRQ) })},
		{"req.ext_transport", number(func(m *mad.Message) uint64 { return uint64(m.ExtendedTransport) })},
		{"req.prim_locallid", number(func(m *mad.Message) uint64 { return uint64(m.Primary.LocalLID) })},
		{"req.prim_remotelid", number(func(m *mad.Message) uint64 { return uint64(m.Primary.RemoteLID) })},
		{"req.prim_localgid", func(m *mad.Message) string { return address(m.Primary.LocalGID) }},
		{"req.prim_remotegid", func(m *mad.Message) string { return address(m.Primary.RemoteGID) }},
		// tshark 4.0 reads three of the four bytes that have the label's 20 bits
		// at their beginning: it shows the upper 12.
		{"req.prim_flowlabel", number(func(m *mad.Message) uint64 { return uint64(m.Primary.FlowLabel >> 8) })},
		{"req.prim_tfcclass", number(func(m *mad.Message) uint64 { return uint64(m.Primary.TrafficClass) })},
		{"req.prim_hoplim", number(func(m *mad.Message) uint64 { return uint64(m.Primary.HopLimit) })},
		{"req.prim_sl", number(func(m *mad.Message) uint64 { return uint64(m.Primary.SL) })},
		{"req.prim_subnetlocal", number(func(m *mad.Message) uint64 { return bit(m.Primary.SubnetLocal) })},
		{"req.prim_localacktout", number(func(m *mad.Message) uint64 { return uint64(m.Primary.AckTimeout) })},
		{"req.alt_locallid", number(func(m *mad.Message) uint64 { return uint64(m.Alternate.LocalLID) })},
		{"req.alt_hoplim", number(func(m *mad.Message) uint64 { return uint64(m.Alternate.HopLimit) })},
		{"req.alt_localacktout", number(func(m *mad.Message) uint64 { return uint64(m.Alternate.AckTimeout) })},
		{"req.ip_cm.ipv", number(func(m *mad.Message) uint64 { return uint64(m.IP.Version) })},
		{"req.ip_cm.sport", number(func(m *mad.Message) uint64 { return uint64(m.IP.SourcePort) })},
		{"req.ip_cm.sip4", func(m *mad.Message) string { return last4(m.IP.Source) }},
		{"req.ip_cm.dip4", func(m *mad.Message) string { return last4(m.IP.Dest) }},
		{"req.ip_cm.private", func(m *mad.Message) string { return hex.EncodeToString(m.Consumer) }},
		{"req.private", func(m *mad.Message) string { return hex.EncodeToString(m.Private) }},
	},
	mad.REP: {
		{"rep", number(func(m *mad.Message) uint64 { return uint64(m.LocalID) })},
		{"rep.remotecommid", number(func(m *mad.Message) uint64 { return uint64(m.RemoteID) })},
		{"rep.localqkey", number(func(m *mad.Message) uint64 { return uint64(m.QKey) })},
		{"rep.localqpn", number(func(m *mad.Message) uint64 { return uint64(m.QPN) })},
		{"rep.localeecn", number(func(m *mad.Message) uint64 { return uint64(m.EECN) })},
		{"rep.startpsn", number(func(m *mad.Message) uint64 { return uint64(m.StartPSN) })},
		{"rep.respres", number(func(m *mad.Message) uint64 { return uint64(m.ResponderResources) })},
		{"rep.initdepth", number(func(m *mad.Message) uint64 { return uint64(m.InitiatorDepth) })},
		{"rep.tgtackdelay", number(func(m *mad.Message) uint64 { return uint64(m.TargetAckDelay) })},
		{"rep.failoveracc", number(func(m *mad.Message) uint64 { return uint64(m.Failover) })},
		{"rep.e2eflowctrl", number(func(m *mad.Message) uint64 { return bit(m.EndToEnd) })},
		{"rep.rnrretrcount", number(func(m *mad.Message) uint64 { return uint64(m.RNRRetry) })},
		{"rep.srq", number(func(m *mad.Message) uint64 { return bit(m.SRQ) })},
		{"rep.localcaguid", number(func(m *mad.Message) uint64 { return m.CAGUID })},
		{"rep.private", func(m *mad.Message) string { return hex.EncodeToString(m.Private) }},
	},
	mad.RTU: {
		{"rtu.localcommid", number(func(m *mad.Message) uint64 { return uint64(m.LocalID) })},
		{"rtu.remotecommid", number(func(m *mad.Message) uint64 { return uint64(m.RemoteID) })},
		{"rtu.private", func(m *mad.Message) string { return hex.EncodeToString(m.Private) }},
	},
	mad.REJ: {
		{"rej.localcommid", number(func(m *mad.Message) uint64 { return uint64(m.LocalID) })},
		{"rej.remotecommid", number(func(m *mad.Message) uint64 { return uint64(m.RemoteID) })},
		{"rej.msgrej", number(func(m *mad.Message) uint64 { return uint64(m.MsgRejected) })},
		{"rej.rejinfolen", number(func(m *mad.Message) uint64 { return uint64(len(m.Info)) })},
		{"rej.reason", number(func(m *mad.Message) uint64 { return uint64(m.Reason) })},
		{"rej.private", func(m *mad.Message) string { return hex.EncodeToString(m.Private) }},
	},
	mad.DREQ: {
		{"dreq.localcommid", number(func(m *mad.Message) uint64 { return uint64(m.LocalID) })},
		{"dreq.remotecommid", number(func(m *mad.Message) uint64 { return uint64(m.RemoteID) })},
		{"req.remoteqpneecn", number(func(m *mad.Message) uint64 { return uint64(m.QPN) })},
		{"dreq.private", func(m *mad.Message) string { return hex.EncodeToString(m.Private) }},
	},
	mad.DREP: {
		{"drsp.localcommid", number(func(m *mad.Message) uint64 { return uint64(m.LocalID) })},
		{"drsp.remotecommid", number(func(m *mad.Message) uint64 { return uint64(m.RemoteID) })},
		{"drsp.private", func(m *mad.Message) string { return hex.EncodeToString(m.Private) }},
	},
}

// TestAgainstTshark compares each field that tshark has, of every message in
// every capture.
func TestAgainstTshark(t *testing.T) {
	capturetest.Need(t, "tshark")
	args := []string{"-Y", "infiniband.mad.mgmtclass == 7", "-T", "fields", "-e", "frame.number", "-e", "infiniband.mad.attributeid"}
	at := make(map[mad.Attribute]int) // of a message's first column
	for a, cols := range columns {
		at[a] = (len(args) - 4) / 2
		for _, c := range cols {
			args = append(args, "-e", "infiniband.cm."+c.name)
		}
	}
	values := 0
	for _, path := range capturetest.Paths(t) {
		ours := messages(t, path)
		if len(ours) == 0 {
			continue
		}
		for s := bufio.NewScanner(bytes.NewReader(capturetest.RunTshark(t, path, args...))); s.Scan(); {
			row := strings.Split(s.Text(), "\t")
			frame, err := strconv.ParseUint(row[0], 10, 64)
			if err != nil || len(row) != (len(args)-4)/2 {
				t.Fatalf("%s: tshark: %q", path, s.Text())
			}
			m, ok := ours[frame]
			if !ok || row[1] != fmt.Sprintf("0x%04x", uint16(m.Attribute)) {
				t.Errorf("%s frame %d: %s is %v of ours", path, frame, row[1], m.Attribute)
				continue
			}
			for i, c := range columns[m.Attribute] {
				want := row[at[m.Attribute]+i]
				if want == "" { // the field is not in this kind of request
					continue
				}
				if n, err := strconv.ParseUint(want, 0, 64); err == nil && strings.HasPrefix(want, "0x") {
					want = strconv.FormatUint(n, 10)
				}
				if values++; c.ours(&m) != want {
					t.Errorf("%s frame %d: %s is %s, tshark %s", filepath.Base(path), frame, c.name, c.ours(&m), want)
				}
			}
		}
	}
	t.Logf("%d values", values)
	if values < 1000 {
		t.Errorf("only %d values were compared", values)
	}
}

// messages are the messages in a capture by frame number. Their slices are
// valid because each is decoded from a copy.
func messages(t *testing.T, path string) map[uint64]mad.Message {
	t.Helper()
	list := make(map[uint64]mad.Message)
	d := decode.New(decode.DefaultConfig())
	var p decode.Packet
	frametest.Each(t, path, func(f *capture.Frame) {
		d.Decode(f, &p)
		l, ok := p.Layer(decode.LayerPayload)
		if !ok || p.Has&decode.HasMAD == 0 || p.MAD.Class != mad.Class {
			return
		}
		var m mad.Message
		m.Decode(mad.Attribute(p.MAD.Attribute), append([]byte(nil), p.Bytes(l)...))
		list[f.Number] = m
	})
	return list
}

package cm_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/decode/mad"
	"github.com/rocelens/rocelens/pipeline/cm"
	"github.com/rocelens/rocelens/pipeline/record"
)

// TestLife follows one connection, each message twice.
func TestLife(t *testing.T) {
	w := newWire(t, 10)
	for i, step := range []struct {
		m     message
		what  cm.State
		state string
	}{
		{req(idA, qpnA, psnB), cm.Requested, "requested"},
		{rep(idA, idB, qpnB, psnA), cm.Replied, "replied"},
		{rtu(), cm.Established, "established"},
		{dreqA(), cm.Disconnecting, "disconnecting"},
		{drepB(), cm.Disconnected, "disconnected"},
	} {
		c := w.add(step.m)
		if c == nil || c.What != step.what || c.New != (i == 0) || c.Conn.State.String() != step.state {
			t.Fatalf("%v: %+v", step.m.attr, c)
		}
		if c := w.add(step.m); c != nil {
			t.Errorf("a repeated %v changes something: %+v", step.m.attr, c)
		}
	}
	c := w.one()
	if s := story(c); s != "10.0.0.1/0x111 > 10.0.0.2/0x222 RC nvme-rdma disconnected REQ 2 REP 2 RTU 2 DREQ 2 DREP 2" {
		t.Error(s)
	}
	want := record.CM{
		ServiceID: 0x01061144, SourcePort: 0xabcd, DestPort: 4420, Service: record.RC,
		StartPSN: [2]uint32{psnA, psnB}, HasStartPSN: [2]bool{true, true},
		PathMTU: 1024, AckTimeout: 67108864, RetryCount: 6, RNRRetry: [2]uint8{7, 5}, PKey: 0x8001,
		ResponderResources: [2]uint8{16, 8}, InitiatorDepth: [2]uint8{8, 16},
		Requests: 2, Requested: 1000, Replied: 3000, Established: 5000, Disconnected: 7000,
		Private: append([]byte("hello"), make([]byte, 51)...),
	}
	if d := cmp.Diff(want, c.CM); d != "" {
		t.Error(d)
	}
	if s := c.Seen(mad.RTU); s.First.Number != 5 || s.Last.Number != 6 || c.First.Number != 1 || c.Last.Number != 10 {
		t.Errorf("%+v, %+v to %+v", s, c.First, c.Last)
	}
	if port, ok := c.SourcePort(); !ok || port != 0xc000|0x2345^0x12345>>14 {
		t.Errorf("port %#x %v", port, ok)
	}
	if !c.Active || c.Version != record.V2 || c.IDs != [2]uint32{idA, idB} || c.SIDR || c.Seen(0).Count != 0 {
		t.Errorf("%+v", c)
	}
	if want := (cm.Stats{Messages: 10, Repeated: 5, Conns: 1}); w.tr.Stats != want {
		t.Errorf("%+v", w.tr.Stats)
	}
}

// TestNoAckTimer: an ACK timeout of 0 in the REQ is not one that is not known.
func TestNoAckTimer(t *testing.T) {
	for code, want := range map[byte]bool{0: true, 14: false} {
		m := req(idA, qpnA, psnB)
		m.body[95] = code << 3
		w := newWire(t, 10)
		w.add(m)
		if c := w.one(); c.CM.NoAckTimer != want || c.CM.AckTimeout != 4096<<code*int64(min(code, 1)) {
			t.Errorf("%d: %v, %d ns", code, c.CM.NoAckTimer, c.CM.AckTimeout)
		}
	}
}

// TestAnyOrder gives the messages of one connection in every order.
func TestAnyOrder(t *testing.T) {
	msgs := []message{req(idA, qpnA, psnB), rep(idA, idB, qpnB, psnA), rtu(), dreqB(), dreqA(), drepA()}
	orders := 0
	var permute func(n int)
	permute = func(n int) {
		if n > 0 {
			for i := range n {
				msgs[i], msgs[n-1] = msgs[n-1], msgs[i]
				permute(n - 1)
				msgs[i], msgs[n-1] = msgs[n-1], msgs[i]
			}
			return
		}
		orders++
		w := newWire(t, 10)
		for _, m := range msgs {
			w.add(m)
		}
		c := w.one()
		const want = "10.0.0.1/0x111 > 10.0.0.2/0x222 RC nvme-rdma disconnected REQ 1 REP 1 RTU 1 DREQ 2 DREP 1"
		if s := story(c); s != want || c.CM.StartPSN != [2]uint32{psnA, psnB} || !c.Active || c.IDs != [2]uint32{idA, idB} {
			t.Fatalf("%s, %+v", s, c.CM)
		}
	}
	permute(len(msgs))
	if orders != 720 {
		t.Error(orders)
	}
}

// TestParts gives the tracker what one-sided captures, and those that begin
// late, leave of a connection.
func TestParts(t *testing.T) {
	const reject = "10.0.0.1/0x111 > 10.0.0.2/? RC nvme-rdma rejected REQ 1 REJ 1: "
	xrc := req(idA, qpnA, psnB)
	xrc.body[43], xrc.body[51] = 3<<1, 1
	target := rep(idA, idB, 0, psnA)
	put(target.body, 16, 3, qpnB)
	uc := req(idA, qpnA, psnB)
	uc.body[43] = 1 << 1
	lap := ids(hostA, hostB, mad.LAP, idA, idB)
	put(lap.body, 12, 3, qpnB)
	apr := ids(hostB, hostA, mad.APR, idB, idA)
	for name, c := range map[string]struct {
		msgs []message
		want string
	}{
		"nothing but requests": {
			[]message{req(idA, qpnA, psnB), req(idA, qpnA, psnB), req(idA, qpnA, psnB)},
			"10.0.0.1/0x111 > 10.0.0.2/? RC nvme-rdma requested REQ 3",
		},
		"the active side": {
			[]message{req(idA, qpnA, psnB), rtu(), dreqA()},
			"10.0.0.1/0x111 > 10.0.0.2/0x222 RC nvme-rdma disconnecting REQ 1 RTU 1 DREQ 1",
		},
		"the passive side": {
			[]message{rep(idA, idB, qpnB, psnA), drepB()},
			"10.0.0.1/? > 10.0.0.2/0x222 unknown  disconnected REP 1 DREP 1",
		},
		"RTU": {[]message{rtu()}, "10.0.0.1/? > 10.0.0.2/? unknown  established RTU 1"},
		"the end": {
			[]message{dreqB(), drepA()},
			"10.0.0.2/? > 10.0.0.1/0x111 unknown  disconnected DREQ 1 DREP 1",
		},
		"an end by both": {
			[]message{dreqB(), dreqA()},
			"10.0.0.2/0x222 > 10.0.0.1/0x111 unknown  disconnecting DREQ 2",
		},
		"the end of what was replied": {
			[]message{rep(idA, idB, qpnB, psnA), dreqB()},
			"10.0.0.1/0x111 > 10.0.0.2/0x222 unknown  disconnecting REP 1 DREQ 1",
		},
		"refused, no ID": {
			[]message{req(idA, qpnA, psnB), rej(hostB, hostA, 0, idA, 0, 8)},
			reject + "nobody listens on this service ID",
		},
		"refused with an ID": {
			[]message{req(idA, qpnA, psnB), rej(hostB, hostA, idB, idA, 0, 28)},
			reject + "refused by the application",
		},
		"given up by the active side": {
			[]message{req(idA, qpnA, psnB), rej(hostA, hostB, idA, 0, 2, 4)},
			reject + "the other side did not answer in time",
		},
		"a reply refused": {
			[]message{req(idA, qpnA, psnB), rep(idA, idB, qpnB, psnA), rej(hostA, hostB, idA, idB, 1, 10)},
			"10.0.0.1/0x111 > 10.0.0.2/0x222 RC nvme-rdma rejected REQ 1 REJ 1 REP 1: stale connection: this queue pair is still connected",
		},
		"only the refusal": {
			[]message{rej(hostB, hostA, 0, idA, 0, 8)},
			"10.0.0.1/? > 10.0.0.2/? unknown  rejected REJ 1: nobody listens on this service ID",
		},
		"more time": {
			[]message{req(idA, qpnA, psnB), mra(hostB, hostA, idB, idA, 0)},
			"10.0.0.1/0x111 > 10.0.0.2/? RC nvme-rdma requested REQ 1 MRA 1",
		},
		"XRC": {
			[]message{xrc, target, rtu()},
			"10.0.0.1/0x111 > 10.0.0.2/0x222 XRC nvme-rdma established REQ 1 REP 1 RTU 1",
		},
		"XRC's reply alone": {[]message{target}, "10.0.0.1/? > 10.0.0.2/0x222 unknown  replied REP 1"},
		"UC":                {[]message{uc}, "10.0.0.1/0x111 > 10.0.0.2/? UC nvme-rdma requested REQ 1"},
		"another path": {
			[]message{rtu(), lap, apr},
			"10.0.0.1/? > 10.0.0.2/0x222 unknown  established RTU 1 LAP 1 APR 1",
		},
		"SIDR": {
			[]message{sidrReq(idA), sidrReq(idA), sidrRep(idA, 0, qpnB)},
			"10.0.0.1/? > 10.0.0.2/0x222 UD udaddy replied SIDR_REQ 2 SIDR_REP 1",
		},
		"SIDR refused": {
			[]message{sidrReq(idA), sidrRep(idA, 1, 0)},
			"10.0.0.1/? > 10.0.0.2/? UD udaddy rejected SIDR_REQ 1 SIDR_REP 1: service ID is not supported",
		},
		"SIDR's answer alone": {
			[]message{sidrRep(idA, 0, qpnB)},
			"10.0.0.1/? > 10.0.0.2/0x222 UD udaddy replied SIDR_REP 1",
		},
	} {
		w := newWire(t, 10)
		for _, m := range c.msgs {
			w.add(m)
		}
		if got := story(w.one()); got != c.want {
			t.Errorf("%s:\n%s, want\n%s", name, got, c.want)
		}
		answered := w.one().Answered()
		if want := name != "nothing but requests" && name != "UC"; answered != want {
			t.Errorf("%s: answered %v", name, answered)
		}
	}
}

func TestRejectedBy(t *testing.T) {
	for _, c := range []struct {
		msgs []message
		by   uint8
	}{
		{[]message{req(idA, qpnA, psnB), rej(hostB, hostA, 0, idA, 0, 8)}, 1},
		{[]message{rej(hostB, hostA, 0, idA, 0, 8), req(idA, qpnA, psnB)}, 1},
		{[]message{req(idA, qpnA, psnB), rej(hostA, hostB, idA, 0, 2, 4)}, 0},
		{[]message{rej(hostB, hostA, idB, idA, 2, 4), req(idA, qpnA, psnB)}, 1}, // the sides are told later
	} {
		w := newWire(t, 10)
		for _, m := range c.msgs {
			w.add(m)
		}
		if got := w.one(); got.RejectedBy != c.by || got.State != cm.Rejected || got.CM.RejectReason == 0 {
			t.Errorf("%s: by %d, want %d", story(got), got.RejectedBy, c.by)
		}
	}
}

// TestSIDR gives the facts of a resolution.
func TestSIDR(t *testing.T) {
	w := newWire(t, 10)
	w.add(sidrReq(idA))
	if c := w.add(sidrRep(idA, 0, qpnB)); c == nil || c.What != cm.Replied || c.Conn.QKey != 0x01234567 || c.Conn.CM.SourcePort != 0xabcd {
		t.Fatalf("%+v", c)
	}
	// A connection may have the same ID.
	w.add(req(idA, qpnA, psnB))
	if w.tr.Len() != 2 {
		t.Error(w.conns())
	}
	if _, ok := w.first().SourcePort(); ok {
		t.Error("a datagram service has no port of its own")
	}
}

// TestIDGivenOutAgain begins a second connection with the IDs of the first.
func TestIDGivenOutAgain(t *testing.T) {
	w := newWire(t, 10)
	for _, m := range []message{req(idA, qpnA, psnB), rep(idA, idB, qpnB, psnA), rtu(), dreqA(), drepB()} {
		w.add(m)
	}
	if c := w.add(req(idA, qpnA, psnB+1)); c == nil || !c.New {
		t.Fatalf("the same QPN, another PSN: %+v", c)
	}
	// A late repetition for the old one names both of its IDs.
	w.add(dreqA())
	w.add(rep(idA, idB+1, qpnB, psnA+1))
	w.add(ids(hostA, hostB, mad.RTU, idA, idB+1))
	w.add(drepB())
	want := []string{
		"10.0.0.1/0x111 > 10.0.0.2/0x222 RC nvme-rdma disconnected REQ 1 REP 1 RTU 1 DREQ 2 DREP 2",
		"10.0.0.1/0x111 > 10.0.0.2/0x222 RC nvme-rdma established REQ 1 REP 1 RTU 1",
	}
	if d := cmp.Diff(want, w.conns()); d != "" {
		t.Error(d)
	}

	// The end of a connection that began before the capture, and long after
	// it a request with its ID.
	w = newWire(t, 10)
	w.add(dreqA())
	w.n += 10_000_000
	if c := w.add(req(idA, qpnA, psnB)); c == nil || !c.New {
		t.Errorf("%q", w.conns())
	}
}

// TestApart keeps connections apart that have the same IDs.
func TestApart(t *testing.T) {
	w := newWire(t, 10)
	w.add(req(idA, qpnA, psnB))
	w.alter = func(p *decode.Packet) { p.Encap, p.VNI = decode.EncapVXLAN, 0 }
	w.add(req(idA, qpnA, psnB))
	w.alter = func(p *decode.Packet) { p.Encap, p.VNI = decode.EncapVXLAN, 7 }
	c := w.add(req(idA, qpnA, psnB))
	if w.tr.Len() != 3 || !c.Conn.HasVNI || c.Conn.VNI != 7 {
		t.Errorf("%+v %q", c, w.conns())
	}
	w.alter = nil
	other := req(idA, qpnA, psnB)
	other.from = 3
	if w.add(other); w.tr.Len() != 4 {
		t.Errorf("%q", w.conns())
	}
}

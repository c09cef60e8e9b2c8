package track_test

import (
	"testing"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/scenario"
	"github.com/rocelens/rocelens/pipeline/track"
)

// TestSides: requests without an answer are unanswered where anything else
// comes back between the two hosts, unless that may be the answers, and else
// one side of a capture that lacks the other.
func TestSides(t *testing.T) {
	const (
		sendOnly, writeOnly = 0x04, 0x0a
		acknowledge         = 0x11
		ucSendOnly          = 0x24
		udSendOnly          = 0x64
	)
	type packets struct {
		from, to uint64
		qpn      uint32
		opcode   decode.Opcode
		vni      uint32
	}
	for _, tc := range []struct {
		name     string
		sent     []packets
		state    record.State // of the first session
		oneSided bool
	}{
		{"nothing comes back", []packets{{1, 2, 17, sendOnly, 0}}, record.StateOpen, true},
		{"answers alone", []packets{{1, 2, 17, acknowledge, 0}}, record.StateOpen, true},
		{"another host answers another", []packets{{1, 2, 17, sendOnly, 0}, {3, 1, 18, acknowledge, 0}, {1, 2, 19, sendOnly, 0}}, record.StateOpen, true},
		{"others come back, in another tunnel", []packets{{1, 2, 17, sendOnly, 1}, {2, 1, 40, acknowledge, 2}}, record.StateOpen, true},
		{"answers that may be its own", []packets{{1, 2, 17, sendOnly, 0}, {1, 2, 19, sendOnly, 0}, {2, 1, 40, acknowledge, 0}}, record.StateOpen, false},
		{"requests come back", []packets{{1, 2, 17, sendOnly, 0}, {2, 1, 40, writeOnly, 0}}, record.StateUnanswered, false},
		{"datagrams come back", []packets{{1, 2, 17, writeOnly, 0}, {2, 1, 40, udSendOnly, 0}}, record.StateUnanswered, false},
		{"unreliable ones come back", []packets{{1, 2, 17, writeOnly, 0}, {2, 1, 40, ucSendOnly, 0}}, record.StateUnanswered, false},
		{"one host", []packets{{1, 1, 17, sendOnly, 0}}, record.StateOpen, true},
		{"an unreliable connection", []packets{{1, 2, 17, ucSendOnly, 0}}, record.StateOpen, false},
	} {
		tr := track.New(track.Config{})
		n := int64(0)
		for i := range uint32(10) {
			for _, s := range tc.sent {
				n++
				p := track.Packet{
					Time: n * 1000, Number: uint64(n), Kind: decode.AddrIPv4, Opcode: s.opcode, Payload: 64, WireLen: 122, Version: 1,
					Src: decode.Addr{Lo: s.from}, Dst: decode.Addr{Lo: s.to}, DestQP: s.qpn, PSN: 1000*s.qpn + i, SrcPort: uint16(50_000 + s.qpn), VNI: s.vni,
				}
				p.Hash()
				tr.Add([]*track.Packet{&p})
			}
		}
		tr.Close(n)
		list, _, _ := track.Records(track.Config{}, tr)
		if s := list.At(0); s.State != tc.state || s.OneSided != tc.oneSided || s.B.QPN != 17 {
			t.Errorf("%s: %s, one-sided %t (%s)", tc.name, s.State, s.OneSided, s.ID)
		}
	}
}

// TestDisconnectTells: a session that was disconnected is not closed once more
// when its QPN begins another life.
func TestDisconnectTells(t *testing.T) {
	for _, sc := range scenario.Scenarios() {
		if sc.Name != "qpn_reuse_cm" {
			continue
		}
		r := simulate(t, &sc, 1).analyse(t)
		kinds := make(map[record.EventKind]int)
		for i := range r.Events {
			kinds[r.Events[i].Detail.Kind()]++
		}
		if kinds[record.KindDisconnect] != 3 || kinds[record.KindClosed] != 0 {
			t.Errorf("%d disconnects, %d closed", kinds[record.KindDisconnect], kinds[record.KindClosed])
		}
		return
	}
	t.Error("no such scenario")
}

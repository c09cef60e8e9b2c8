//go:build linux

package sender

import (
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
)

// TestFrames: what is sent is RoCE with right checksums, and each PSN comes once.
func TestFrames(t *testing.T) {
	const sessions = 300
	s := &Sender{sessions: make([]session, sessions)}
	for i := range s.sessions {
		s.sessions[i] = session{id: i, psn: uint32(i * 1000)}
	}
	dec := decode.New(decode.Config{})
	var p decode.Packet
	seen := make(map[[2]uint32]bool)
	data, acks := 0, 0
	for range 100 * sessions {
		var b [dataLen]byte
		n := s.next(b[:])
		f := capture.Frame{Data: b[:n], OrigLen: uint32(n), Link: capture.LinkEthernet, FCSLen: -1}
		dec.Decode(&f, &p)
		dec.VerifyICRC(&p)
		if !p.RoCE() || p.ICRCStatus != decode.ICRCGood {
			t.Fatalf("%x: RoCE %t, ICRC %v", b[:n], p.RoCE(), p.ICRCStatus)
		}
		k := [2]uint32{p.DestQP, p.PSN}
		switch {
		case n == ackLen:
			acks++
		case seen[k]:
			t.Fatalf("PSN %d of QP %d again", p.PSN, p.DestQP)
		default:
			seen[k] = true
			data++
		}
	}
	if acks == 0 || data/acks < 12 || data/acks > perAck+1 {
		t.Errorf("%d SENDs, %d ACKs", data, acks)
	}
}

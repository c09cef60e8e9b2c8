package decode_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/capture/frametest"
	"github.com/rocelens/rocelens/decode"
)

// TestProbeRoCE: RoCEv2 at another port is told from other UDP. The captures'
// ICRCs were made for port 4791, so they are made anew here for port 1021, by
// taking that port as RoCEv2 and asking what the ICRC should be.
func TestProbeRoCE(t *testing.T) {
	plain, other := decode.New(decode.Config{}), decode.New(decode.Config{RoCEPorts: []uint16{1021}})
	for _, name := range []string{"rc_write_1024", "rc_write_ipv6", "rc_mixed_imm_psn_wrap", "rdmacm_rping", "vxlan_rc_write", "qinq_100_7_rc_read"} {
		n := 0
		frametest.Each(t, capturetest.Get(t, name).Path, func(f *capture.Frame) {
			var p, q decode.Packet
			plain.Decode(f, &p)
			udp, ok := p.Layer(decode.LayerUDP)
			if !p.RoCE() || !ok || n == 50 {
				return
			}
			n++
			moved := *f
			moved.Data = bytes.Clone(f.Data)
			binary.BigEndian.PutUint16(moved.Data[udp.Off+2:], 1021)
			other.Decode(&moved, &p)
			other.VerifyICRC(&p)
			icrc, _ := p.Layer(decode.LayerICRC)
			expected := p.ICRCExpected
			probe := func(want decode.Likeness, what string) {
				t.Helper()
				plain.Decode(&moved, &p)
				plain.Decode(&moved, &q)
				if got := plain.ProbeRoCE(&p); got != want {
					t.Errorf("%s, frame %d, %s: %d, want %d", name, f.Number, what, got, want)
				}
				if p.Err != q.Err || exported(&p) != exported(&q) {
					t.Errorf("%s, frame %d, %s: the packet was changed", name, f.Number, what)
				}
			}
			probe(decode.LikeRoCE, "ICRC of another port")
			binary.BigEndian.PutUint32(moved.Data[icrc.Off:], expected)
			probe(decode.ProvenRoCE, "ICRC right")
			other.Decode(&moved, &q)
			plain.DecodeAs(&moved, &p, 1021)
			if exported(&p) != exported(&q) || p.Kind != decode.KindRoCEv2 {
				t.Errorf("%s, frame %d: decoded as RoCEv2 it is another packet than with the port given before", name, f.Number)
			}
			if plain.Decode(&moved, &p); p.Kind != decode.KindUDP {
				t.Errorf("%s, frame %d: port 1021 is taken as RoCEv2 from then on", name, f.Number)
			}
			moved.Data[udp.Off+8+1] |= 0x01 // the version
			probe(decode.NotRoCE, "version 1")
			moved.Data[udp.Off+8+1] &^= 0x01
			moved.Data = moved.Data[:udp.Off+8+12]
			probe(decode.LikeRoCE, "cut behind the BTH")
			moved.Data = moved.Data[:udp.Off+8+11]
			probe(decode.NotRoCE, "cut in the BTH")
		})
		if n == 0 {
			t.Errorf("%s has no RoCEv2", name)
		}
	}
}

// TestProbeOthers: what is not RoCEv2 does not look like it.
func TestProbeOthers(t *testing.T) {
	dec := decode.New(decode.Config{})
	var p decode.Packet
	n := 0
	for _, c := range capturetest.Committed(t) {
		frametest.Each(t, c.Path, func(f *capture.Frame) {
			dec.Decode(f, &p)
			if dec.ProbeRoCE(&p) != decode.NotRoCE {
				t.Errorf("%s: frame %d looks like RoCEv2 at port %d", c.Name, f.Number, p.DstPort)
			}
			n++
		})
	}
	if n == 0 {
		t.Error("no frames")
	}
}

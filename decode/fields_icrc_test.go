package decode_test

import (
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
)

// TestICRCFields: the ICRC of a packet whose extended header does not fit is a
// field like any other's, and its status is there where its bytes are not, in
// filters, trees and at every length.
func TestICRCFields(t *testing.T) {
	good := func(tr transport) []byte { return etherIP(udpPacket(pairV4, tr)) }
	wrong := func(b []byte) []byte { return append(b[:len(b)-1:len(b)-1], b[len(b)-1]^1) }
	for name, tr := range map[string]transport{
		"AtomicETH": {op: 0x13, ext: make([]byte, 24)}, "RETH": {op: 0x0c, ext: make([]byte, 8)}, "CNP": {op: 0x81, ext: make([]byte, 12)},
		"RD": {op: 0x4c, ext: make([]byte, 24)}, "AETH": {op: 0x11},
	} {
		for status, b := range map[string][]byte{"good": good(tr), "bad": wrong(good(tr))} {
			p := decodeFrame(t, frame(b))
			if !p.Malformed() || p.ICRCStatus.String() != status {
				t.Errorf("%s: %v, ICRC %v, want %s", name, p.Err, p.ICRCStatus, status)
			}
			expected := 0
			if status == "bad" {
				expected = 1
			}
			for field, want := range map[string]int{"infiniband.invariant.crc": 1, "infiniband.icrc.expected": expected} {
				var x decode.Extra
				if got := decode.FieldByName(field).Append(nil, &x, p); len(got) != want || want == 1 && field == "infiniband.invariant.crc" && got[0].Num != uint64(p.ICRC) {
					t.Errorf("%s, ICRC %s: %s is %v", name, status, field, got)
				}
			}
		}
	}
	for name, f := range map[string]capture.Frame{
		"v2": frame(good(writeMiddle(100))), "v1": frame(etherFrame(0x8915, grhPacket(writeMiddle(3)))),
		"native": linkFrame(capture.LinkInfiniBand, nativeIB(writeMiddle(3), true)), "first fragment": frame(firstFragment(good(writeMiddle(100)))),
		"malformed": frame(good(transport{op: 0x0c, ext: make([]byte, 8)})),
	} {
		for n := range len(f.Data) + 1 {
			cut := f
			cut.Data = f.Data[:n]
			p := decodeFrame(t, cut)
			for field, s := range map[string]decode.ICRCStatus{"infiniband.icrc.status": p.ICRCStatus, "infiniband.vcrc.status": p.VCRCStatus} {
				want := ""
				if s != decode.ICRCNone {
					want = s.String()
				}
				var x decode.Extra
				if got := string(decode.FieldByName(field).AppendAll(nil, ',', &x, p)); got != want {
					t.Errorf("%s, %d bytes: %s is %q, want %q", name, n, field, got, want)
				}
			}
		}
	}
	// The tree has it below a heading of its own, and a CRC without bytes makes
	// no protocol.
	f := frame(good(writeMiddle(100)))
	f.Data = f.Data[:40]
	p := decodeFrame(t, f)
	var x decode.Extra
	nodes := decode.AppendTree(nil, &x, p)
	last := nodes[max(0, len(nodes)-2):]
	if got := string(last[0].AppendText(nil)) + "; " + string(last[1].AppendText(nil)); got != "Invariant CRC, not in this frame; ICRC status: unverifiable" {
		t.Errorf("the tree ends with %q", got)
	}
	if last[1].Depth != last[0].Depth+1 {
		t.Errorf("the status is at depth %d, its heading at %d", last[1].Depth, last[0].Depth)
	}
	for _, ord := range []func(n, of int) bool{nil, func(n, of int) bool { return n == of }} {
		if got := decode.ProtoByName("infiniband").Append(nil, &x, p, ord); len(got) != 0 {
			t.Errorf("a packet cut in its UDP header has infiniband: %v", got)
		}
	}
}

// firstFragment sets "more fragments" in an IPv4 packet and makes its UDP say
// that there is more.
func firstFragment(b []byte) []byte {
	b = append([]byte(nil), b...)
	b[14+6] |= 0x20
	b[14+20+4] = 8
	return b
}

package decode_test

import (
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/capture/frametest"
	"github.com/rocelens/rocelens/decode"
)

// TestEveryLength decodes every committed packet at every captured length: a
// cut is never damage, what is decoded does not change with the cut, and an
// ICRC is judged only where all of it is there.
func TestEveryLength(t *testing.T) {
	var packets, decodes int
	for _, c := range capturetest.Committed(t) {
		d := decode.New(decode.DefaultConfig())
		var whole, cut decode.Packet
		frametest.Each(t, c.Path, func(f *capture.Frame) {
			packets++
			d.Decode(f, &whole)
			d.VerifyICRC(&whole)
			checkPacket(t, &whole)
			end := len(f.Data)
			if l, ok := whole.Layer(decode.LayerICRC); ok {
				end = int(l.Off + l.Len)
			}
			if packets%underRace != 0 {
				return
			}
			short := *f
			for n := range f.Data {
				short.Data = f.Data[:n]
				d.Decode(&short, &cut)
				decodes++
				if cut.Malformed() && !whole.Malformed() {
					t.Fatalf("%s frame %d at %d bytes: %v", c.Name, f.Number, n, cut.Err)
				}
				if cut.RoCE() && cut.Kind != whole.Kind {
					t.Fatalf("%s frame %d at %d bytes is %v, whole %v", c.Name, f.Number, n, cut.Kind, whole.Kind)
				}
				if cut.Has&^whole.Has != 0 || cut.Has&decode.HasBTH != 0 && (cut.Opcode != whole.Opcode || cut.PSN != whole.PSN ||
					cut.DestQP != whole.DestQP || cut.PayloadLen != whole.PayloadLen || cut.Src != whole.Src || cut.Dst != whole.Dst) {
					t.Fatalf("%s frame %d at %d bytes: %s\nwhole: %s", c.Name, f.Number, n, decode.AppendInfo(nil, &cut), decode.AppendInfo(nil, &whole))
				}
				if n < end && (cut.ICRCStatus == decode.ICRCUnchecked) {
					t.Fatalf("%s frame %d at %d bytes: the ICRC ends at %d and can be checked", c.Name, f.Number, n, end)
				}
				if n%64 == 0 || n > end-3 {
					d.VerifyICRC(&cut)
					checkPacket(t, &cut)
				}
				if n >= end && cut.ICRCStatus != whole.ICRCStatus {
					t.Fatalf("%s frame %d at %d bytes: ICRC %v, whole %v", c.Name, f.Number, n, cut.ICRCStatus, whole.ICRCStatus)
				}
			}
		})
	}
	t.Logf("%d packets, %d decodes", packets, decodes)
}

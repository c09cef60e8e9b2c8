package scenario_test

import (
	"fmt"
	"testing"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/scenario"
)

// TestFlowControl decodes each frame of the scenarios of flow control: it is a
// PFC or PAUSE frame, or a RoCE packet with a good ICRC, and there are as many
// of each sender as the truth says. Frames that stop a priority are in a span,
// and what a station sends meanwhile is counted.
func TestFlowControl(t *testing.T) {
	for _, sc := range scenario.Scenarios() {
		if !sc.FlowControl() {
			continue
		}
		t.Run(sc.Name, func(t *testing.T) {
			f, truth := run(t, sc, scenario.Options{Seed: 1})
			if truth.Frames != uint64(len(f.list)) || truth.Scenario != sc.Name || len(truth.Pauses) == 0 || len(truth.Packets) == 0 {
				t.Fatalf("the truth is of %d frames, written were %d", truth.Frames, len(f.list))
			}
			faces := sc.Interfaces(0)
			dec := decode.New(decode.Config{})
			var p decode.Packet
			xoff, xon, sent := make(map[string]uint64), make(map[string]uint64), make(map[string]uint64)
			var last int64
			for i := range f.list {
				fr := &f.list[i]
				if fr.Time < last || fr.Number != uint64(i+1) {
					t.Fatalf("frame %d is out of order", i+1)
				}
				last = fr.Time
				dec.Decode(fr, &p)
				at := faces[fr.Interface].Name + " " + p.SrcMAC.String()
				switch p.Kind {
				case decode.KindPFC, decode.KindPause:
					if len(fr.Data) != 60 || p.Malformed() {
						t.Fatalf("frame %d: %d bytes, %v", i+1, len(fr.Data), p.Err)
					}
					typ := "pfc"
					if p.Kind == decode.KindPause {
						typ = "802.3x"
					}
					for k, q := range p.Pause.Quanta {
						if key := fmt.Sprint(at, typ, k); p.Pause.Enable>>k&1 != 0 && q > 0 {
							xoff[key]++
						} else if p.Pause.Enable>>k&1 != 0 {
							xon[key]++
						}
					}
				case decode.KindRoCEv2:
					if dec.VerifyICRC(&p); p.ICRCStatus != decode.ICRCGood {
						t.Fatalf("frame %d: ICRC %v", i+1, p.ICRCStatus)
					}
					prio := uint16(8)
					if p.Encap&decode.EncapVLAN != 0 {
						prio = p.VLAN >> 13
					}
					sent[fmt.Sprint(at, prio, p.DestQP)]++
				default:
					t.Fatalf("frame %d is %v", i+1, p.Kind)
				}
			}
			for _, x := range truth.Pauses {
				key := fmt.Sprint(x.Interface+" "+x.MAC, x.Type, x.Priority)
				if xoff[key] != x.XOff || xon[key] != x.XOn {
					t.Errorf("%s: %d and %d frames, the truth is %d and %d", key, xoff[key], xon[key], x.XOff, x.XOn)
				}
				n, end := uint64(0), int64(0)
				for _, s := range x.Spans {
					if s.Start < end || s.End <= s.Start || s.Why == "" || s.Frames == 0 {
						t.Errorf("%s: span %+v after %d", key, s, end)
					}
					n, end = n+s.Frames, s.End
				}
				if n != x.XOff {
					t.Errorf("%s: %d frames in spans, %d in all", key, n, x.XOff)
				}
				delete(xoff, key)
			}
			if len(xoff) > 0 {
				t.Errorf("not in the truth: %v", xoff)
			}
			for _, x := range truth.Packets {
				prio := x.Priority
				if !x.Tagged {
					prio = 8
				}
				if n := sent[fmt.Sprint(x.Interface+" "+x.MAC, prio, x.QPN)]; n != x.Packets || x.Late > x.Paused || x.Paused > x.Packets || (x.Late > 0) != (sc.Name == "pfc_deaf" && x.Priority == 3) {
					t.Errorf("%d packets, the truth is %+v", n, x)
				}
			}
			if len(truth.Storms) == 0 && sc.Name == "pfc_storm" || len(truth.Spreads) == 0 && sc.Name == "pfc_tree" {
				t.Error("nothing happened")
			}
		})
	}
}

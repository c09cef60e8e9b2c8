package scenario_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/scenario"
	"github.com/rocelens/rocelens/pipeline/scenario/scenariotest"
)

// frames keeps what a scenario writes.
type frames struct {
	list []capture.Frame
}

func (f *frames) WriteFrame(fr *capture.Frame, _ ...string) error {
	c := *fr
	c.Data = bytes.Clone(fr.Data)
	f.list = append(f.list, c)
	return nil
}

// withRoCE are the scenarios that are of RoCE packets alone.
func withRoCE() []scenario.Scenario {
	return slices.DeleteFunc(scenario.Scenarios(), func(sc scenario.Scenario) bool { return sc.FlowControl() })
}

func run(t *testing.T, sc scenario.Scenario, o scenario.Options) (*frames, *scenario.Truth) {
	t.Helper()
	var f frames
	truth, err := sc.Run(o, &f)
	if err != nil {
		t.Fatalf("%s: %v", sc.Name, err)
	}
	return &f, truth
}

// TestFrames decodes each frame of each scenario: it must be a RoCE packet from
// end to end whose ICRC is right, unless the truth says that it is corrupt.
// What is counted so must be what the truth says.
func TestFrames(t *testing.T) {
	for _, sc := range withRoCE() {
		t.Run(sc.Name, func(t *testing.T) {
			f, truth := run(t, sc, scenariotest.Small(&sc))
			if truth.Frames != uint64(len(f.list)) || truth.About != sc.About || truth.Scenario != sc.Name {
				t.Errorf("the truth is of %d frames of %q, written were %d of %q", truth.Frames, truth.Scenario, len(f.list), sc.Name)
			}
			corrupt, copies := marked(truth)
			var n counts
			dec := decode.New(decode.Config{})
			var p decode.Packet
			var last int64
			for i := range f.list {
				fr := &f.list[i]
				if fr.Number != uint64(i+1) || fr.Time < last {
					t.Fatalf("frame %d has number %d and time %d after %d", i+1, fr.Number, fr.Time, last)
				}
				last = fr.Time
				dec.Decode(fr, &p)
				dec.VerifyICRC(&p)
				if p.Kind == decode.KindPFC && p.Err.Code == decode.ErrNone {
					n.pauses++
					continue
				}
				if p.Err.Code != decode.ErrNone || p.Has&decode.HasBTH == 0 {
					t.Fatalf("frame %d: kind %v, %v", i+1, p.Kind, p.Err)
				}
				whole := uint32(len(fr.Data)) == fr.OrigLen
				if good := p.ICRCStatus == decode.ICRCGood; whole && good == corrupt[fr.Number] {
					t.Fatalf("frame %d: ICRC %v, %08x for %08x", i+1, p.ICRCStatus, p.ICRC, p.ICRCExpected)
				}
				if !corrupt[fr.Number] && !copies[fr.Number] {
					n.add(&p)
				}
			}
			if truth.Tap.Twice != "" {
				n.halve()
			}
			seen := &truth.Totals
			want := counts{
				requests: seen.RequestsSeen, answers: seen.AnswersSeen, cnps: seen.CNPsSeen, rnrs: seen.RNRsSeen, naks: seen.NAKsSeen,
				ce: seen.CESeen, mads: n.mads, pauses: seen.PausesSeen,
			}
			if n != want {
				t.Errorf("counted %+v, the truth has %+v", n, want)
			}
		})
	}
}

// marked are the frames that the truth calls corrupt, and those that it calls
// copies made by the network.
func marked(truth *scenario.Truth) (corrupt, copies map[uint64]bool) {
	corrupt, copies = make(map[uint64]bool), make(map[uint64]bool)
	for _, s := range truth.Sessions {
		for _, st := range s.Streams {
			for _, c := range st.Corruptions {
				if c.Where == scenario.BeforeTap {
					corrupt[c.Frame] = true
				}
			}
			for _, d := range st.Duplicates {
				copies[d.Copy] = true
			}
		}
	}
	return corrupt, copies
}

// counts are packets of one capture by what they are.
type counts struct {
	requests, answers, cnps, rnrs, naks, ce, mads, pauses uint64
}

func (n *counts) add(p *decode.Packet) {
	op := uint8(p.Opcode)
	oper := op & 0x1f
	if p.TOS&3 == 3 {
		n.ce++
	}
	switch {
	case op == 0x81:
		n.cnps++
	case p.DestQP == 1:
		n.mads++
	case isAnswer(p):
		n.answers++
		if oper != 0x11 {
			return
		}
		switch s := uint8(p.Syndrome); {
		case s == 0x60:
			n.naks++
		case s&0xe0 == 0x20:
			n.rnrs++
		}
	default:
		n.requests++
	}
}

// isAnswer says whether a packet is a READ response, an ACK or an atomic's.
func isAnswer(p *decode.Packet) bool {
	oper := uint8(p.Opcode) & 0x1f
	return oper >= 0x0d && oper <= 0x12
}

func (n *counts) halve() {
	for _, v := range []*uint64{&n.requests, &n.answers, &n.cnps, &n.rnrs, &n.naks, &n.ce, &n.mads} {
		*v /= 2
	}
}

// TestDeterminism writes each scenario twice, to the same bytes and the same
// truth.
func TestDeterminism(t *testing.T) {
	for _, sc := range withRoCE() {
		write := func(seed uint64) (file, truth []byte) {
			o := scenariotest.Small(&sc)
			o.Seed = seed
			var b bytes.Buffer
			tr, err := sc.Write(&b, o, scenario.PcapNG, "test")
			if err != nil {
				t.Fatalf("%s: %v", sc.Name, err)
			}
			j, err := json.Marshal(tr)
			if err != nil {
				t.Fatal(err)
			}
			return b.Bytes(), j
		}
		f1, t1 := write(5)
		f2, t2 := write(5)
		if !bytes.Equal(f1, f2) || !bytes.Equal(t1, t2) {
			t.Errorf("%s: two runs differ", sc.Name)
		}
		if f3, _ := write(6); bytes.Equal(f1, f3) {
			t.Errorf("%s: another seed makes no difference", sc.Name)
		}
	}
}

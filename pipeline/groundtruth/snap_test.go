package groundtruth_test

import (
	"slices"
	"testing"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/finding"
	"github.com/rocelens/rocelens/pipeline/record"
)

// keptBytes are how many bytes behind the BTH a snap length leaves: within and behind
// AETH (4), DETH (8), RETH (16) and AtomicETH (28).
var keptBytes = []int{0, 2, 4, 7, 8, 12, 15, 16, 27, 28}

// wrongs are the figures of a direction that blame somebody.
type wrongs struct {
	Retransmitted              record.Retransmitted
	Lost                       record.Lost
	Tries                      [record.NumCauses]uint64
	Reordered, Undecided, NAKs uint64
	Responses                  record.ReadResponses
	Errors                     uint64
}

func wrongsOf(d *record.Direction) wrongs {
	r := d.ReadResponses
	r.Packets = 0
	return wrongs{d.Retransmitted, d.Lost, d.Tries, d.Reordered, d.Undecided, sum(d.Naks[:]) + d.RNRNaks, r, d.ProtocolErrors}
}

// exceeds says whether a figure is greater than that of o. A try of which nobody knows
// the cause is one of some other cause in o.
func (w *wrongs) exceeds(o *wrongs) bool {
	if sum(w.Tries[:]) > sum(o.Tries[:]) {
		return true
	}
	for i, n := range w.Tries {
		if record.Cause(i) != record.CauseUnknown && n > o.Tries[i] {
			return true
		}
	}
	return w.Retransmitted.Packets > o.Retransmitted.Packets || w.Lost.BeforeTap > o.Lost.BeforeTap || w.Lost.AfterTap > o.Lost.AfterTap ||
		w.Lost.Capture > o.Lost.Capture || w.Reordered > o.Reordered || w.Undecided > o.Undecided || w.NAKs > o.NAKs ||
		w.Responses.Retransmitted > o.Responses.Retransmitted || w.Responses.LostBeforeTap > o.Responses.LostBeforeTap || w.Errors > o.Errors
}

// TestSnapLengths: where frames end within a header that following a session takes,
// nothing is said of that session from there on; and where they do not, the same as of
// whole frames.
func TestSnapLengths(t *testing.T) {
	for _, a := range all(t) {
		e := load(t, a.path)
		if len(e.frames) > mostCut {
			continue
		}
		whole := e.run(t)
		if whole.ICRC.Bad > 0 || len(whole.Duplicates.Doubled)+len(whole.Duplicates.Partly) > 0 {
			continue // without ICRCs less is known
		}
		want := make(map[string]wrongs)
		for _, d := range sides(whole) {
			want[endKey(d.from)+" "+d.toKey()] = wrongsOf(d.Direction)
		}
		for _, kept := range keptBytes {
			r := e.snap(kept).run(t)
			cut := uint64(0)
			for _, d := range sides(r) {
				key := endKey(d.from) + " " + d.toKey()
				got := wrongsOf(d.Direction)
				w, is := want[key]
				switch blind := d.s.AToB.HeadersCut + d.s.BToA.HeadersCut; {
				case blind > 0:
					cut += blind
					if got.exceeds(&w) {
						t.Errorf("%s, %d bytes behind the BTH: %s, which can't be followed: %+v, of whole frames %+v", a.name, kept, key, got, w)
					}
				case !is && d.s.Pairing.Method == record.PairNone:
				case got != w:
					t.Errorf("%s, %d bytes behind the BTH: %s: %+v, of whole frames %+v", a.name, kept, key, got, w)
				}
			}
			said := slices.ContainsFunc(finding.Find(&finding.Facts{Inputs: e.inputs, Result: r}), func(f record.Finding) bool { return f.Code == "headers-cut" })
			if said != (cut > 0) {
				t.Errorf("%s, %d bytes behind the BTH: %d headers cut, and it is said: %t", a.name, kept, cut, said)
			}
		}
	}
}

// snap is the capture with no more than so many bytes behind each BTH.
func (e *edited) snap(behind int) *edited {
	out := &edited{inputs: e.inputs, frames: slices.Clone(e.frames)}
	for i := range out.frames {
		f := &out.frames[i]
		for _, l := range f.pkt.Layers() {
			if l.Kind == decode.LayerBTH {
				f.Data = f.Data[:min(len(f.Data), int(l.Off+l.Len)+behind)]
				break
			}
		}
	}
	return out
}

package track_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/scenario"
	"github.com/rocelens/rocelens/pipeline/sketch"
)

// propertySeeds is how many random specs each property is tried on.
const propertySeeds = 100 / underRace

// total is what was found of the flows of a capture, by name.
type total map[string]record.Direction

func totals(r *pipeline.Result) total {
	t := make(total)
	for k, lives := range flows(r) {
		for i, f := range lives {
			t[fmt.Sprintf("%s %s %#x life %d", k.src, k.dst, k.qpn, i+1)] = *f.sent
		}
	}
	return t
}

// same compares totals, but for the fields named, and for which frames and PSNs
// are marked.
func same(t *testing.T, what string, seed uint64, want, got total, but ...string) {
	t.Helper()
	if d := cmp.Diff(want, got, cmp.AllowUnexported(sketch.Histogram{}), cmpopts.IgnoreFields(record.Direction{}, but...),
		cmpopts.IgnoreTypes(record.FrameRef{}), cmpopts.IgnoreFields(record.Outage{}, "PSN"), cmpopts.IgnoreFields(record.Retrying{}, "PSN")); d != "" {
		t.Errorf("seed %d: %s (-before +after):\n%s", seed, what, d)
	}
}

// TestShiftedPSNs: where PSNs begin, and whether they wrap, changes nothing.
func TestShiftedPSNs(t *testing.T) {
	for seed := range uint64(propertySeeds) {
		want := totals(simulateSpec(t, randomSpec(seed)).analyse(t))
		shifted := randomSpec(seed)
		for i := range shifted.Sessions {
			s := &shifted.Sessions[i]
			s.A.StartPSN = (s.A.StartPSN + 0x800000) & 0xffffff
			s.B.StartPSN = (s.B.StartPSN - 0x123456) & 0xffffff
		}
		same(t, "PSNs shifted", seed, want, totals(simulateSpec(t, shifted).analyse(t)))
		wrapped := randomSpec(seed)
		s := &wrapped.Sessions[0]
		s.A.StartPSN, s.B.StartPSN = 0xffffff-uint32(seed), 0xfffff0
		same(t, "PSNs wrapped", seed, want, totals(simulateSpec(t, wrapped).analyse(t)))
	}
}

// TestSnaplen: where frames are cut behind their headers, nothing is missed but
// what the ICRC tells, and what CM does.
func TestSnaplen(t *testing.T) {
	withoutCM := func(seed uint64) *scenario.Spec {
		spec := randomSpec(seed)
		for i := range spec.Sessions {
			spec.Sessions[i].CM, spec.Sessions[i].Close = scenario.NoCM, false
		}
		return spec
	}
	for seed := range uint64(propertySeeds) {
		want := totals(simulateSpec(t, withoutCM(seed)).analyse(t))
		spec := withoutCM(seed)
		spec.Tap.Snaplen = 96
		got := totals(simulateSpec(t, spec).analyse(t))
		same(t, "96 bytes of each frame", seed, want, got, "ICRCBad", "Truncated")
	}
}

// TestInterleaved: what two captures have in common is nothing, and so one
// that holds both has the sum.
func TestInterleaved(t *testing.T) {
	for seed := range uint64(propertySeeds) {
		a := simulateSpec(t, randomSpec(seed))
		spec := randomSpec(seed + 1000)
		for i := range spec.Sessions {
			spec.Sessions[i].A.Host += 100
			spec.Sessions[i].B.Host += 100
		}
		b := simulateSpec(t, spec)
		want := totals(a.analyse(t))
		for k, d := range totals(b.analyse(t)) {
			want[k] = d
		}
		both := &simulated{frames: slices.Concat(a.frames, b.frames)}
		slices.SortStableFunc(both.frames, func(x, y capture.Frame) int { return int(x.Time - y.Time) })
		for i := range both.frames {
			both.frames[i].Number = uint64(i + 1)
		}
		same(t, "interleaved", seed, want, totals(both.analyse(t)))
	}
}

// TestTimeTies: with time stamps of a coarse clock, several packets have the
// same. Their order is the file's, and all that is not a time stays.
func TestTimeTies(t *testing.T) {
	for seed := range uint64(propertySeeds) {
		c := simulateSpec(t, randomSpec(seed))
		want := totals(c.analyse(t))
		for i := range c.frames {
			c.frames[i].Time -= c.frames[i].Time % int64(time.Microsecond)
		}
		got := totals(c.analyse(t))
		same(t, "microseconds", seed, want, got, "First", "Last", "SilenceTime", "Silences", "RNRTime", "Marks",
			"AckLatency", "MessageLatency", "Latency", "NakReaction", "Congestion", "Spent")
		for k, d := range got {
			x, y := want[k].Congestion, d.Congestion
			if (x == nil) != (y == nil) || x != nil && (x.DataMarked != y.DataMarked || x.AcksMarked != y.AcksMarked || x.CNPsMarked != y.CNPsMarked || x.CNPs != y.CNPs) {
				t.Errorf("seed %d: microseconds: %s: %+v, before %+v", seed, k, y, x)
			}
		}
	}
}

// TestCut: in each part of a capture that is cut in two, no step back is found
// that was none, nothing is lost that was not, and no pairing is wrong.
func TestCut(t *testing.T) {
	for seed := range uint64(propertySeeds) {
		c := simulateSpec(t, randomSpec(seed))
		steps := make(map[uint64]bool)
		var lost uint64
		for _, s := range c.truth.Sessions {
			for _, st := range s.Streams {
				for _, y := range st.Tries {
					steps[y.Frame] = true
				}
				lost += uint64(len(st.Drops) + len(st.Corruptions) + len(st.Reorders) + len(st.Tries))
			}
		}
		at := len(c.frames) / 2
		for part, keep := range []func(i int, _ *capture.Frame) bool{
			func(i int, _ *capture.Frame) bool { return i < at },
			func(i int, _ *capture.Frame) bool { return i >= at },
		} {
			r := c.only(keep).analyse(t)
			for i := range r.Events {
				e := &r.Events[i]
				if e.Detail.Kind() == record.KindTry && !steps[e.Frame.Number] {
					t.Errorf("seed %d, part %d: a try at frame %d: %+v", seed, part, e.Frame.Number, e.Detail)
				}
			}
			var found uint64
			for s := range r.Sessions.All() {
				for _, d := range []*record.Direction{&s.AToB, &s.BToA} {
					found += d.Lost.BeforeTap + d.Lost.AfterTap
					if d.Lost.Capture > 0 {
						t.Errorf("seed %d, part %d: %s: %d lost by the capture", seed, part, s.ID, d.Lost.Capture)
					}
				}
			}
			if found > lost {
				t.Errorf("seed %d, part %d: %d lost, truth %d", seed, part, found, lost)
			}
			rightlyPaired(t, seed, r, c.truth)
		}
	}
}

// rightlyPaired complains of sessions between QPs that have none.
func rightlyPaired(t *testing.T, seed uint64, r *pipeline.Result, truth *scenario.Truth) {
	t.Helper()
	known := make(map[string]bool)
	for _, s := range truth.Sessions {
		known[fmt.Sprintf("%s %#x %s %#x", s.A.Addr, s.A.QPN, s.B.Addr, s.B.QPN)] = true
		known[fmt.Sprintf("%s %#x %s %#x", s.B.Addr, s.B.QPN, s.A.Addr, s.A.QPN)] = true
	}
	for s := range r.Sessions.All() {
		name := fmt.Sprintf("%s %#x %s %#x", s.A.Addr.IP().Unmap(), s.A.QPN, s.B.Addr.IP().Unmap(), s.B.QPN)
		if s.A.HasQPN && s.B.HasQPN && !known[name] {
			t.Errorf("seed %d: paired by %s: %s", seed, s.Pairing.Method, name)
		}
	}
}

// TestOneDirection: where one direction was captured, the same packets were
// sent again, nobody knows why, and nothing is paired that does not belong
// together.
func TestOneDirection(t *testing.T) {
	for seed := range uint64(propertySeeds) {
		for _, only := range []scenario.Direction{scenario.AtoB, scenario.BtoA} {
			spec := randomSpec(seed)
			spec.Tap.Only = only
			c := simulateSpec(t, spec)
			r := c.analyse(t)
			rightlyPaired(t, seed, r, c.truth)
			matched := match(r, c.truth)
			for i, s := range c.truth.Sessions {
				side := int(only) - 1
				f := matched[i].stream(r, side)
				if f == nil {
					continue
				}
				st := s.Streams[side]
				if n := f.req.Retransmitted; n.Fills != st.Seen.Fills || n.Repeats != st.Seen.Repeats {
					t.Errorf("seed %d, session %d: %d fills and %d repeats, truth %d and %d", seed, s.ID, n.Fills, n.Repeats, st.Seen.Fills, st.Seen.Repeats)
				}
				for cause, n := range f.req.Tries {
					if record.Cause(cause) != record.CauseUnknown && n > 0 {
						t.Errorf("seed %d, session %d: %d tries by %s", seed, s.ID, n, record.Cause(cause))
					}
				}
			}
		}
	}
}

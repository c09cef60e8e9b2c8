package scenario_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/scenario"
	"github.com/rocelens/rocelens/pipeline/scenario/scenariotest"
)

// figures are what the definitions of position, pass, fill and repeat give for
// one stream.
type figures struct {
	Steps, First, Fills, Repeats, Wasted, Lost int
}

// observer applies the definitions in their plainest form: to captures without
// reordering, duplicates or corruption, in which only the requests count.
type observer struct {
	figures
	started  bool
	pos, max uint32
	pass     int
	seen     map[uint32]int
	missing  []uint32
}

func before(a, b uint32) bool { return int32((a-b)<<8) < 0 }

func (o *observer) request(psn, psns uint32) {
	const mask = 1<<24 - 1
	if !o.started {
		o.started, o.pos, o.max, o.seen = true, psn, psn, make(map[uint32]int)
	}
	switch {
	case before(psn, o.pos):
		o.Steps++
		for _, m := range o.missing {
			if !before(m, psn) {
				o.Lost++
			}
		}
		o.missing = nil
		o.pass++
	case psn != o.pos && !(psn == o.max && o.pos != o.max):
		for m := o.pos; m != psn; m = (m + 1) & mask {
			o.missing = append(o.missing, m)
		}
	}
	last, again := o.seen[psn]
	switch {
	case !before(psn, o.max):
		o.First++
	case !again:
		o.Fills++
	default:
		o.Repeats++
		if last == o.pass-1 {
			o.Wasted++
		}
	}
	for i := range psns {
		o.seen[(psn+i)&mask] = o.pass
	}
	if o.pos = (psn + psns) & mask; before(o.max, o.pos) {
		o.max = o.pos
	}
}

// TestDefinitions holds the truth, which is made of what the machines did,
// against what its definitions give when they are applied to the frames alone.
func TestDefinitions(t *testing.T) {
	for _, sc := range withRoCE() {
		t.Run(sc.Name, func(t *testing.T) {
			runs := uint64(2)
			if slices.Contains(sc.Takes, scenario.OptLoss) {
				runs = 8
			}
			for seed := range runs {
				o := scenariotest.Small(&sc)
				o.Seed = seed
				if slices.Contains(sc.Takes, scenario.OptLoss) {
					o.Loss = float64(seed) / 100
				}
				f, truth := run(t, sc, o)
				compareWithDefinitions(t, f, truth)
			}
		})
	}
}

func compareWithDefinitions(t *testing.T, f *frames, truth *scenario.Truth) {
	t.Helper()
	if truth.Tap.Twice != "" || truth.SessionCount != len(truth.Sessions) {
		return // not for the plainest form
	}
	got := observe(f, truth)
	for _, s := range truth.Sessions {
		if s.Life > 1 || s.Service == scenario.UD {
			continue
		}
		for i, st := range s.Streams {
			key := streamKey(s, i)
			n := len(st.Reorders) + len(st.Duplicates) + len(st.Corruptions)
			if n > 0 || got[key] == nil || reused(truth, s) {
				continue
			}
			want := figures{
				First: int(st.Seen.First + st.Seen.Hidden), Fills: int(st.Seen.Fills), Repeats: int(st.Seen.Repeats),
			}
			reads := false
			for _, m := range st.Messages {
				reads = reads || m.Kind == scenario.Read
			}
			if len(st.Messages) == 0 { // a large capture, which lists no tries
				have := got[key].figures
				want.Wasted, want.Steps, want.Lost = have.Wasted, have.Steps, have.Lost
			}
			for _, try := range st.Tries {
				want.Wasted += try.Wasted
				if try.Visible {
					want.Steps++
					want.Lost += try.LostVisible
				}
			}
			have := got[key].figures
			if reads || len(st.CaptureLosses) > 0 {
				// Of a missing READ one PSN says nothing of how many it
				// takes, and what the mirror lost is missing as well.
				have.Lost = want.Lost
			}
			if d := cmp.Diff(want, have); d != "" {
				t.Errorf("seed %d, session %d, stream %d (-truth +frames):\n%s", truth.Seed, s.ID, i, d)
			}
		}
	}
}

func streamKey(s *scenario.SessionTruth, stream int) string {
	if stream == 0 {
		return fmt.Sprint(s.A.Addr, s.B.Addr, s.B.QPN)
	}
	return fmt.Sprint(s.B.Addr, s.A.Addr, s.A.QPN)
}

// reused says whether the session's QPNs have other lives.
func reused(truth *scenario.Truth, s *scenario.SessionTruth) bool {
	for _, other := range truth.Sessions {
		if other != s && other.A.Addr == s.A.Addr && other.A.QPN == s.A.QPN && other.B.Addr == s.B.Addr {
			return true
		}
	}
	return false
}

// observe finds the requests of each stream.
func observe(f *frames, truth *scenario.Truth) map[string]*observer {
	mtu := make(map[string]uint32)
	for _, s := range truth.Sessions {
		mtu[streamKey(s, 0)], mtu[streamKey(s, 1)] = uint32(s.PathMTU), uint32(s.PathMTU)
	}
	all := make(map[string]*observer)
	dec := decode.New(decode.Config{})
	var p decode.Packet
	for i := range f.list {
		dec.Decode(&f.list[i], &p)
		op := uint8(p.Opcode)
		if op == 0x81 || p.DestQP == 1 || isAnswer(&p) {
			continue
		}
		key := fmt.Sprint(p.Src.IP().String(), p.Dst.IP().String(), p.DestQP)
		psns := uint32(1)
		if op&0x1f == 0x0c {
			psns = max(1, (p.DMALen+mtu[key]-1)/mtu[key])
		}
		if all[key] == nil {
			all[key] = &observer{}
		}
		all[key].request(p.PSN, psns)
	}
	return all
}

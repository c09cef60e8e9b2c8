package groundtruth_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rocelens/rocelens/decode"
)

// TestCopiesWithoutID: a few packets that came twice within a millisecond, without an IP
// ID that tells a copy from a packet that is sent again, are taken for neither.
func TestCopiesWithoutID(t *testing.T) {
	const apart = 40 // frames, at least
	tried := 0
	for _, a := range all(t) {
		e := load(t, a.path)
		if len(e.frames) > mostCut || len(troubles(e.run(t))) > 0 {
			continue
		}
		r := rand.New(rand.NewPCG(7, uint64(len(e.frames))))
		for _, after := range []int64{0, 1_000, 100_000, 900_000} {
			out := &edited{inputs: e.inputs}
			copies, last := uint64(0), -apart
			for i := range e.frames {
				f := e.frames[i]
				out.frames = append(out.frames, f)
				if f.request() && f.pkt.AddrKind == decode.AddrIPv6 && i-last >= apart && r.IntN(10) == 0 {
					f.Time += after
					out.frames = append(out.frames, f)
					copies, last = copies+1, i
				}
			}
			if copies == 0 {
				continue
			}
			tried++
			slices.SortStableFunc(out.frames, func(x, y frame) int { return int(max(-1, min(1, x.Time-y.Time))) })
			got, undecided := out.run(t), uint64(0)
			for _, d := range sides(got) {
				undecided += d.Undecided
				if n := d.Retransmitted.Packets + d.Lost.BeforeTap + d.Lost.AfterTap + d.Lost.Capture + sum(d.Tries[:]) + d.Reordered; n > 0 {
					t.Errorf("%s, %d copies %d ns later: %s -> %s %+v %+v %v", a.name, copies, after, endKey(d.from), d.toKey(), d.Retransmitted, d.Lost, d.Tries)
				}
			}
			if undecided > copies || got.Duplicates.Undecided < undecided {
				t.Errorf("%s, %d copies %d ns later: %d are undecided, %d without an ID", a.name, copies, after, undecided, got.Duplicates.Undecided)
			}
		}
	}
	if tried == 0 {
		t.Error("no capture to try with")
	}
}

// TestSentAgainAndAgain: packets without an IP ID that a timer sends again and again, so
// that most of a capture is the same, are no copies of the capture's.
func TestSentAgainAndAgain(t *testing.T) {
	const rounds, timer = 7, 1_200_000
	for _, a := range all(t) {
		if a.name != "rc_write_ipv6" {
			continue
		}
		e := load(t, a.path)
		out := &edited{inputs: e.inputs}
		var again []frame
		for i := range e.frames {
			if f := &e.frames[i]; f.reliable() && len(out.frames) < 24 {
				out.frames = append(out.frames, *f)
				if f.request() {
					again = append(again, *f)
				}
			}
		}
		again = again[max(0, len(again)-6):]
		now := out.frames[len(out.frames)-1].Time
		for range rounds {
			now += timer
			for i := range again {
				again[i].Time = now + int64(i)
			}
			out.frames = append(out.frames, again...)
		}
		n, copies := uint64(0), uint64(0)
		for _, d := range sides(out.run(t)) {
			n += sum(d.Tries[:])
			copies += d.Duplicates.Capture
		}
		if n != rounds || copies != 0 {
			t.Errorf("%d tries and %d copies of the capture's, want %d and 0", n, copies, rounds)
		}
		return
	}
	t.Error("no such capture")
}

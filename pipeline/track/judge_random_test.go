package track_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/scenario"
)

// TestRandom holds what is found in random captures against the truth, as far
// as a tap can know it whatever happens: all that counts packets is exact, every
// step back that shows is found and no other, and nothing is lost that was not.
// Requesters that repair selectively are left out: that one of them did not send
// a packet, and that it was lost at the end of a pass, can look the same. ROCELENS_SEEDS runs more of them.
func TestRandom(t *testing.T) {
	seeds := uint64(2000 / underRace)
	if n, err := strconv.ParseUint(os.Getenv("ROCELENS_SEEDS"), 10, 32); err == nil {
		seeds = n
	}
	for seed := range seeds {
		spec := randomSpec(seed)
		for i := range spec.Sessions {
			if r := &spec.Sessions[i].Requester; r.Mode == scenario.Selective {
				r.Mode = scenario.GoBackN
			}
		}
		c := simulateSpec(t, spec)
		for _, s := range judgeRandom(c.analyse(t), c.truth) {
			t.Errorf("seed %d: %s", seed, s)
		}
	}
}

func judgeRandom(r *pipeline.Result, truth *scenario.Truth) []string {
	c := new(complaints)
	matched := match(r, truth)
	for i, s := range truth.Sessions {
		c.at = fmt.Sprintf("session %d", s.ID)
		judgeSession(c, truth, s, &matched[i])
		for j, st := range s.Streams {
			f := matched[i].stream(r, j)
			if f == nil {
				continue
			}
			c.at = fmt.Sprintf("session %d stream %c", s.ID, 'a'+j)
			equal(c, "fills", f.req.Retransmitted.Fills, st.Seen.Fills)
			equal(c, "repeats", f.req.Retransmitted.Repeats, st.Seen.Repeats)
			judgeMessages(c, st, f)
			judgeNaks(c, st, f)
			judgeBounds(c, st, f)
			if s.Service != scenario.UC {
				judgeSteps(c, st, f)
				judgeGaveUp(c, truth, s, st, f)
			}
		}
	}
	c.at = "all"
	judgeStrangers(c, r, truth)
	return c.list
}

// judgeSteps compares only when requesters went back.
func judgeSteps(c *complaints, st *scenario.StreamTruth, f *stream) {
	var found, truth []uint64
	for _, t := range st.Tries {
		if t.Visible {
			truth = append(truth, t.Frame)
		}
	}
	for _, y := range f.tries {
		found = append(found, y.frame)
	}
	slices.Sort(found)
	if !slices.Equal(found, truth) {
		c.add("tries at frames %v, truth %v", found, truth)
	}
}

// judgeBounds: no more is lost than was lost.
func judgeBounds(c *complaints, st *scenario.StreamTruth, f *stream) {
	var before, shown, after, responses uint64
	for _, l := range slices.Concat(st.Drops, st.Corruptions) {
		switch {
		case l.Kind == "answer" && l.Where == scenario.BeforeTap:
			responses++
		case l.Kind == "request" && l.Where == scenario.AfterTap:
			after++
		case l.Kind == "request":
			before++
			if l.Visible {
				shown++
			}
		}
	}
	for _, n := range st.NAKs {
		// Its RNR NAK may not be in the file. And one that names what was overtaken
		// behind the tap, or was dropped meanwhile, tells of no loss, but is told
		// from one that does only where more comes of it.
		if n.Quirk || n.Timer == 0 && n.Frame != 0 && overtaken(st, n.Pass) {
			after++
		}
	}
	within(c, "lost before the tap", f.req.Lost.BeforeTap, shown, before)
	within(c, "lost after the tap", f.req.Lost.AfterTap, 0, after+asked(st))
	within(c, "responses lost before the tap", f.resp.ReadResponses.LostBeforeTap, 0, responses)
	equal(c, "lost by the capture", f.req.Lost.Capture, 0)
}

// overtaken says whether a request of a pass was overtaken behind the tap.
func overtaken(st *scenario.StreamTruth, pass int) bool {
	return slices.ContainsFunc(st.Reorders, func(h *scenario.Hit) bool {
		return h.Kind == "request" && h.Where == scenario.AfterTap && h.Pass == pass
	})
}

package correlate_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rocelens/rocelens/pipeline/correlate"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/scenario"
)

// edited is a capture with its frames changed.
func edited(of *frames, edit func(i int, data []byte)) *frames {
	out := &frames{}
	for i := range of.list {
		f := of.list[i]
		f.Data = bytes.Clone(f.Data)
		edit(i, f.Data)
		out.list = append(out.list, f)
	}
	return out
}

// Where a field is in an untagged IPv4 frame.
const (
	tosAt = 14 + 1
	ttlAt = 14 + 8
)

func codes(found []record.Finding) (list []string) {
	for _, f := range found {
		list = append(list, f.Code)
	}
	return list
}

func mustRun(t *testing.T, cfg correlate.Config, taps ...*frames) *correlate.Result {
	t.Helper()
	r, err := correlate.Run(context.Background(), len(taps), opener(taps...), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestHeaders: a class that changes on the way, and hop limits, which tell the
// order as well.
func TestHeaders(t *testing.T) {
	l := look(t, work(scenario.Network{}), apart, func(p *[3]scenario.Point) { p[scenario.AtA].Only, p[scenario.AtB].Only = scenario.AtoB, scenario.AtoB }, correlate.DefaultConfig(), scenario.AtA, scenario.AtB)
	third := 0
	b := edited(l.caught[scenario.AtB], func(i int, data []byte) {
		data[ttlAt] -= 2
		if i%3 == 0 {
			data[tosAt] = 10<<2 | data[tosAt]&3
			third++
		}
	})
	r := mustRun(t, correlate.DefaultConfig(), b, l.caught[scenario.AtA])
	if len(r.Hops) != 1 || r.Paths[0].Sureness != correlate.ByTTL || !slices.Equal(r.Paths[0].Taps, []int{1, 0}) {
		t.Fatalf("%+v", r.Paths)
	}
	h := &r.Hops[0]
	if want := (correlate.Change{Packets: uint64(third), From: 26, To: 10}); h.DSCP != want {
		t.Errorf("DSCP %+v, changed was %+v", h.DSCP, want)
	}
	if h.TTL != [4]uint64{0, 0, h.Matched, 0} || h.TTLOdd > 0 || h.Priority.Packets > 0 {
		t.Errorf("hop limits %v, priorities %+v", h.TTL, h.Priority)
	}
	if found := codes(correlate.Find(r, []string{"b", "a"})); !slices.Contains(found, "class-changed") || slices.Contains(found, "order-unsure") {
		t.Errorf("%v", found)
	}
}

// TestOrder: with packets of one direction, marks tell the order for sure and
// losses likely; with neither it is that of the command line, and said so.
func TestOrder(t *testing.T) {
	mark := rate(scenario.MarkCE, scenario.AfterTap, 0.1, scenario.AnyData)
	drop := rate(scenario.Drop, scenario.AfterTap, 0.02, scenario.Requests)
	for name, c := range map[string]struct {
		faults []scenario.Fault
		how    correlate.Sureness
		right  bool
	}{
		"marks": {[]scenario.Fault{mark}, correlate.ByMarks, true}, "losses": {[]scenario.Fault{drop}, correlate.ByLosses, true}, "nothing": {nil, correlate.Assumed, false},
	} {
		t.Run(name, func(t *testing.T) {
			one := func(p *[3]scenario.Point) { p[scenario.AtA].Only, p[scenario.AtB].Only = scenario.AtoB, scenario.AtoB }
			l := look(t, work(scenario.Network{}, c.faults...), apart, one, correlate.DefaultConfig(), scenario.AtB, scenario.AtA)
			p := l.res.Paths[0]
			if p.Sureness != c.how || slices.Equal(p.Taps, []int{1, 0}) != c.right {
				t.Errorf("%v by %v", p.Taps, p.Sureness)
			}
			found := correlate.Find(l.res, []string{"b", "a"})
			if slices.Contains(codes(found), "order-unsure") == p.Sureness.Sure() {
				t.Errorf("%v by %v: %v", p.Taps, p.Sureness, codes(found))
			}
			// The user knows.
			cfg := correlate.DefaultConfig()
			cfg.InOrder = true
			r := mustRun(t, cfg, l.caught[scenario.AtA], l.caught[scenario.AtB])
			if q := r.Paths[0]; !q.Sureness.Sure() || !slices.Equal(q.Taps, []int{0, 1}) {
				t.Errorf("in order: %v by %v", q.Taps, q.Sureness)
			}
		})
	}
}

// TestLostAhead: what was lost ahead of the first tap, and between two others.
func TestLostAhead(t *testing.T) {
	spec := work(scenario.Network{}, rate(scenario.Drop, scenario.BeforeTap, 0.01, scenario.Requests), rate(scenario.Drop, scenario.AfterTap, 0.01, scenario.Requests))
	for i := range spec.Sessions {
		// A READ takes PSNs that only its path MTU tells, and b's requests pass
		// both taps before they are lost.
		spec.Sessions[i].Work[0].Messages = slices.DeleteFunc(spec.Sessions[i].Work[0].Messages, func(m scenario.Message) bool { return m.Kind == scenario.Read })
		spec.Sessions[i].Work[1].Messages = nil
	}
	l := look(t, spec, apart, nil, correlate.DefaultConfig(), scenario.AtTap, scenario.AtB)
	l.checkHops(t)
	ahead := uint64(0)
	for i := range l.res.Flows {
		ahead += l.res.Flows[i].LostBefore
	}
	lost := uint64(len(l.truth.Hops[0].Lost))
	if ahead > lost || ahead*10 < lost*9 || lost < 10 { // the last of a message leave no gap
		t.Errorf("%d lost ahead, the wire lost %d", ahead, lost)
	}
	found := correlate.Find(l.res, []string{"tap", "b"})
	if found[0].Code != "lost-before-taps" && found[1].Code != "lost-before-taps" || !strings.Contains(found[0].Title+found[1].Title, " of ") {
		t.Errorf("%+v", found[:2])
	}
}

// TestTries: each step back of a requester is put down to the hop that lost
// what it went back for.
func TestTries(t *testing.T) {
	spec := work(scenario.Network{}, losses()...)
	l := look(t, spec, apart, nil, correlate.DefaultConfig(), scenario.AtA, scenario.AtTap, scenario.AtB)
	var tries, here, truth uint64
	for i := range l.res.Flows {
		tries += l.res.Flows[i].Tries
	}
	for _, h := range l.res.Hops {
		here += h.Tries + h.AnswerTries
	}
	for _, s := range l.whole.Sessions {
		for _, st := range s.Streams {
			truth += uint64(len(st.Tries))
		}
	}
	// A READ that is resumed in its middle looks like a new request.
	if tries > truth || tries*20 < truth*19 || here*10 < tries*9 || here > tries {
		t.Errorf("%d tries, %d of them put down to a hop; requesters made %d", tries, here, truth)
	}
}

// TestWindow: packets that come later than the window are lost and appear.
func TestWindow(t *testing.T) {
	l := look(t, work(scenario.Network{}), apart, nil, correlate.DefaultConfig(), scenario.AtA, scenario.AtB)
	late := &frames{}
	for i := range l.caught[2].list {
		f := l.caught[2].list[i]
		if i%50 == 25 {
			f.Time += int64(5 * time.Second)
		}
		late.list = append(late.list, f)
	}
	cfg := correlate.DefaultConfig()
	r := mustRun(t, cfg, l.caught[0], late)
	cfg.Window = time.Second
	s := mustRun(t, cfg, l.caught[0], late)
	var inTime, tooLate uint64
	for i := range r.Hops {
		inTime += r.Hops[i].Matched
		tooLate += s.Hops[i].Matched
	}
	if inTime <= tooLate {
		t.Errorf("%d matched in 10 s, %d in 1 s", inTime, tooLate)
	}
}

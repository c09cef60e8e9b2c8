package groundtruth_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
)

// lifeEvents are what a session without trouble may have. A silence is a fact
// of the wire: programs pause.
var lifeEvents = []record.EventKind{
	record.KindConnect, record.KindReject, record.KindDisconnect, record.KindNewSession, record.KindClosed, record.KindSilence,
}

// troubles lists what a result says went wrong, as text; events of the kinds
// in allowed are none of it.
func troubles(r *pipeline.Result, allowed ...record.EventKind) []string {
	var list []string
	for _, d := range sides(r) {
		for _, c := range []struct {
			what string
			n    uint64
		}{
			{"retransmitted", d.Retransmitted.Packets + d.Retransmitted.Fills + d.Retransmitted.Repeats},
			{"wasted", d.Wasted.Packets},
			{"responses retransmitted", d.ReadResponses.Retransmitted},
			{"responses lost", d.ReadResponses.LostBeforeTap},
			{"lost before the tap", d.Lost.BeforeTap},
			{"lost behind the tap", d.Lost.AfterTap},
			{"lost by the capture", d.Lost.Capture},
			{"corrupt", d.Lost.Corrupt},
			{"reordered", d.Reordered},
			{"undecided", d.Undecided},
			{"duplicates of the capture", d.Duplicates.Capture},
			{"duplicates of the network", d.Duplicates.Network},
			{"episodes", d.Episodes},
			{"tries", sum(d.Tries[:])},
			{"protocol errors", d.ProtocolErrors},
		} {
			if c.n > 0 {
				list = append(list, fmt.Sprintf("%s -> %s %d %s", endKey(d.from), d.toKey(), c.n, c.what))
			}
		}
	}
	for i := range r.Events {
		k := r.Events[i].Detail.Kind()
		if !slices.Contains(lifeEvents, k) && !slices.Contains(allowed, k) {
			list = append(list, fmt.Sprintf("event %s of %s at frame %d: %+v", k, r.Events[i].Session, r.Events[i].Frame.Number, r.Events[i].Detail))
		}
	}
	const most = 6 // that anybody reads
	if more := len(list) - most; more > 0 {
		list = append(list[:most], fmt.Sprintf("and %d more", more))
	}
	return list
}

func sum(n []uint64) uint64 {
	var s uint64
	for _, v := range n {
		s += v
	}
	return s
}

// TestCleanCaptures: where nothing was injected and nothing was sent again,
// nothing of the kind is found.
func TestCleanCaptures(t *testing.T) {
	n := 0
	for _, a := range all(t) {
		if !a.truth.clean() {
			continue
		}
		n++
		for _, s := range troubles(a.res) {
			t.Errorf("%s: %s", a.name, s)
		}
	}
	if n < 10 {
		t.Errorf("only %d captures are clean", n)
	}
}

// eachReliable calls do with each clean capture that has RC or XRC requests.
func eachReliable(t *testing.T, do func(*testing.T, *analysed, *edited)) {
	for _, a := range all(t) {
		if !a.truth.clean() {
			continue
		}
		e := load(t, a.path)
		if slices.ContainsFunc(e.frames, func(f frame) bool { return f.request() }) {
			t.Run(a.name, func(t *testing.T) { do(t, a, e) })
		}
	}
}

// TestDoubledFrames: a mirror of two ports gives duplicates of the capture and
// nothing else.
func TestDoubledFrames(t *testing.T) {
	eachReliable(t, func(t *testing.T, a *analysed, e *edited) {
		r := e.double().run(t)
		if r.Sessions.Len() != a.res.Sessions.Len() {
			t.Fatalf("%d sessions, %d without copies", r.Sessions.Len(), a.res.Sessions.Len())
		}
		plain := sides(a.res)
		for i, d := range sides(r) {
			if p := plain[i]; d.Duplicates.Capture != p.Packets {
				t.Errorf("%s -> %s: %d duplicates of the capture, %d packets were doubled", endKey(d.from), d.toKey(), d.Duplicates.Capture, p.Packets)
			}
			d.Duplicates.Capture = 0
		}
		for _, s := range troubles(r, record.KindDuplicate) {
			t.Error(s)
		}
	})
}

// TestThinnedRequests: a mirror that loses one request packet in 50 loses
// them, and not the network. Packets that nothing follows, or that nothing in
// the file answers, nobody can miss.
func TestThinnedRequests(t *testing.T) {
	removed := 0
	eachReliable(t, func(t *testing.T, a *analysed, e *edited) {
		gone := thin(e, 50)
		if len(gone) == 0 {
			return
		}
		removed += len(gone)
		r := e.keep(func(i int, _ *frame) bool { return !gone[i] }).run(t)
		want, got := make(tally), make(tally)
		for i := range gone {
			f := &e.frames[i]
			want.add(flowKey(f.pkt.Dst.IP().Unmap(), f.pkt.DestQP), 1)
		}
		for _, d := range sides(r) {
			got.add(d.toKey(), int(d.Lost.Capture))
			d.Lost.Capture = 0
		}
		if !got.equal(want) {
			t.Errorf("removed %v, lost by the capture %v", want, got)
		}
		for _, s := range troubles(r, record.KindCaptureLoss) {
			t.Error(s)
		}
	})
	if removed == 0 {
		t.Error("no packet was removed")
	}
}

// thin picks every nth request packet of each flow of which another request
// follows in the flow and an answer that covers it comes later.
func thin(e *edited, n int) map[int]bool {
	type flow struct {
		src, dst netip.Addr
		qpn      uint32
	}
	type answers struct{ src, dst netip.Addr }
	covered := make(map[answers][]uint32)
	follows := make(map[flow]bool)
	count := make(map[flow]int)
	for i := range e.frames {
		if f := &e.frames[i]; f.request() {
			count[flow{f.pkt.Src.IP(), f.pkt.Dst.IP(), f.pkt.DestQP}]++
		}
	}
	gone := make(map[int]bool)
	for i := len(e.frames) - 1; i >= 0; i-- {
		f := &e.frames[i]
		switch {
		case f.answer():
			k := answers{f.pkt.Dst.IP(), f.pkt.Src.IP()}
			covered[k] = append(covered[k], f.pkt.PSN)
		case f.request():
			k := flow{f.pkt.Src.IP(), f.pkt.Dst.IP(), f.pkt.DestQP}
			count[k]--
			isCovered := slices.ContainsFunc(covered[answers{k.src, k.dst}], func(psn uint32) bool {
				return (psn-f.pkt.PSN)&0xffffff < 1024
			})
			if count[k]%n == n/2 && follows[k] && isCovered {
				gone[i] = true
			}
			follows[k] = true
		}
	}
	return gone
}

// TestReorderedIsNotLost: where the network only changed the order, nothing is
// lost, although receivers NAK it.
func TestReorderedIsNotLost(t *testing.T) {
	for _, name := range []string{"reorder_write", "reorder_ud"} {
		a := named(t, name)
		reordered := uint64(0)
		for _, d := range sides(a.res) {
			if d.lost() > 0 || d.ReadResponses.LostBeforeTap > 0 {
				t.Errorf("%s: %s -> %s lost %+v", name, endKey(d.from), d.toKey(), d.Lost)
			}
			reordered += d.Reordered
		}
		if reordered == 0 {
			t.Errorf("%s: nothing is reordered", name)
		}
	}
}

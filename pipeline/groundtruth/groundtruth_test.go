package groundtruth_test

import (
	"context"
	"net/netip"
	"path"
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
)

func TestGroundTruthRNR(t *testing.T)       { judge(t, rnrNaks) }
func TestGroundTruthNaks(t *testing.T)      { judge(t, sequenceNaks) }
func TestGroundTruthTries(t *testing.T)     { judge(t, tries) }
func TestGroundTruthCE(t *testing.T)        { judge(t, ceMarks) }
func TestGroundTruthLosses(t *testing.T)    { judge(t, lostBefore) }
func TestGroundTruthResponses(t *testing.T) { judge(t, responsesLost) }

// verdict is how a quantity of a capture compares.
type verdict struct {
	a         *analysed
	want, got tally
	exception *exception
	ok        bool
	complaint string
}

// compare holds a capture against the truth, exceptions included. What the
// tracker finds in excess of the truth is never right.
func compare(tb testing.TB, q quantity, a *analysed) verdict {
	v := verdict{a: a, want: q.want(tb, a), got: q.got(tb, a)}
	for i := range exceptions[q.name] {
		if e := &exceptions[q.name][i]; e.capture == a.name {
			v.exception = e
		}
	}
	equal := v.got.equal(v.want)
	switch {
	case v.exception == nil && !equal:
		v.complaint = "differs"
	case v.exception == nil:
		v.ok = true
	case equal:
		v.complaint = "agrees: the exception is no longer needed"
	case !v.got.within(v.want):
		v.complaint = "finds more than there was"
	case v.got.total() != v.exception.knowable:
		v.complaint = "does not find what can be known"
	default:
		v.ok = true
	}
	return v
}

func judge(t *testing.T, q quantity) {
	t.Helper()
	have := make(map[string]bool)
	for _, a := range all(t) {
		have[a.name] = true
		v := compare(t, q, a)
		if v.ok {
			continue
		}
		t.Errorf("%s: %s %s: truth %v, found %v", a.name, q.title, v.complaint, v.want, v.got)
	}
	if _, ok := capturetest.Shared(t); !ok {
		return // the exceptions are about the large collection
	}
	for _, e := range exceptions[q.name] {
		if !have[e.capture] {
			t.Errorf("exception for %s, which is no capture", e.capture)
		}
	}
}

// TestGroundTruthLossesAfter: packets lost behind the tap are found where a
// NAK names them, and none that was not lost. More cannot be found for sure: a
// receiver sends one NAK a gap.
func TestGroundTruthLossesAfter(t *testing.T) {
	for _, a := range all(t) {
		v := compareAfter(t, a)
		switch {
		case unlisted(a.name):
		case !v.found.within(v.limit):
			t.Errorf("%s: found more packets lost behind the tap than can have been: at most %v, found %v", a.name, v.limit, v.found)
		case !v.named.within(v.found):
			t.Errorf("%s: of the packets lost behind the tap NAKs name %v, found %v", a.name, v.named, v.found)
		}
	}
}

// behind is what is known and found of losses behind the tap, by the two
// hosts: where an atomic or a READ is simply asked again, nothing tells a lost
// request from a lost answer.
type behind struct {
	limit tally // dropped behind the tap, and answers dropped ahead of it that leave no gap
	named tally // requests of those that a NAK names
	found tally
}

func compareAfter(tb testing.TB, a *analysed) behind {
	v := behind{limit: make(tally), found: make(tally)}
	list := a.truth.after(tb)
	for _, d := range list {
		if d.class == classRequest || d.class == classResponse {
			v.limit.add(hosts(d.src, d.dst), 1)
		}
	}
	for _, d := range a.truth.before(tb) {
		if d.class == classResponse {
			v.limit.add(hosts(d.src, d.dst), 1)
		}
	}
	for _, d := range sides(a.res) {
		v.found.add(hosts(ip(d.from), ip(d.to)), int(d.Lost.AfterTap))
	}
	for _, d := range sides(a.res) {
		v.limit.add(hosts(ip(d.from), ip(d.to)), -int(d.ReadResponses.LostBeforeTap))
	}
	v.named = nakDrops(tb, a, list)
	return v
}

// hosts names two hosts, in either order.
func hosts(a, b netip.Addr) string { return min(host(a), host(b)) + "-" + max(host(a), host(b)) }

// unlisted says that packets were dropped behind the tap and that no list says
// which.
func unlisted(name string) bool {
	for _, p := range []string{"partition_*", "icmp_unreachable_reject", "qp_destroyed_early", "link_flap"} {
		if ok, _ := path.Match(p, name); ok {
			return true
		}
	}
	return false
}

// nakDrops counts, by hosts, the sequence NAKs that name a request which the
// tap saw and which was dropped behind it. Copies of a NAK by a mirror are one.
func nakDrops(tb testing.TB, a *analysed, list []drop) tally {
	tb.Helper()
	sum := make(tally)
	type packet struct {
		src, dst netip.Addr
		psn      uint32
	}
	dropped := make(map[packet]int)
	for _, d := range list {
		if d.class == classRequest {
			dropped[packet{d.src, d.dst, d.psn}]++
		}
	}
	if len(dropped) == 0 {
		return sum
	}
	type copyOf struct {
		packet
		id uint16
	}
	seen := make(map[packet]bool)
	naks := make(map[copyOf]bool)
	eachPacket(tb, a.path, func(p *decode.Packet) {
		if p.Has&decode.HasBTH == 0 {
			return
		}
		src, dst := p.Src.IP().Unmap(), p.Dst.IP().Unmap()
		if p.Has&decode.HasAETH == 0 {
			seen[packet{src, dst, p.PSN}] = true
			return
		}
		k := packet{dst, src, p.PSN}
		if p.Syndrome.Type() != decode.Nak || p.Syndrome.Code() != decode.NakSequence || dropped[k] == 0 || !seen[k] {
			return
		}
		if c := (copyOf{k, p.IPID}); p.IPID == 0 || !naks[c] {
			naks[c] = true
			dropped[k]--
			sum.add(hosts(src, dst), 1)
		}
	})
	return sum
}

// eachPacket decodes the frames of a capture.
func eachPacket(tb testing.TB, path string, do func(*decode.Packet)) {
	tb.Helper()
	f, err := capture.Open(path, capture.DefaultConfig())
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	dec := decode.New(decode.Config{})
	var p decode.Packet
	err = pipeline.EachBatch(context.Background(), f, func(b *capture.Batch) error {
		for i := range b.Frames {
			dec.Decode(&b.Frames[i], &p)
			do(&p)
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
}

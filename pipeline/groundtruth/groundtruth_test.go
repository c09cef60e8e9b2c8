package groundtruth_test

import (
	"context"
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
		list := a.truth.after(t)
		limit := countDrops(list, classRequest, classResponse)
		named := nakDrops(t, a, list)
		got := make(tally)
		for _, d := range sides(a.res) {
			got.add(d.toKey(), int(d.Lost.AfterTap))
		}
		switch {
		case unlisted(a.name):
		case !got.within(limit):
			t.Errorf("%s: found more packets lost behind the tap than were: truth %v, found %v", a.name, limit, got)
		case !named.within(got):
			t.Errorf("%s: of the packets lost behind the tap NAKs name %v, found %v", a.name, named, got)
		}
	}
}

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

// nakDrops counts, by the QP that the dropped request went to, the sequence
// NAKs that name it. Copies of a NAK by a mirror are one.
func nakDrops(t *testing.T, a *analysed, list []drop) tally {
	t.Helper()
	sum := make(tally)
	if len(list) == 0 {
		return sum
	}
	type packet struct {
		src, dst string
		psn      uint32
	}
	open := make(map[packet][]drop)
	for _, d := range list {
		if d.class == classRequest {
			k := packet{d.src.String(), d.dst.String(), d.psn}
			open[k] = append(open[k], d)
		}
	}
	type copyOf struct {
		packet
		id uint16
	}
	seen := make(map[copyOf]bool)
	eachPacket(t, a.path, func(p *decode.Packet) {
		if p.Has&decode.HasAETH == 0 || p.Syndrome.Type() != decode.Nak || p.Syndrome.Code() != decode.NakSequence {
			return
		}
		k := packet{p.Dst.IP().Unmap().String(), p.Src.IP().Unmap().String(), p.PSN}
		c := copyOf{k, p.IPID}
		if seen[c] && p.IPID != 0 || len(open[k]) == 0 {
			return
		}
		seen[c] = true
		sum.add(open[k][0].key(), 1)
		open[k] = open[k][1:]
	})
	return sum
}

// eachPacket decodes the frames of a capture.
func eachPacket(t *testing.T, path string, do func(*decode.Packet)) {
	t.Helper()
	f, err := capture.Open(path, capture.DefaultConfig())
	if err != nil {
		t.Fatal(err)
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
		t.Fatal(err)
	}
}

package finding

import (
	"iter"
	"math"
	"strconv"

	"github.com/rocelens/rocelens/pipeline/record"
)

// sampling is what is known of a capture that holds a part of the packets only.
type sampling struct {
	most bool    // nearly all streams are so
	held float64 // share of the packets that the capture holds, 0 where that can't be told
}

const (
	// minSampled is how many packets it takes to tell a sample, and
	// minSampledLone how many of a stream among others that are whole.
	minSampled     = 8
	minSampledLone = 64
)

// seen is how many requests of a stream, and READ responses to them, the tap
// saw for the first time, how many came right behind others that it never saw,
// and how many those are, without what came late or was sent again.
func (st *stream) seen() (first, gaps, missing uint64) {
	if st.s.Service == record.UD || st.s.Service == record.RD { // whose PSNs go to several receivers
		return 0, 0, 0
	}
	d, r := st.req, &st.resp.ReadResponses
	again := d.Retransmitted.Packets + r.Retransmitted
	first = st.requests() + r.Packets
	missing = d.Jumped
	return first - min(first, again), d.Gaps, missing - min(missing, d.Retransmitted.Fills+r.Retransmitted+d.Reordered+d.Undecided)
}

// sample says whether so many of a stream's packets were never seen, in gaps all
// over, that the capture holds a part of them by its making: one in five is
// missing and never came, and one in ten comes behind a gap. The network loses
// far less before nothing works any more, and what it loses is sent again; and
// of a mirror that loses as much nothing more can be said. Where nothing is ever
// sent again it takes half of the packets. Where so much is sent again that
// little is missing in the end, one in four has to come behind a gap, and some
// must be acknowledged that never came.
func (st *stream) sample() (first, gaps, missing uint64, is bool) {
	first, gaps, missing = st.seen()
	if first < 2 {
		return first, gaps, missing, false
	}
	if !st.reliable() {
		return first, gaps, missing, 10*gaps >= first-1 && missing >= first
	}
	often := 4*(gaps-min(gaps, st.req.Reordered+st.req.Undecided)) >= first-1 && st.req.Lost.Capture >= 2 && 32*st.req.Lost.Capture >= first
	return first, gaps, missing, often || 10*gaps >= first-1 && missing > 0 && 4*missing >= first
}

// lone says so of a stream of which nothing else is known: one in three is
// missing, and one in five comes behind a gap.
func (st *stream) lone() bool {
	first, gaps, missing, is := st.sample()
	return is && first >= minSampledLone && 5*gaps >= first && 2*missing >= first
}

// partly says whether the capture holds a part of a stream's packets.
func (f *Facts) partly(st *stream) bool { return f.sampling.most || st.lone() }

// whole are the streams that are, for all that is known, in the capture as a
// whole: of the others losses, repetitions and times can't be judged.
func (f *Facts) whole() iter.Seq[stream] {
	return func(yield func(stream) bool) {
		for st := range f.streams() {
			if !f.partly(&st) && !yield(st) {
				return
			}
		}
	}
}

// wholeStream is the stream of an event, if it is such a one.
func (f *Facts) wholeStream(e *record.Event) (stream, bool) {
	st, ok := f.stream(e)
	return st, ok && !f.partly(&st)
}

// sampled looks whether nearly all streams are in the capture partly.
func (f *Facts) sampled() sampling {
	some := uint64(0)
	for st := range f.streams() {
		if first, _, _, is := st.sample(); is {
			some += first
		}
	}
	if some < minSampled {
		return sampling{}
	}
	var packets, gaps, in, held, all, streams uint64
	for s := range f.Sessions.All() {
		for i, d := range [2][2]*record.Direction{{&s.AToB, &s.BToA}, {&s.BToA, &s.AToB}} {
			st := stream{s: s, index: uint8(i), req: d[0], resp: d[1], Marks: &noMarks}
			first, g, _, is := st.sample()
			if first < 2 {
				continue
			}
			streams++
			packets, gaps = packets+first, gaps+g
			if is {
				in += first
			}
			if m := &d[0].Messages; m.Sent[record.Read] == 0 && d[1].ReadResponses.Packets == 0 { // a READ's PSNs are its responses'
				held += first
				all += first + d[0].Jumped - min(d[0].Jumped, d[0].Reordered+d[0].Undecided)
			}
		}
	}
	if gaps < minSampled/2 || 10*(gaps+streams) < packets || 4*in < 3*packets {
		return sampling{}
	}
	out := sampling{most: true}
	if held >= minSampled {
		out.held = share(held, all)
	}
	return out
}

// sampledCapture says that the capture holds a part of the packets only.
func sampledCapture(f *Facts) []record.Finding {
	var h hits
	var first, gaps, missing uint64
	for st := range f.streams() {
		n, g, m, is := st.sample()
		if !is || !f.partly(&st) {
			continue
		}
		h.add(st, n, count(n)+" of "+count(n+m)+" seen", record.Evidence{{Key: "packets", Value: n}, {Key: "behind_gaps", Value: g}, {Key: "missing", Value: m}}, record.KindCaptureLoss)
		first, gaps, missing = first+n, gaps+g, missing+m
	}
	if len(h) == 0 {
		return nil
	}
	h.sort()
	more := record.Evidence{{Key: "packets", Value: first}, {Key: "behind_gaps", Value: gaps}, {Key: "missing", Value: missing}}
	title := "This capture holds a part of the packets only"
	if held := f.sampling.held; held > 0 {
		n := math.Round(1 / held)
		title = "This capture holds about " + percent(uint64(math.Round(held*1e6)), 1e6) + " of the packets"
		if n >= 3 {
			title = "This capture holds about one packet in " + strconv.FormatFloat(n, 'f', 0, 64)
		}
		more = append(more, record.Fact{Key: "share", Value: held})
	}
	whose := "this capture"
	if !f.sampling.most {
		title = "This capture holds a part of the packets only of " + h.between()
		whose = "these sessions"
	}
	title += ": losses, retransmissions and latencies can't be judged from it"
	detail := count(gaps) + " of " + plural(first, "packet") + " come right behind others that this tap had never seen, and most of these came neither later nor again: a mirror that samples or is far too slow, " +
		"or a tap on one of several paths." + f.mirrorSays() + h.worst() + " No loss, retransmission, silence or timeout of " + whose + " is reported as a finding; the figures of sessions say what was seen, which is not " +
		"what happened. Rates and shares of traffic can be scaled up. Mirror every packet, of fewer ports if need be."
	return h.finding(record.Warning, "sampled-capture", title, detail, more)
}

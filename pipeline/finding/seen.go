package finding

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rocelens/rocelens/pipeline/record"
)

// figure collects the streams that have some of one figure.
func (f *Facts) figure(of func(*stream) uint64, noun string, kinds ...record.EventKind) (h hits) {
	for st := range f.whole() {
		if n := of(&st); n > 0 {
			h.add(st, n, plural(n, noun), record.Evidence{{Key: noun + "s", Value: n}}, kinds...)
		}
	}
	h.sort()
	return h
}

// captureLoss says what the mirror lost.
func captureLoss(f *Facts) []record.Finding {
	h := f.figure(func(st *stream) uint64 { return st.req.Lost.Capture }, "packet", record.KindCaptureLoss)
	if len(h) == 0 {
		return nil
	}
	n := h.sum()
	say, more := f.proof()
	return h.finding(record.Info, "capture-loss",
		plural(n, "packet")+isAre(n, " is", " are")+" missing from the capture, and not lost by the network ("+h.between()+")",
		"The receiver acknowledged them, and nobody sent them again: the mirror, or whoever captured, lost them."+say+" Figures of this report are too low by so much."+h.worst()+
			" Mirror fewer ports, or to a faster one; a sampling mirror can't be used to find losses.",
		append(record.Evidence{{Key: "packets", Value: n}}, more...))
}

// reordering says what came late, and whether that did harm.
func reordering(f *Facts) []record.Finding {
	h := f.figure(func(st *stream) uint64 { return st.req.Reordered }, "packet", record.KindReorder)
	if len(h) == 0 {
		return nil
	}
	var harm uint64
	for i := range h {
		if d := h[i].req; d.Lost.BeforeTap+d.Lost.AfterTap == 0 {
			harm += d.Tries[record.CauseNak]
		}
	}
	n := h.sum()
	title := plural(n, "packet") + " came late, overtaken by others (" + h.between() + ")"
	more := record.Evidence{{Key: "packets", Value: n}, {Key: "tries", Value: harm}}
	if harm > 0 {
		return h.finding(record.Warning, "reordering", title+", and were sent again for it "+times(harm),
			"Nothing was lost: the receiver takes packets in order alone, and sends a NAK for each one that comes late."+h.worst()+" Keep a QP's packets on one path (no packet spraying, no adaptive "+
				"routing, no bond that spreads packets) or let the receivers take them out of order.", more)
	}
	return h.finding(record.Info, "reordering", title,
		"Nothing was lost or sent again for it: the receivers take packets out of order, as they must with adaptive routing."+h.worst(), more)
}

// undecided says what can't be told.
func undecided(f *Facts) []record.Finding {
	h := f.figure(func(st *stream) uint64 { return st.req.Undecided }, "packet", record.KindUndecided)
	if len(h) == 0 {
		return nil
	}
	n := h.sum()
	return h.finding(record.Info, "undecided",
		plural(n, "packet")+" out of order or there twice, and it can't be told whether sent again ("+h.between()+")",
		"Without IP IDs that rise (IPv6, or a sender that leaves them constant) a packet that comes late, or that a mirror or the network has doubled, looks like one that was sent again. They are counted neither as loss nor as retransmissions."+h.worst(),
		record.Evidence{{Key: "packets", Value: n}})
}

// minSilence is how long a silence has to be to be worth a finding, in ns, and
// longSilence how many times as long as almost all answers take.
const (
	minSilence  = int64(10_000_000)
	longSilence = int64(10)
)

// silence says where a stream stopped, and nothing tells why.
func silence(f *Facts) []record.Finding {
	var h hits
	var lasted int64
	var n uint64
	at := make(map[streamKey]int) // in h
	for i := range f.Signs {
		e := &f.Signs[i]
		d, ok := e.Detail.(record.Silence)
		if !ok || d.Lasted < minSilence || f.behind.events[i] {
			continue
		}
		st, ok := f.wholeStream(e)
		if !ok || d.Lasted < st.s.AckTimeout[st.index] || d.Lasted < longSilence*st.req.AckLatency.Quantile(0.99) {
			continue
		}
		lasted, n = lasted+d.Lasted, n+1
		k, seen := at[streamKey{e.Session, e.Stream}]
		if !seen {
			k = len(h)
			at[streamKey{e.Session, e.Stream}] = k
			h = append(h, hit{stream: st, first: e.Frame, has: true, more: record.Evidence{{Key: "lasted_ns", Value: int64(0)}, {Key: "silences", Value: uint64(0)}}})
		}
		x := &h[k]
		x.n += uint64(d.Lasted)
		times := x.more.Get("silences").(uint64) + 1
		x.more[0].Value, x.more[1].Value = int64(x.n), times
		x.say = duration(int64(x.n))
	}
	if len(h) == 0 {
		return nil
	}
	h.sort()
	title := h[0].name() + " stood still " + times(n) + " in the middle of its traffic, for " + duration(lasted) + " in all, and nothing here tells why"
	if len(h) > 1 {
		title = plural(uint64(len(h)), "stream") + " stood still " + times(n) + " in the middle of their traffic, for " + duration(lasted) + " in all, and nothing here tells why"
	}
	return h.finding(record.Info, "silence", title,
		"Nothing was sent again here after it. A packet that was lost before this tap, the last one sent, and came once when it was sent again, looks like this; so does a sender "+
			"that was busy, or paused."+h.worst()+" Compare with the QP's ACK timeout: as long as that, it was a loss.",
		record.Evidence{{Key: "silences", Value: n}, {Key: "lasted_ns", Value: lasted}})
}

// protocolError says which rules were broken.
func protocolError(f *Facts) []record.Finding {
	var rules []record.BrokenRule
	var h hits
	for i := range f.Signs {
		e := &f.Signs[i]
		d, ok := e.Detail.(record.ProtocolError)
		if !ok {
			continue
		}
		st, ok := f.wholeStream(e)
		if !ok {
			continue
		}
		n := max(e.Count, 1)
		say := d.Rule
		if d.Got != "" || d.Want != "" {
			say += ": " + d.Got + " instead of " + d.Want
		}
		h = append(h, hit{
			stream: st, n: n, say: say, first: e.Frame, has: true,
			more: record.Evidence{{Key: "rule", Value: d.Rule}, {Key: "got", Value: d.Got}, {Key: "want", Value: d.Want}, {Key: "psn", Value: uint64(d.PSN)}, {Key: "frame", Value: e.Frame}},
		})
		if !slices.ContainsFunc(rules, func(b record.BrokenRule) bool { return b.Rule == d.Rule }) {
			rules = append(rules, record.BrokenRule{Rule: d.Rule})
		}
	}
	if len(h) == 0 {
		return nil
	}
	var n uint64
	for st := range f.whole() {
		for _, b := range st.Broken {
			n += b.N
			if at := slices.IndexFunc(rules, func(r record.BrokenRule) bool { return r.Rule == b.Rule }); at >= 0 {
				rules[at].N += b.N
			} else {
				rules = append(rules, b)
			}
		}
	}
	slices.SortStableFunc(rules, func(a, b record.BrokenRule) int { return cmp.Compare(b.N, a.N) })
	var names []string
	list := []record.Evidence{}
	for i, r := range rules {
		names = append(names, r.Rule+" ("+count(r.N)+")")
		if i < maxListed {
			list = append(list, record.Evidence{{Key: "rule", Value: r.Rule}, {Key: "packets", Value: r.N}})
		}
	}
	return h.finding(record.Warning, "protocol-error",
		"The rules of the transport were broken "+times(n)+": "+listed(names),
		strings.TrimSpace(h.each())+" This is for whoever builds the NIC or writes its driver or firmware: each event has the packet's PSN, and what the rule asks for.",
		record.Evidence{{Key: "packets", Value: n}, {Key: "rules", Value: list}})
}

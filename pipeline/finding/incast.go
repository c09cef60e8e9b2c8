package finding

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rocelens/rocelens/pipeline/record"
)

const (
	// minIncast is how many hosts have to send to one at the same time.
	minIncast = 2
	// minIncastPackets is how many packets each of them sends at least.
	minIncastPackets = 32
	// leastPart is which part of what the busiest one sends makes another one count.
	leastPart = 8
	// muchMarked is the share of marked packets from which marks alone are worth a
	// warning.
	muchMarked = 0.1
)

// receiver is a host that gets data, with those who send it.
type receiver struct {
	end     record.Endpoint
	vni     uint32
	senders []*sender
	most    uint64 // payload of one of them
}

// sender is what one host sends to another, in all its sessions.
type sender struct {
	end         record.Endpoint
	first, last int64
	packets     uint64
	payload     uint64
	lost        uint64
	rnr         uint64
	marked      uint64
	timeouts    uint64
	firstFrame  record.FrameRef
	sessions    []int
}

// one01 is 1 where there is any.
func one01(n uint64) int { return int(min(n, 1)) }

// receive notes the data that a stream's requester sent.
func (v *survey) receive(receivers map[pairKey]*receiver, st *stream, index int) {
	d := st.req
	k := pairKey{a: st.to().Addr, kind: st.to().Kind, vni: st.s.VNI}
	r := receivers[k]
	if r == nil {
		r = &receiver{end: *st.to(), vni: st.s.VNI}
		receivers[k] = r
		v.receivers = append(v.receivers, r)
	}
	var s *sender
	for _, x := range r.senders {
		if x.end.Addr == st.from().Addr {
			s = x
		}
	}
	if s == nil {
		if len(r.senders) == maxSenders {
			return
		}
		s = &sender{end: *st.from(), first: d.First, last: d.Last, firstFrame: st.s.First}
		r.senders = append(r.senders, s)
	}
	s.first, s.last = min(s.first, d.First), max(s.last, d.Last)
	s.packets += d.Packets
	s.payload += d.PayloadBytes
	r.most = max(r.most, s.payload)
	lost := d.Lost.BeforeTap + d.Lost.AfterTap + d.ReadResponses.LostBeforeTap
	if !st.reliable() {
		lost = 0 // what is missing may have gone elsewhere, or be the mirror's
	}
	s.lost += lost
	s.rnr += st.resp.RNRNaks
	s.marked += d.ECN[3]
	if st.resp.ReadResponses.Packets == 0 { // else it may be the answers to READs that it waited for
		s.timeouts += d.Tries[record.CauseTimeout]
	}
	if lost > 0 {
		v.losses[s.end.Addr] += lost
	}
	if len(s.sessions) < maxSessions {
		s.sessions = append(s.sessions, index)
	}
}

// maxSenders bounds the senders to one host that are told apart.
const maxSenders = 256

// counts says whether a sender makes some part of the traffic to r.
func (r *receiver) counts(s *sender) bool {
	return s.packets >= minIncastPackets && s.last > s.first && leastPart*s.payload >= r.most
}

// crowd are the senders at the time when most of them sent, and that time.
func (r *receiver) crowd() (all []*sender, from, to int64) {
	type edge struct {
		time  int64
		begin bool
	}
	var edges []edge
	for _, s := range r.senders {
		if r.counts(s) {
			edges = append(edges, edge{s.first, true}, edge{s.last, false})
		}
	}
	// What ends at a time does so before something else begins.
	slices.SortFunc(edges, func(a, b edge) int {
		if a.time == b.time && a.begin != b.begin {
			if b.begin {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.time, b.time)
	})
	n, most := 0, 0
	for i, e := range edges {
		if !e.begin {
			n--
			continue
		}
		if n++; n > most {
			most, from, to = n, e.time, edges[i+1].time // an end follows
		}
	}
	for _, s := range r.senders {
		if r.counts(s) && s.first <= from && s.last >= to {
			all = append(all, s)
		}
	}
	return all, from, to
}

// others are those who sent at other times.
func (r *receiver) others(crowd []*sender) []string {
	names := []string{}
	for _, s := range r.senders {
		if r.counts(s) && !slices.Contains(crowd, s) {
			names = append(names, host(&s.end))
		}
	}
	return names
}

// crowded is a host to which several sent at the same time, and for which that
// did not go well.
type crowded struct {
	r        *receiver
	senders  []*sender
	from, to int64
	sum      sender
	warn     bool
}

// crowds are those hosts, the worst first.
func (f *Facts) crowds() []crowded {
	if f.survey == nil {
		return nil
	}
	var all []crowded
	for _, r := range f.survey.receivers {
		if len(r.senders) < minIncast || f.sampling.most {
			continue
		}
		senders, from, to := r.crowd()
		if len(senders) < minIncast {
			continue
		}
		x := crowded{r: r, senders: senders, from: from, to: to}
		troubled, marked, late, elsewhere := 0, 0, 0, 0
		for _, s := range senders {
			x.sum.packets += s.packets
			x.sum.lost += s.lost
			x.sum.rnr += s.rnr
			x.sum.marked += s.marked
			x.sum.timeouts += s.timeouts
			if all := f.survey.losses[s.end.Addr]; s.lost > 0 && 4*s.lost < 3*all {
				elsewhere++ // it loses as well what it sends to others
			} else {
				troubled += one01(s.lost + s.rnr)
			}
			marked += one01(s.marked)
			late += one01(s.timeouts)
		}
		if elsewhere > troubled || troubled == 0 && marked < 2 && late < 2 {
			continue
		}
		x.warn = troubled >= 2 || late >= 2 || marked >= 2 && float64(x.sum.marked) >= muchMarked*float64(x.sum.packets)
		all = append(all, x)
	}
	slices.SortStableFunc(all, func(a, b crowded) int {
		return cmp.Or(cmp.Compare(b.sum.lost+b.sum.rnr, a.sum.lost+a.sum.rnr), cmp.Compare(b.sum.marked, a.sum.marked), cmp.Compare(b.sum.timeouts, a.sum.timeouts))
	})
	return all
}

// incast says to whom several hosts sent at the same time, and that it did not
// go well.
func incast(f *Facts) []record.Finding {
	all := f.crowds()
	if len(all) == 0 {
		return nil
	}
	severity := record.Info
	list := []record.Evidence{}
	var ids []string
	first := all[0].senders[0].firstFrame
	for i := range all {
		x := &all[i]
		if x.warn {
			severity = record.Warning
		}
		for _, s := range x.senders {
			if s.firstFrame.Before(first) {
				first = s.firstFrame
			}
		}
		if i >= maxListed {
			continue
		}
		names := []string{}
		for _, s := range x.senders {
			names = append(names, host(&s.end))
			for _, at := range s.sessions {
				if len(ids) < maxSessions {
					ids = append(ids, f.Sessions.At(at).ID)
				}
			}
		}
		list = append(list, record.Evidence{
			{Key: "receiver", Value: host(&x.r.end)}, {Key: "senders", Value: names}, {Key: "others", Value: x.r.others(x.senders)}, {Key: "lasted_ns", Value: x.to - x.from}, {Key: "packets", Value: x.sum.packets},
			{Key: "lost", Value: x.sum.lost}, {Key: "rnr_naks", Value: x.sum.rnr}, {Key: "marked", Value: x.sum.marked}, {Key: "timeouts", Value: x.sum.timeouts},
		})
	}
	x := &all[0]
	var names []string
	for _, s := range x.senders {
		names = append(names, host(&s.end))
	}
	title := plural(uint64(len(x.senders)), "host") + " sent to " + host(&x.r.end) + " at the same time, and " + x.sum.say()
	detail := "They are " + listed(names) + ", for " + duration(x.to-x.from) + " together."
	if others := x.r.others(x.senders); len(others) > 0 {
		detail += " At other times " + listed(others) + " sent to it too."
	}
	if n := len(all) - 1; n > 0 {
		var more []string
		for i := range all[1:] {
			more = append(more, host(&all[1+i].r.end)+" ("+plural(uint64(len(all[1+i].senders)), "host")+")")
		}
		detail += " The same holds for " + listed(more) + "."
	}
	if x.sum.lost+x.sum.rnr+x.sum.marked == 0 {
		detail += " No packet is seen to be lost: answers took longer than the timers, as they do where queues are deep."
	}
	if severity == record.Info {
		detail += " One of them alone had trouble, or few packets were marked: it may be that one's own path, and not that there were several."
	}
	return one(record.Finding{
		Severity: severity, Code: "incast", Title: title,
		Detail: detail + f.together(&x.r.end) + " Look at the queue of the switch port towards the receiver, at its ECN thresholds, and whether " +
			"the application can stagger its senders.",
		Sessions: ids, Evidence: record.Evidence{{Key: "receivers", Value: uint64(len(all))}, {Key: "worst", Value: list}, {Key: "first", Value: first}},
	})
}

// say is "12 packets were lost and 3 marked".
func (s *sender) say() string {
	var parts []string
	if s.lost > 0 {
		parts = append(parts, plural(s.lost, "packet")+" "+isAre(s.lost, "was", "were")+" lost")
	}
	if s.rnr > 0 {
		parts = append(parts, plural(s.rnr, "RNR NAK")+" came back")
	}
	if s.marked > 0 {
		parts = append(parts, plural(s.marked, "packet")+" "+isAre(s.marked, "was", "were")+" marked for congestion")
	}
	if s.timeouts > 0 {
		parts = append(parts, "ACK timers ran out "+times(s.timeouts))
	}
	if n := len(parts); n > 1 {
		return strings.Join(parts[:n-1], ", ") + " and " + parts[n-1]
	}
	return parts[0]
}

package finding

import (
	"github.com/rocelens/rocelens/pipeline/pause"
	"github.com/rocelens/rocelens/pipeline/record"
)

// What it takes to say that a stream stood still because it was paused: it sent
// right up to pauses and went on right after them, and waited for so long that
// it would have sent some packets, at its pace, and sent less than half of
// them.
const (
	minWaited        = int64(100_000)    // ns
	longWaited       = int64(10_000_000) // ns, in which case a pause or two will do
	minWaits         = 3
	minVictimPackets = 8
	muchWaited       = 0.1 // of its time, to warn
)

// victim is a direction of a session that had to wait.
type victim struct {
	row    *pause.Row
	paused int64   // ns, while it lived
	waited int64   // ns
	life   int64   // ns
	pace   float64 // bytes a nanosecond, while it was not paused
	slow   float64 // while it was
}

// pauseVictims says which sessions stood still while they were paused.
func pauseVictims(f *Facts) []record.Finding {
	if len(f.Pause.Traffic) == 0 {
		return nil
	}
	// A flow of several sessions (other lives of the QPN, other senders of
	// datagrams) is nobody's in particular.
	type owned struct {
		s       *record.Session
		index   uint8
		n       int
		traffic []*pause.Traffic
	}
	owners := make(map[pause.Flow]*owned)
	var order []*owned
	for s := range f.Sessions.All() {
		for index := range 2 {
			k, ok := pause.FlowOf(s, index)
			traffic := f.Pause.TrafficOf(k)
			if !ok || len(traffic) == 0 {
				continue
			}
			if o := owners[k]; o != nil {
				o.n++
				continue
			}
			one := *s
			o := &owned{&one, uint8(index), 1, traffic}
			owners[k] = o
			order = append(order, o)
		}
	}
	var h hits
	var worst float64
	rows := make(map[*record.Session]*pause.Row)
	for _, o := range order {
		if o.n > 1 || !f.about(o.s) {
			continue
		}
		st := stream{s: o.s, index: o.index, req: &o.s.AToB, resp: &o.s.BToA, Marks: &noMarks}
		if o.index == 1 {
			st.req, st.resp = st.resp, st.req
		}
		var v victim
		for _, x := range o.traffic {
			if w, ok := f.victim(x, st.req); ok && w.waited > v.waited {
				v = w
			}
		}
		if v.row == nil {
			continue
		}
		rows[o.s] = v.row
		worst = max(worst, float64(v.waited)/float64(v.life))
		const bits = 8e9
		h = append(h, hit{
			stream: st, n: uint64(v.waited), say: duration(v.waited) + ", " + timeShare(v.waited, v.life) + " of its time", first: v.row.First, has: true,
			more: append(record.Evidence{
				{Key: "waited_ns", Value: v.waited}, {Key: "paused_ns", Value: v.paused}, {Key: "rate", Value: uint64(v.pace * bits)}, {Key: "rate_paused", Value: uint64(v.slow * bits)},
			}, f.rowEvidence(v.row)...),
		})
	}
	if len(h) == 0 {
		return nil
	}
	h.sort()
	severity := record.Info
	if worst >= muchWaited {
		severity = record.Warning
	}
	row := rows[h[0].s]
	who := "It"
	title := h[0].name() + " waited for " + h[0].say + ", because it was paused"
	if len(h) > 1 {
		who = "The worst one"
		title = plural(uint64(len(h)), "stream") + " waited because they were paused, the longest for " + h[0].say
	}
	return h.finding(severity, "pause-victims", title,
		who+" sent less than half as much as otherwise while "+row.MAC.String()+" paused "+priority(row)+" at "+f.place(&row.Pauser)+"."+h.worst()+
			" Nothing need be lost for it: latencies rise, and timers may run out. The cause is where the pause comes from, or behind that, and not these sessions.",
		record.Evidence{{Key: "waited_ns", Value: int64(h[0].n)}})
}

// victim says how long a direction waited for a row, and whether that is worth
// telling.
func (f *Facts) victim(x *pause.Traffic, d *record.Direction) (v victim, ok bool) {
	r := &f.Pause.Rows[x.Row]
	v = victim{row: r, paused: x.Paused, waited: x.Waited, life: d.Last - d.First}
	waits := x.Waits
	switch {
	case d.First >= r.First.Time:
		v.paused -= x.PausedBefore
	case x.Opening > 0: // it had sent before all that, and came to send again
		v.waited += x.Opening
		waits++
	}
	if x.Stopped { // it never came to send again
		v.paused += r.Paused - x.Paused
		v.life += f.Last - d.Last
	}
	if v.waited < minWaited || waits < minWaits && v.waited < longWaited {
		return v, false
	}
	free, sent := v.life-v.paused, int64(d.WireBytes)-int64(x.Bytes)
	if v.paused <= 0 || free <= 0 || sent <= 0 || d.Packets == 0 {
		return v, false
	}
	v.pace, v.slow = float64(sent)/float64(free), float64(x.Bytes)/float64(v.paused)
	enough := minVictimPackets * float64(d.WireBytes) / float64(d.Packets)
	return v, v.pace*float64(v.waited) >= enough && 2*v.slow < v.pace
}

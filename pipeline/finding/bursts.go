package finding

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
)

// A burst is worth telling where the rate in a window is so many times that of
// the time with traffic, in so many packets.
const (
	burstTimes   = 4
	burstPackets = 16
)

// burst is a receiver and the window that stands out most.
type burst struct {
	r     *pipeline.Receiver
	peak  *pipeline.Peak
	times float64 // the mean rate
	sum   sender
}

// receiverOf is what went to a host, at the interface where most of it was
// captured; nil where it is not among those that are told apart.
func (f *Facts) receiverOf(end *record.Endpoint) *pipeline.Receiver {
	for i := range f.Receivers { // with most bytes first
		if r := &f.Receivers[i]; r.Addr == end.Addr && r.Kind == end.Kind {
			return r
		}
	}
	return nil
}

// together says whether hosts sent to one within the same burst.
func (f *Facts) together(end *record.Endpoint) string {
	r := f.receiverOf(end)
	if r == nil {
		return " Whether they sent within one burst does not show: it is their times that overlap."
	}
	p := &r.Peaks[len(r.Peaks)-1]
	if p.Senders < 2 {
		return " In the " + duration(p.Width) + " in which most came, one host alone sent: it is their times that overlap, and not their bursts."
	}
	return " In the " + duration(p.Width) + " in which most came, at least " + plural(uint64(p.Senders), "host") + " sent, " + bitRate(p.Rate()) + " together."
}

// activeRate is the mean rate while there is traffic, in bits a second, of one
// that lasts for less than the longest windows too.
func activeRate(r *pipeline.Receiver) float64 {
	shortest, longest := r.Peaks[0].Width, &r.Peaks[len(r.Peaks)-1]
	lasted := max(min(longest.Width*int64(longest.Windows), r.Last-r.First), shortest)
	return 8e9 * float64(r.Bytes) / float64(lasted)
}

// microbursts says to whom traffic comes in bursts where it does not go well
// with it: packets are lost or marked on the way, or answers take longer than
// timers. Where one sender alone loses packets it may be its own path.
func microbursts(f *Facts) []record.Finding {
	if f.sampling.most {
		return nil
	}
	var all []burst
	for _, to := range f.survey.receivers {
		b, harmed := burst{}, 0
		for _, s := range to.senders {
			b.sum.lost += s.lost
			b.sum.marked += s.marked
			b.sum.timeouts += s.timeouts
			harmed += one01(s.lost + s.timeouts)
		}
		if b.sum.marked == 0 && harmed < 2 { // it may be one sender's own path
			continue
		}
		if b.r = f.receiverOf(&to.end); b.r == nil {
			continue
		}
		mean := activeRate(b.r)
		for i := range b.r.Peaks[:len(b.r.Peaks)-1] {
			p := &b.r.Peaks[i]
			if b.peak != nil && p.Rate() <= b.peak.Rate() {
				continue
			}
			if p.Packets >= burstPackets && p.Rate() >= burstTimes*mean {
				b.peak, b.times = p, p.Rate()/mean
			}
		}
		if b.peak != nil {
			all = append(all, b)
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b burst) int {
		return cmp.Or(cmp.Compare(b.sum.lost, a.sum.lost), cmp.Compare(b.sum.marked, a.sum.marked), cmp.Compare(b.sum.timeouts, a.sum.timeouts))
	})
	list := []record.Evidence{}
	for i := range all[:min(len(all), maxListed)] {
		b := &all[i]
		list = append(list, record.Evidence{
			{Key: "receiver", Value: string(b.r.Addr.Append(nil, b.r.Kind))}, {Key: "mean_bps", Value: uint64(activeRate(b.r))}, {Key: "window_ns", Value: b.peak.Width},
			{Key: "rate_bps", Value: uint64(b.peak.Rate())}, {Key: "packets", Value: b.peak.Packets}, {Key: "senders", Value: uint64(b.peak.Senders)}, {Key: "start", Value: b.peak.Start},
			{Key: "lost", Value: b.sum.lost}, {Key: "marked", Value: b.sum.marked}, {Key: "timeouts", Value: b.sum.timeouts},
		})
	}
	b := &all[0]
	who := string(b.r.Addr.Append(nil, b.r.Kind))
	title := "Traffic to " + who + " comes in bursts: within " + time.Duration(b.peak.Width).String() + " at up to " + bitRate(b.peak.Rate()) + ", " +
		strconv.FormatFloat(b.times, 'f', 0, 64) + " times the rate while there is any"
	detail := "On the way there " + b.sum.say() + ", and averages over a second do not show why: queues can fill within such a burst."
	if b.peak.Senders > 1 {
		detail += " At least " + plural(uint64(b.peak.Senders), "host") + " sent in that window."
	} else {
		detail += " One host sent all of that."
	}
	if n := len(all) - 1; n > 0 {
		detail += " The same holds for " + plural(uint64(n), "other receiver") + "."
	}
	detail += " That the bursts are what fills the queues is not shown by this capture, and behind the queue that marks or drops they tell nothing of it; time stamps that a host's software makes can show bursts that were none on the wire. " +
		"Compare with the buffer and the ECN thresholds of the port towards the receiver; smaller messages, fewer of them outstanding, or a rate limit at the senders flatten bursts."
	return one(record.Finding{
		Severity: record.Info, Code: "microbursts", Title: title, Detail: detail,
		Evidence: record.Evidence{{Key: "receivers", Value: uint64(len(all))}, {Key: "worst", Value: list}},
	})
}

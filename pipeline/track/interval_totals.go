package track

import (
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/sketch"
)

// interval is what is known of a flow's interval that is open: what the flow's
// totals were before, and what can't be had from totals.
type interval struct {
	start, end int64 // end is MinInt64 of those that stand for none
	f          *flow // nil likewise
	place      int   // in intervals.open
	peak       uint32
	peakBytes  uint64
	lat        *intervalLatencies // nil without one
	lags       *intervalLags      // likewise

	// Of its first packet that is no copy, if there is any.
	any   bool
	macs  uint16
	input int32 // without one, of the packet that opened it
	iface int32 // likewise, -1 without that
	first int64

	before        totals
	oddBefore     *oddTotals // nil where they were zero
	classesBefore *classes   // nil where all packets were like the flow's first
}

func (iv *interval) isOpen() bool { return iv.f != nil }

type intervalLatencies struct {
	ack   sketch.Histogram
	kinds [record.NumMessageKinds]sketch.Histogram
}

type intervalLags struct {
	reaction, delay, wait, toSlow, toRecover sketch.Histogram
}

func (l *intervalLags) all() [5]*sketch.Histogram {
	return [...]*sketch.Histogram{&l.reaction, &l.delay, &l.wait, &l.toSlow, &l.toRecover}
}

// outstanding notes what is outstanding after a request.
func (iv *interval) outstanding(packets uint32, bytes uint64) {
	if packets < halfWindow {
		iv.peak = max(iv.peak, packets)
	}
	iv.peakBytes = max(iv.peakBytes, bytes)
}

// intervalLatencies are those of f's open interval, nil where none are asked
// for.
func (t *Tracker) intervalLatencies(f *flow) *intervalLatencies {
	iv := t.interval(f)
	if iv == nil {
		return nil
	}
	if iv.lat == nil {
		iv.lat = t.intervals.pools.latencies.get()
	}
	return iv.lat
}

// lags are those of f's open interval, nil where none are asked for.
func (t *Tracker) lags(f *flow) *intervalLags {
	iv := t.interval(f)
	if iv == nil {
		return nil
	}
	if iv.lags == nil {
		iv.lags = t.intervals.pools.lags.get()
	}
	return iv.lags
}

// totals are the counters that most flows have.
type totals struct {
	packets, bytes, payload, goodput, acks, cut, completed uint64
	sent                                                   [record.NumMessageKinds]uint64
}

func (f *flow) totals() totals {
	s := f.req
	return totals{f.packets, f.bytes, f.payload, f.goodput, f.acks, f.cut, s.completed, s.sent}
}

// oddTotals are the counters of trouble, more and congestion.
type oddTotals struct {
	naks                  [5]uint64
	rnrNaks               uint64
	retransmitted         record.Retransmitted
	wasted                record.Amount
	responses             record.ReadResponses
	episodes              uint64
	tries                 [record.NumCauses]uint64
	places                [record.NumPlaces]uint64
	modes                 [record.NumModes]uint64
	lost                  record.Lost
	reordered, undecided  uint64
	gaps, jumped          uint64
	duplicates            record.Duplicates
	requestCopies         uint64
	silences              uint64
	silenceTime, rnrTime  int64
	cnps, icrcBad, errors uint64
	portChanges           uint64
	data, acks, marked    uint64 // with CE; marked are CNPs
	told, unmarked        uint64
	slowed, recovered     uint64
}

func (f *flow) oddTotals() (o oddTotals) {
	if b := f.trouble; b != nil {
		o = oddTotals{
			naks: b.naks, rnrNaks: b.rnrNaks, retransmitted: b.retransmitted, wasted: b.wasted, responses: b.responses,
			episodes: b.episodes, tries: b.tries, places: b.places, modes: b.modes, lost: b.lost, reordered: b.reordered, undecided: b.undecided,
			gaps: b.gaps, jumped: b.jumped - min(b.jumped, b.shown), duplicates: b.duplicates, requestCopies: b.requestCopies,
			silences: b.silences, silenceTime: b.silenceTime, rnrTime: b.rnrTime, cnps: b.cnps, icrcBad: b.icrcBad, errors: b.errors,
		}
	}
	m := f.more
	if m == nil {
		return o
	}
	o.portChanges = m.portChanges
	if m.source != nil && m.source.destinations > 1 {
		o.lost.BeforeTap = 0
	}
	if c := m.congestion; c != nil {
		o.data, o.acks, o.marked = c.data, c.acks, c.cnps
		if n := c.told; n != nil {
			o.told, o.unmarked, o.slowed, o.recovered = n.count, n.unmarked, n.slowed, n.recovered
		}
	}
	return o
}

// oddsBefore are the odd totals before the interval.
func (iv *interval) oddsBefore() (o oddTotals) {
	if iv.oddBefore != nil {
		o = *iv.oddBefore
	}
	return o
}

// empty says whether nothing was counted in the interval.
func (iv *interval) empty() bool {
	return iv.before.packets == iv.f.packets && iv.lat == nil && iv.lags == nil && iv.before == iv.f.totals() && iv.oddsBefore() == iv.f.oddTotals()
}

// record makes the record of the interval.
func (iv *interval) record(r *record.FlowInterval, x *intervals) {
	f := iv.f
	*r = record.FlowInterval{
		Start: iv.start, Length: x.length,
		Version: f.version, Kind: f.kind, HasVNI: f.hasVNI, HasSrcQPN: f.ud, Src: f.src, Dst: f.dst, VNI: f.vni, DestQPN: f.qpn, SrcQPN: f.srcQP,
		FlowStart: f.first.time, Incarnation: f.life.incarnation, Pairing: f.life.method, Service: f.service,
		Input: iv.input, Interface: iv.iface, SourcePort: f.port,
		PeakPackets: uint64(iv.peak), PeakBytes: iv.peakBytes,
	}
	if g := f.peer; g != nil {
		r.HasPeer, r.PeerQPN = true, g.qpn
		if r.Service == record.ServiceUnknown {
			r.Service = g.service
		}
	}
	if c := f.life.conn; c != nil {
		r.Application = c.conn.Application
	}
	if iv.any {
		r.First, r.Last = min(iv.first, f.last.time), max(iv.first, f.last.time)
	}
	pair := x.macs.pair(iv.macs)
	r.SrcMAC, r.DstMAC = pair[0], pair[1]
	iv.more(r)
	iv.odds(r)
	iv.marked(r)
	if l := iv.lat; l != nil {
		r.AckLatency, r.Latency = l.ack, l.kinds
	}
	if l := iv.lags; l != nil {
		r.NakReaction, r.NPDelay, r.MarkWait, r.ToSlow, r.ToRecover = l.reaction, l.delay, l.wait, l.toSlow, l.toRecover
	}
}

// more fills in by what the totals are more than before.
func (iv *interval) more(r *record.FlowInterval) {
	now, was := iv.f.totals(), &iv.before
	r.Packets, r.WireBytes, r.PayloadBytes = now.packets-was.packets, now.bytes-was.bytes, now.payload-was.payload
	r.GoodputBytes, r.Acks, r.Truncated = now.goodput-was.goodput, now.acks-was.acks, now.cut-was.cut
	r.MessagesCompleted = now.completed - was.completed
	for k := range r.MessagesSent {
		r.MessagesSent[k] = now.sent[k] - was.sent[k]
	}
}

// odds is more of the odd totals.
func (iv *interval) odds(r *record.FlowInterval) {
	if iv.f.trouble == nil && iv.f.more == nil {
		return
	}
	now, was := iv.f.oddTotals(), iv.oddsBefore()
	for i := range r.Naks {
		r.Naks[i] = now.naks[i] - was.naks[i]
	}
	r.RNRNaks = now.rnrNaks - was.rnrNaks
	r.ReadResponses = now.responses.Packets - was.responses.Packets
	r.ReadResponsesRetransmitted = now.responses.Retransmitted - was.responses.Retransmitted
	r.ReadResponsesLost = int64(now.responses.LostBeforeTap - was.responses.LostBeforeTap)
	r.RetransmittedPackets = now.retransmitted.Packets - was.retransmitted.Packets
	r.RetransmittedBytes = now.retransmitted.Bytes - was.retransmitted.Bytes
	r.Fills, r.Repeats = now.retransmitted.Fills-was.retransmitted.Fills, now.retransmitted.Repeats-was.retransmitted.Repeats
	r.WastedPackets, r.WastedBytes = now.wasted.Packets-was.wasted.Packets, now.wasted.Bytes-was.wasted.Bytes
	r.Episodes = now.episodes - was.episodes
	moreThan(r.Tries[:], now.tries[:], was.tries[:])
	moreThan(r.Places[:], now.places[:], was.places[:])
	moreThan(r.Modes[:], now.modes[:], was.modes[:])
	r.LostBeforeTap, r.LostAfterTap = int64(now.lost.BeforeTap-was.lost.BeforeTap), int64(now.lost.AfterTap-was.lost.AfterTap)
	r.LostCapture, r.LostCorrupt = now.lost.Capture-was.lost.Capture, now.lost.Corrupt-was.lost.Corrupt
	r.Reordered, r.Undecided = int64(now.reordered-was.reordered), now.undecided-was.undecided
	r.Gaps, r.Jumped = now.gaps-was.gaps, int64(now.jumped-was.jumped)
	r.DuplicatesCapture = int64(now.duplicates.Capture - was.duplicates.Capture)
	r.DuplicatesNetwork = int64(now.duplicates.Network - was.duplicates.Network)
	r.DuplicateRequests = int64(now.requestCopies - was.requestCopies)
	r.Silences, r.SilenceTime, r.RNRTime = now.silences-was.silences, now.silenceTime-was.silenceTime, now.rnrTime-was.rnrTime
	r.ICRCBad, r.ProtocolErrors, r.PortChanges = now.icrcBad-was.icrcBad, now.errors-was.errors, now.portChanges-was.portChanges
	r.CNPsSent, r.CNPsReceived, r.CNPsUnmarked = now.cnps-was.cnps, now.told-was.told, now.unmarked-was.unmarked
	r.DataMarked, r.AcksMarked, r.CNPsMarked = now.data-was.data, now.acks-was.acks, now.marked-was.marked
	r.Slowed, r.Recovered = now.slowed-was.slowed, now.recovered-was.recovered
}

// moreThan is by what counts are more than they were.
func moreThan(to []int64, now, was []uint64) {
	for i := range to {
		to[i] = int64(now[i] - was[i])
	}
}

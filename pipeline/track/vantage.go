package track

import (
	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
)

// How soon a side answers does not tell how near it is: an ACK waits for others
// to be joined with it, a READ for memory, the next request for the
// application, and each of these can take longer than the network. Two things
// do tell. A router takes one from the TTL (or hop limit), which RoCE's senders
// begin at 64 or 255. And a Linux cooked capture says what its own host sent.

// pathToTap is what tells how far the packets of one side came to the tap.
type pathToTap struct {
	lowTTL, highTTL uint8
	ways            uint8 // a bit for each of way
}

const (
	waySent  uint8 = 1 << iota // by the host of the tap
	wayGot                     // by it, as it was sent to it
	wayOther                   // not known
)

func (v *pathToTap) see(p *Packet) {
	if v.ways == 0 {
		v.lowTTL = p.TTL
	}
	if p.TTL != v.lowTTL || p.TTL != v.highTTL {
		v.lowTTL, v.highTTL = min(v.lowTTL, p.TTL), max(v.highTTL, p.TTL)
	}
	switch {
	case p.is(sentHere):
		v.ways |= waySent
	case p.is(gotHere):
		v.ways |= wayGot
	default:
		v.ways |= wayOther
	}
}

// First TTLs of RoCE's senders, and how many routers there can be.
const (
	kernelTTL  = 64
	verbsTTL   = 255
	maxRouters = 31
)

// direct says that no router was on the way.
func (v *pathToTap) direct() bool {
	return v.lowTTL == v.highTTL && (v.lowTTL == kernelTTL || v.lowTTL == verbsTTL)
}

// routed says that there was one.
func (v *pathToTap) routed() bool {
	under := func(first uint8) bool { return v.highTTL < first && v.lowTTL >= first-maxRouters }
	return under(kernelTTL) || under(verbsTTL)
}

// vantage is where the tap was, as far as the stream's packets tell for sure.
func (s *stream) vantage() record.Vantage {
	a, b := &s.requestPath, &s.answerPath
	switch {
	case a.ways == 0 || b.ways == 0:
	case a.ways == waySent && b.ways == wayGot && a.direct(), a.direct() && b.routed():
		return record.VantageRequester
	case a.ways == wayGot && b.ways == waySent && b.direct(), a.routed() && b.direct():
		return record.VantageResponder
	case a.routed() && b.routed():
		return record.VantageBetween
	}
	return record.VantageUnknown
}

// vantage is where the tap was, for the session that f began.
func vantage(f *flow) record.Vantage {
	if f.version != record.V2 { // nothing else is routed
		return record.VantageUnknown
	}
	v := f.req.vantage()
	if f.peer == nil {
		return v
	}
	w := f.peer.req.vantage()
	switch w { // B requests: its requester's side is B's
	case record.VantageRequester:
		w = record.VantageResponder
	case record.VantageResponder:
		w = record.VantageRequester
	}
	switch {
	case v == record.VantageUnknown:
		return w
	case w == record.VantageUnknown || v == w:
		return v
	}
	return record.VantageUnknown
}

// cookedWay says, of a packet in a Linux cooked capture, whether the host of the
// tap sent it, or it was sent to it. In a tunnel that host may be but its end.
func cookedWay(p *decode.Packet) uint16 {
	at := 0
	switch p.Frame.Link {
	case capture.LinkSLL:
		at = 1
	case capture.LinkSLL2:
		at = 10
	default:
		return 0
	}
	if len(p.Data) <= at || p.Encap&^(decode.EncapVLAN|decode.EncapQinQ) != 0 {
		return 0
	}
	switch p.Data[at] {
	case 0:
		return gotHere
	case 4:
		return sentHere
	}
	return 0
}

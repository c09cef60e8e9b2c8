package pipeline

import (
	"context"
	"sort"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
)

// Traffic is what passed on a session between two points in time: from A to B,
// then from B to A.
type Traffic struct {
	Packets [2]uint64
	Payload [2]uint64 // bytes
}

// Empty says whether nothing passed.
func (t *Traffic) Empty() bool { return t.Packets == [2]uint64{} }

// Cuts are a session, and frames that it is cut by, in their order (see
// record.FrameRef.Before).
type Cuts struct {
	Session *record.Session
	Frames  []record.FrameRef
}

// TrafficBetween reads src to its end and counts the packets of each session
// between its frames: up to the first of them, from there to the second, and so on,
// and behind the last. The frames themselves are not counted. Errors are
// EachBatch's.
func TrafficBetween(ctx context.Context, src capture.Source, cfg decode.Config, cuts []Cuts) ([][]Traffic, error) {
	out := make([][]Traffic, len(cuts))
	for i := range cuts {
		out[i] = make([]Traffic, len(cuts[i].Frames)+1)
	}
	dec := decode.New(cfg)
	var p decode.Packet
	err := EachBatch(ctx, src, func(b *capture.Batch) error {
		for i := range b.Frames {
			f := &b.Frames[i]
			decoded := false
			for k := range cuts {
				s, frames := cuts[k].Session, cuts[k].Frames
				if f.Time < s.First.Time || f.Time > s.Last.Time {
					continue
				}
				if !decoded {
					dec.Decode(f, &p)
					decoded = true
				}
				way := wayOf(s, &p)
				if way < 0 {
					continue
				}
				ref := record.FrameRef{Input: f.Input, Number: f.Number, Time: f.Time}
				at := sort.Search(len(frames), func(i int) bool { return !frames[i].Before(ref) })
				if at < len(frames) && !ref.Before(frames[at]) {
					continue // one of them
				}
				out[k][at].Packets[way]++
				out[k][at].Payload[way] += uint64(p.PayloadLen)
			}
		}
		return nil
	})
	return out, err
}

// wayOf is 0 for a packet from A to B of the session, 1 for one from B to A,
// and -1 for one of another session.
func wayOf(s *record.Session, p *decode.Packet) int {
	const tunnels = decode.EncapVXLAN | decode.EncapGeneve | decode.EncapNVGRE
	inside := p.Encap&tunnels != 0
	if !p.RoCE() || p.Has&decode.HasBTH == 0 || inside != s.HasVNI || inside && p.VNI != s.VNI {
		return -1
	}
	for way, ends := range [2][2]*record.Endpoint{{&s.A, &s.B}, {&s.B, &s.A}} {
		from, to := ends[0], ends[1]
		if p.Src == from.Addr && p.Dst == to.Addr && p.AddrKind == to.Kind && to.HasQPN && p.DestQP == to.QPN &&
			(p.Has&decode.HasDETH == 0 || from.HasQPN && p.SrcQP == from.QPN) {
			return way
		}
	}
	return -1
}

package track_test

import (
	"slices"

	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/scenario"
)

// found is what the pipeline says of one session of the truth: two flows, by
// the side that sends, and the session or the two that they are in.
type found struct {
	flows [2]*flowFound
}

// flowFound is one direction as it was found.
type flowFound struct {
	s      *record.Session
	sent   *record.Direction
	stream uint8 // in which the sender is the requester
}

// stream is what was found of one requester's PSN space.
type stream struct {
	s        *record.Session
	req      *record.Direction // what the requester sent
	resp     *record.Direction // what the responder sent
	tries    []triedAt
	episodes []*record.Episode
	naks     []record.Nak
	rnrNaks  []record.RNRNak
	gaveUp   []record.RetryExhausted
}

// triedAt is a try and the frame that it begins with.
type triedAt struct {
	frame uint64
	*record.Try
}

var nothing record.Direction

// flowKey names a flow by what every packet of it carries.
type flowKey struct {
	src, dst string
	qpn      uint32
}

// flows are the directions in which something was sent, each flow's lives in
// the order of time.
func flows(r *pipeline.Result) map[flowKey][]*flowFound {
	all := make(map[flowKey][]*flowFound)
	for i := range r.Sessions.Len() {
		s := r.Sessions.At(i)
		add := func(from, to record.Endpoint, d *record.Direction, stream uint8) {
			if d.Packets == 0 && d.Duplicates == (record.Duplicates{}) {
				return
			}
			k := flowKey{from.Addr.IP().Unmap().String(), to.Addr.IP().Unmap().String(), to.QPN}
			all[k] = append(all[k], &flowFound{s, d, stream})
		}
		add(s.A, s.B, &s.AToB, 0)
		add(s.B, s.A, &s.BToA, 1)
	}
	return all
}

// match finds the sessions of the truth, by index. Of UD flows the sender's
// QPN tells them apart.
func match(r *pipeline.Result, truth *scenario.Truth) []found {
	all := flows(r)
	list := make([]found, len(truth.Sessions))
	for i, s := range truth.Sessions {
		for side := range 2 {
			from, to := ends(s, side)
			lives := all[flowKey{from.Addr, to.Addr, to.QPN}]
			if s.Service == scenario.UD {
				lives = slices.DeleteFunc(slices.Clone(lives), func(f *flowFound) bool { return f.s.A.QPN != from.QPN })
			}
			if n := s.Life - 1; n < len(lives) {
				list[i].flows[side] = lives[n]
			}
		}
	}
	return list
}

// ends are the sender and the receiver of what a side sends.
func ends(s *scenario.SessionTruth, side int) (from, to *scenario.SideInfo) {
	if side == 0 {
		return &s.A, &s.B
	}
	return &s.B, &s.A
}

// paired says whether both flows were found to be one session.
func (f *found) paired() bool {
	return f.flows[0] != nil && f.flows[1] != nil && f.flows[0].s == f.flows[1].s
}

// stream is what was found of the requests of a side, nil where no flow of the
// session was.
func (f *found) stream(r *pipeline.Result, side int) *stream {
	st := &stream{req: &nothing, resp: &nothing}
	index := uint8(0)
	switch mine, other := f.flows[side], f.flows[1-side]; {
	case mine != nil:
		st.s, st.req, index = mine.s, mine.sent, mine.stream
	case other != nil:
		st.s, index = other.s, 1-other.stream
	default:
		return nil
	}
	if other := f.flows[1-side]; other != nil {
		st.resp = other.sent
	}
	for i := range r.Events {
		e := &r.Events[i]
		if e.Session != st.s.ID || e.Stream != index {
			continue
		}
		switch d := e.Detail.(type) {
		case *record.Try:
			st.tries = append(st.tries, triedAt{e.Frame.Number, d})
		case *record.Episode:
			st.episodes = append(st.episodes, d)
		case record.Nak:
			st.naks = append(st.naks, d)
		case record.RNRNak:
			st.rnrNaks = append(st.rnrNaks, d)
		case record.RetryExhausted:
			st.gaveUp = append(st.gaveUp, d)
		}
	}
	return st
}

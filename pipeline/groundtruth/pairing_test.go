package groundtruth_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
)

// known is what a capture's truth says of its connections.
type known struct {
	peers  peers         // from what programs printed and from CM
	kernel map[qp]uint32 // the QPN alone of the other end
}

func (k known) empty() bool { return len(k.peers) == 0 && len(k.kernel) == 0 }

// wrong says what is wrong with a pair of QPs, "" if nothing is known against
// it.
func (k known) wrong(a, b qp) string {
	for _, e := range [][2]qp{{a, b}, {b, a}} {
		if to := k.peers[e[0]]; to != nil && !to[e[1]] {
			return fmt.Sprintf("%v was connected to %v", e[0], to)
		}
		if n, ok := k.kernel[e[0]]; ok && n != e[1].qpn {
			return fmt.Sprintf("%v was connected to QPN %d", e[0], n)
		}
	}
	return ""
}

// variant is a way to see less of a capture.
type variant struct {
	name string
	edit func(*edited) *edited
	// oneWay says that only one direction of each connection is left.
	oneWay bool
}

// Directions are told apart by the order of the addresses.
func upwards(f *frame) bool { return f.pkt.Src.IP().Less(f.pkt.Dst.IP()) }

var variants = []variant{
	{"without CM", func(e *edited) *edited {
		return e.keep(func(_ int, f *frame) bool { return !f.cm() })
	}, false},
	{"one direction", func(e *edited) *edited {
		return e.keep(func(_ int, f *frame) bool { return upwards(f) })
	}, true},
	{"the other direction", func(e *edited) *edited {
		return e.keep(func(_ int, f *frame) bool { return !upwards(f) })
	}, true},
	{"the second half", func(e *edited) *edited {
		return e.keep(func(i int, _ *frame) bool { return i >= len(e.frames)/2 })
	}, false},
	{"a tenth in the middle", func(e *edited) *edited {
		n := len(e.frames)
		return e.keep(func(i int, _ *frame) bool { return i >= n*45/100 && i < n*55/100 })
	}, false},
}

// TestPairing: no session pairs QPs that were not connected, whatever part of
// a capture there is, and whole captures pair all that were.
func TestPairing(t *testing.T) {
	judged, paired := 0, 0
	for _, a := range all(t) {
		k := known{peers: connections(t, a.truth), kernel: kernelPeers(a.truth)}
		e := load(t, a.path)
		for q, to := range cmPeers(e) {
			for other := range to {
				k.peers.connect(q, other)
			}
		}
		if !k.empty() {
			judged++
		}
		t.Run(a.name, func(t *testing.T) {
			paired += checkPairs(t, "whole", k, a.res, false)
			for _, m := range unpaired(e, k, a.res) {
				t.Errorf("whole: %s", m)
			}
			for _, v := range variants {
				if cut := v.edit(e); len(cut.frames) > 0 {
					checkPairs(t, v.name, k, cut.run(t), v.oneWay)
				}
			}
		})
	}
	t.Logf("%d captures whose connections are known, %d pairs found in whole captures", judged, paired)
	if judged == 0 || paired == 0 {
		t.Error("nothing was compared")
	}
}

// connected says that a session is a connection that can have two flows.
func connected(s *record.Session) bool {
	return s.Service == record.RC || s.Service == record.XRC || s.Service == record.UC
}

// checkPairs counts the pairs.
func checkPairs(t *testing.T, view string, k known, r *pipeline.Result, oneWay bool) int {
	t.Helper()
	pairs := 0
	for i := range r.Sessions.Len() {
		s := r.Sessions.At(i)
		if !connected(s) || s.Pairing.Method == record.PairNone {
			continue
		}
		if !s.A.HasQPN || !s.B.HasQPN {
			t.Errorf("%s: %s is paired by %v without both QPNs", view, s.ID, s.Pairing.Method)
			continue
		}
		pairs++
		a, b := qp{host(ip(s.A)), s.A.QPN}, qp{host(ip(s.B)), s.B.QPN}
		if why := k.wrong(a, b); why != "" {
			t.Errorf("%s: %s is paired by %v (%.2f): %s", view, s.ID, s.Pairing.Method, s.Pairing.Confidence, why)
		}
		if oneWay && s.Pairing.Method != record.PairCM { // a DREQ names the other's QPN
			t.Errorf("%s: %s is paired by %v, with one direction in the capture", view, s.ID, s.Pairing.Method)
		}
	}
	return pairs
}

// unpaired lists the connections that have RC packets both ways in the file
// and no session of both QPs.
func unpaired(e *edited, k known, r *pipeline.Result) []string {
	type way struct {
		from string
		to   qp
	}
	seen := make(map[way]bool)
	for i := range e.frames {
		f := &e.frames[i]
		if f.pkt.Has&decode.HasBTH == 0 || !f.reliable() {
			continue
		}
		src, dst := f.pkt.Src.IP().Unmap(), f.pkt.Dst.IP().Unmap()
		seen[way{host(src), qp{host(dst), f.pkt.DestQP}}] = true
	}
	paired := make(map[[2]qp]bool)
	for i := range r.Sessions.Len() {
		s := r.Sessions.At(i)
		if connected(s) && s.Pairing.Method != record.PairNone {
			a, b := qp{host(ip(s.A)), s.A.QPN}, qp{host(ip(s.B)), s.B.QPN}
			paired[[2]qp{a, b}], paired[[2]qp{b, a}] = true, true
		}
	}
	var missing []string
	for a, to := range k.peers {
		for b := range to {
			if seen[way{a.host, b}] && seen[way{b.host, a}] && !paired[[2]qp{a, b}] && a.host <= b.host {
				missing = append(missing, fmt.Sprintf("%v and %v are not paired", a, b))
			}
		}
	}
	slices.Sort(missing)
	return missing
}

package finding

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
)

// survey is what sessions say together, the plain ones included.
type survey struct {
	pairs []*pair // in the order of their first sessions
	// Directions with data that can't be marked, and how many can.
	notECT  []at
	without uint64
	with    uint64
	// Of hosts that get data, by whom.
	receivers []*receiver
	losses    map[decode.Addr]uint64 // packets of each that were lost
}

// at is a direction: the index of a session, and which side sent it.
type at struct {
	session int
	index   uint8
}

// maxSurveyed bounds the sessions that are looked at, the first ones: how hosts
// are set up shows in them, and it takes a microsecond each.
const maxSurveyed = 1 << 16

type pairKey struct {
	a, b decode.Addr // in their order
	kind decode.AddrKind
	vni  uint32
}

// pair is what two hosts have in common.
type pair struct {
	a, b record.Endpoint
	mtus [5]uint32 // sessions by path MTU, 256 and up
	ways [2]way    // from a, and from b
}

// way is the data from one host to another.
type way struct {
	qps    uint64
	port   uint16
	others bool // there are other source ports
	first  at
}

// surveyed goes through the sessions.
func (f *Facts) surveyed() *survey {
	v := &survey{losses: make(map[decode.Addr]uint64)}
	pairs := make(map[pairKey]*pair)
	receivers := make(map[pairKey]*receiver)
	for i, s := range f.Sessions.Figures() {
		if i == maxSurveyed {
			break
		}
		p := v.pair(pairs, s)
		if s.Service != record.UD {
			if m := mtuIndex(s.PathMTU); m >= 0 {
				p.mtus[m]++
			}
		}
		for _, st := range both(s) {
			d := st.req
			if d.PayloadBytes == 0 {
				continue
			}
			v.marks(s, d, at{i, st.index})
			v.receive(receivers, &st, i)
			if s.Version != record.V2 || s.Service == record.UD || d.SourcePort == 0 || st.requests() == 0 && d.ReadResponses.Packets == 0 {
				continue
			}
			w := &p.ways[0]
			if st.from().Addr != p.a.Addr {
				w = &p.ways[1]
			}
			if w.qps == 0 {
				w.port, w.first = d.SourcePort, at{i, st.index}
			}
			w.qps++
			w.others = w.others || w.port != d.SourcePort
		}
	}
	return v
}

func mtuIndex(mtu uint32) int {
	return slices.Index([]uint32{256, 512, 1024, 2048, 4096}, mtu)
}

func (v *survey) pair(pairs map[pairKey]*pair, s *record.Session) *pair {
	k := pairKey{s.A.Addr, s.B.Addr, s.A.Kind, s.VNI}
	if k.b.Hi < k.a.Hi || k.b.Hi == k.a.Hi && k.b.Lo < k.a.Lo {
		k.a, k.b = k.b, k.a
	}
	p := pairs[k]
	if p == nil {
		p = &pair{a: s.A, b: s.B}
		pairs[k] = p
		v.pairs = append(v.pairs, p)
	}
	return p
}

// minMarkable is how many packets with data it takes to say that a direction
// can't be marked.
const minMarkable = 16

func (v *survey) marks(s *record.Session, d *record.Direction, where at) {
	able := d.ECN[1] + d.ECN[2] + d.ECN[3]
	answers := d.Answers() - d.ReadResponses.Packets
	switch {
	case s.Version == record.IB:
	case able > answers:
		v.with++
	case able == 0 && d.Packets >= answers+minMarkable:
		v.without++
		if len(v.notECT) < maxDrifting {
			v.notECT = append(v.notECT, where)
		}
	}
}

// stream is the direction's, with a session of its own.
func (f *Facts) streamAt(a at) stream {
	s := f.Sessions.At(a.session)
	return both(s)[a.index]
}

// notECT says which data switches drop where they mark others'.
func notECT(f *Facts) []record.Finding {
	v := f.survey
	if v.with == 0 || v.without == 0 {
		return nil
	}
	var h hits
	for _, a := range v.notECT {
		st := f.streamAt(a)
		h = append(h, hit{stream: st, n: st.req.Packets, say: plural(st.req.Packets, "packet"), more: record.Evidence{{Key: "packets", Value: st.req.Packets}}, first: st.s.First, has: true})
	}
	h.sort()
	title := "The data from " + endpoint(h[0].from()) + " to " + endpoint(h[0].to()) + " can't be marked for congestion (not-ECT), and other RoCE here can"
	if v.without > 1 {
		title = "The data of " + plural(v.without, "stream") + " can't be marked for congestion (not-ECT), and that of " + count(v.with) + " can"
	}
	return h.finding(record.Info, "not-ect", title,
		"Switches do not mark such packets where queues grow: they drop them, and their senders are never told to slow down. Where that traffic has a class of its own without ECN it is meant to be so."+h.worst()+
			" Compare the traffic class that both applications set, and whether the NIC's congestion control is on for that priority.",
		record.Evidence{{Key: "without", Value: v.without}, {Key: "with", Value: v.with}})
}

// mixedMTU says between which hosts sessions have different path MTUs.
func mixedMTU(f *Facts) []record.Finding {
	list := []record.Evidence{}
	var say []string
	n := uint64(0)
	for _, p := range f.survey.pairs {
		var all []uint64
		var text []string
		var sessions uint64
		for i, k := range p.mtus {
			if k > 0 {
				all = append(all, 256<<i)
				text = append(text, strconv.Itoa(256<<i))
				sessions += uint64(k)
			}
		}
		if len(all) < 2 {
			continue
		}
		n++
		say = append(say, host(&p.a)+" and "+host(&p.b)+" ("+strings.Join(text, ", ")+" bytes)")
		if len(list) < maxListed {
			list = append(list, record.Evidence{{Key: "a", Value: host(&p.a)}, {Key: "b", Value: host(&p.b)}, {Key: "path_mtus", Value: all}, {Key: "sessions", Value: sessions}})
		}
	}
	if n == 0 {
		return nil
	}
	return one(record.Finding{
		Severity: record.Info, Code: "mixed-mtu", Title: "Sessions between the same hosts have different path MTUs: " + listed(say),
		Detail: "Each works with its own. But the smaller one costs packets, headers and work, and most often somebody did not mean it: the path MTU is set with the QP, at most what the port's MTU has room for. " +
			"See what the applications ask for, and the MTU of each port.",
		Evidence: record.Evidence{{Key: "pairs_affected", Value: n}, {Key: "pairs", Value: list}},
	})
}

// minPolarized is how many QPs with one source port are worth telling.
const minPolarized = 8

// ecmpPolarized says which hosts use one UDP source port for all their QPs.
func ecmpPolarized(f *Facts) []record.Finding {
	type found struct {
		from, to *record.Endpoint
		w        *way
	}
	var all []found
	for _, p := range f.survey.pairs {
		for i := range p.ways {
			if w := &p.ways[i]; w.qps >= minPolarized && !w.others {
				x := found{&p.a, &p.b, w}
				if i == 1 {
					x.from, x.to = x.to, x.from
				}
				all = append(all, x)
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Compare(b.w.qps, a.w.qps) })
	list := []record.Evidence{}
	var say []string
	var qps uint64
	for i, x := range all {
		qps += x.w.qps
		say = append(say, host(x.from)+" to "+host(x.to)+" ("+plural(x.w.qps, "QP")+", port "+strconv.Itoa(int(x.w.port))+")")
		if i < maxListed {
			list = append(list, record.Evidence{{Key: "from", Value: host(x.from)}, {Key: "to", Value: host(x.to)}, {Key: "port", Value: uint64(x.w.port)}, {Key: "qps", Value: x.w.qps}})
		}
	}
	return one(record.Finding{
		Severity: record.Info, Code: "ecmp-polarized", Title: "All QPs between two hosts have one UDP source port: " + listed(say),
		Detail: "Switches choose among equal paths by addresses and ports, so that all these QPs take one and the same path, however many there are. That does not matter with one path, or where switches also look at " +
			"the queue pair number or spray packets. Otherwise give QPs flow labels or source ports of their own (with mlx5 `mlx5dv_modify_qp_udp_sport`).",
		Evidence: record.Evidence{{Key: "ways", Value: uint64(len(all))}, {Key: "qps", Value: qps}, {Key: "worst", Value: list}},
	})
}

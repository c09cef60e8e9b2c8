package recorder

import (
	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/track"
)

// pick tells which frames are evidence.
type pick struct {
	dec        *decode.Decoder
	pkt        decode.Packet
	priorities pipeline.Priorities
	sessions   map[pair]map[uint32]bool // the QPNs of both ends
	pausers    map[port]*pauser
}

// pair are the addresses of a session, in their order.
type pair struct {
	a, b decode.Addr
	kind decode.AddrKind
	vni  uint32
}

func pairOf(a, b decode.Addr, kind decode.AddrKind, vni uint32) pair {
	if b.Hi < a.Hi || b.Hi == a.Hi && b.Lo < a.Lo {
		a, b = b, a
	}
	return pair{a, b, kind, vni}
}

// port is where frames were captured.
type port struct{ input, iface int32 }

// pauser is what is paused at a port, and by whom.
type pauser struct {
	macs       map[decode.MAC]bool
	priorities uint8 // a bit each
	all        bool
}

func newPick(cfg *Config, e *Evidence) *pick {
	p := &pick{dec: decode.New(cfg.Decode), priorities: cfg.Priorities, sessions: make(map[pair]map[uint32]bool), pausers: make(map[port]*pauser)}
	for i := range e.Sessions {
		s := &e.Sessions[i]
		k := pairOf(s.A.Addr, s.B.Addr, s.A.Kind, s.VNI)
		if p.sessions[k] == nil {
			p.sessions[k] = make(map[uint32]bool)
		}
		for _, end := range []*record.Endpoint{&s.A, &s.B} {
			if end.HasQPN {
				p.sessions[k][end.QPN] = true
			}
		}
	}
	for i := range e.Storms {
		s := &e.Storms[i]
		k := port{s.Input, s.Interface}
		x := p.pausers[k]
		if x == nil {
			x = &pauser{macs: make(map[decode.MAC]bool)}
			p.pausers[k] = x
		}
		x.macs[s.MAC] = true
		x.all = x.all || !s.PFC
		for _, c := range s.Priorities {
			x.priorities |= 1 << (c.Priority & 7)
		}
	}
	return p
}

// wants says whether a frame is evidence: a packet of one of the sessions, or a
// message of connection management between their hosts; where there is a storm, a
// frame of flow control, or one of what is paused: of RoCE wherever it goes, and of the
// rest, or where nothing tells the priority, what goes to who pauses.
func (p *pick) wants(f *capture.Frame) bool {
	p.dec.Decode(f, &p.pkt)
	k := &p.pkt
	if x := p.pausers[port{f.Input, f.Interface}]; x != nil {
		paused := x.all || x.priorities&(1<<p.priority()) != 0
		switch {
		case k.Kind == decode.KindPFC, k.Kind == decode.KindPause:
			return true
		case k.RoCE() && paused, x.macs[k.DstMAC] && (paused || p.priority() == unknown):
			return true
		}
	}
	if len(p.sessions) == 0 || !k.RoCE() || k.Has&decode.HasBTH == 0 {
		return false
	}
	vni := uint32(0)
	if k.Encap&(decode.EncapVXLAN|decode.EncapGeneve|decode.EncapNVGRE) != 0 {
		vni = k.VNI
	}
	qpns, ok := p.sessions[pairOf(k.Src, k.Dst, k.AddrKind, vni)]
	return ok && (qpns[k.DestQP] || k.DestQP <= track.LastManagement)
}

// unknown is the priority of a packet where nothing tells it.
const unknown = 8

// priority is that of the packet.
func (p *pick) priority() uint8 {
	if p.pkt.Encap&(decode.EncapVLAN|decode.EncapQinQ) != 0 {
		return uint8(p.pkt.VLAN >> 13)
	}
	if of := p.priorities[p.pkt.DSCP()&63]; of > 0 {
		return of - 1
	}
	return unknown
}

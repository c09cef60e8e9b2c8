package pipeline

import (
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/sketch"
)

// Untagged is the tag of classes without a VLAN tag; others are the tag's
// priority and 1.
const Untagged = 0

// numTags is how many tags there are: none, and the priorities 0 to 7.
const numTags = 9

// ClassCount is what was counted of one class.
type ClassCount struct {
	Bytes uint64    // on the wire
	ECN   [4]uint64 // packets, by Packet.ECN
	CNPs  uint64
}

// Packets is how many it has.
func (c *ClassCount) Packets() uint64 { return c.ECN[0] + c.ECN[1] + c.ECN[2] + c.ECN[3] }

func (c *ClassCount) merge(o *ClassCount) {
	c.Bytes += o.Bytes
	addAll(c.ECN[:], o.ECN[:])
	c.CNPs += o.CNPs
}

// ClassCounts are RoCE packets with an IP header or GRH by VLAN priority
// (Untagged, or the priority and 1) and DSCP.
type ClassCounts [numTags][64]ClassCount

func (t *ClassCounts) add(p *decode.Packet) {
	tag := Untagged
	if p.Encap&tags != 0 {
		tag = 1 + int(p.VLAN>>13)
	}
	c := &t[tag][p.TOS>>2]
	c.Bytes += uint64(p.WireLen)
	c.ECN[p.TOS&3]++
	if p.Opcode == decode.OpCNP || p.Opcode == decode.OpCNPGroup {
		c.CNPs++
	}
}

func (t *ClassCounts) merge(o *ClassCounts) {
	for i := range t {
		for j := range t[i] {
			if c := &o[i][j]; c.Packets() > 0 {
				t[i][j].merge(c)
			}
		}
	}
}

// Class is the RoCE traffic of one VLAN priority and DSCP, and what sessions
// tell of it.
type Class struct {
	ClassCount
	DSCP   uint8
	Tagged bool
	// Priority is the VLAN tag's, or without a tag the one that the user gives
	// for the DSCP; valid with HasPriority.
	Priority    uint8
	HasPriority bool

	// These are of the sessions whose data is in the class: NAKs and RNR NAKs
	// that requesters got, timeouts that they had, packets that were lost and where, and packets that
	// were sent again. Where the two directions differ, what concerns READ
	// responses is in the class of the responses.
	NAKs, RNRNAKs         uint64
	NPDelay               sketch.Histogram // last marked data packet to the CNP
	Timeouts              uint64           // tries by timeout
	LostBefore, LostAfter uint64
	Retransmitted         uint64
	// Paused is for how long in ns the priority was paused, by whoever paused it
	// longest, where that is known.
	Paused   int64
	IsPaused bool
}

// Lost is how many packets were lost, wherever.
func (c *Class) Lost() uint64 { return c.LostBefore + c.LostAfter }

// TrafficClasses are the classes that have packets, in the order of their tags
// and DSCPs.
func (r *Result) TrafficClasses() []Class {
	var out []Class
	var at [numTags][64]int // 1 + index in out
	for tag := range r.Classes {
		for dscp := range r.Classes[tag] {
			n := &r.Classes[tag][dscp]
			if n.Packets() == 0 {
				continue
			}
			c := Class{ClassCount: *n, DSCP: uint8(dscp), Tagged: tag != Untagged}
			if c.Tagged {
				c.Priority, c.HasPriority = uint8(tag-1), true
			} else if p := r.Priorities.of(c.DSCP); p >= 0 {
				c.Priority, c.HasPriority = uint8(p), true
			}
			c.pauses(r)
			out = append(out, c)
			at[tag][dscp] = len(out)
		}
	}
	class := func(d *record.Direction) *Class {
		dscp, ok := d.DataDSCP()
		if !ok {
			return nil
		}
		tag := Untagged
		if p, ok := d.MainPriority(); ok && p.Tagged {
			tag = 1 + int(p.Priority)
		}
		if i := at[tag][dscp]; i > 0 {
			return &out[i-1]
		}
		return nil
	}
	if len(out) == 0 {
		return nil
	}
	for _, s := range r.Sessions.Notable() {
		for i, d := range [...]*record.Direction{&s.AToB, &s.BToA} {
			back := &s.BToA
			if i == 1 {
				back = &s.AToB
			}
			c := class(d)
			if c == nil {
				continue
			}
			for _, n := range back.Naks {
				c.NAKs += n
			}
			c.RNRNAKs += back.RNRNaks
			if x := d.Congestion; x != nil {
				c.NPDelay.Merge(&x.NPDelay)
			}
			c.Timeouts += d.Tries[record.CauseTimeout]
			c.LostBefore += d.Lost.BeforeTap + d.ReadResponses.LostBeforeTap
			c.LostAfter += d.Lost.AfterTap
			c.Retransmitted += d.Retransmitted.Packets + d.ReadResponses.Retransmitted
		}
	}
	return out
}

// pauses looks up for how long the class was paused.
func (c *Class) pauses(r *Result) {
	for i := range r.Pause.Rows {
		row := &r.Pause.Rows[i]
		if !row.Known() || row.PFC && (!c.HasPriority || row.Priority != c.Priority) {
			continue
		}
		c.Paused, c.IsPaused = max(c.Paused, row.Paused), true
	}
}

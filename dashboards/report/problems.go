package report

import (
	"strconv"
	"strings"
)

// problems writes what the reader must know before believing the rest, the
// worst first, each as one paragraph after an exclamation mark.
func (t *text) problems() {
	before := t.b.Len()
	t.damage()
	t.badCRC("ICRC", &t.ICRC)
	if t.VCRC != nil {
		t.badCRC("VCRC", t.VCRC)
	}
	t.noRoCE()
	t.refused()
	t.lost()
	t.malformed()
	t.cutShort()
	t.oddities()
	if t.b.Len() > before {
		t.b.WriteByte('\n')
	}
}

func (t *text) problem(color, s string) {
	t.b.WriteString(t.color(color, wrap("! ", s, t.opt.Width)))
}

func (t *text) damage() {
	for i := range t.Inputs {
		if in := &t.Inputs[i]; in.Damage != "" {
			what := "Nothing in it could be read."
			if in.Packets > 0 {
				what = "This report covers the " + plural(in.Packets, "packet") + " before that; what came after is missing."
			}
			t.problem(red, in.Damage+". "+what)
		}
	}
	if t.Partial {
		t.problem(red, "Interrupted: this report covers what had been read by then.")
	}
}

func (t *text) badCRC(name string, c *CRC) {
	if c.Bad == nil || *c.Bad == 0 {
		return
	}
	checked := *c.Good + *c.Bad
	s := plural(*c.Bad, "packet") + " with a bad " + name + ", of " + count(checked) + " checked (" + share(*c.Bad, checked) + "): "
	if *c.Good == 0 && *c.Bad > 1 {
		s += "not one is good, so more likely the sender does not compute it, or this tap sees packets before it is computed, " +
			"than that all were changed on the way."
	} else {
		s += "changed on the way, or computed wrongly by the sender; the receiver drops them."
	}
	t.problem(red, s+" First: "+t.frame(c.FirstBad)+".")
}

// frame is "frame 12 (byte 3,456), 1.2 ms after the start".
func (t *text) frame(f *Frame) string {
	s := "frame " + strconv.FormatUint(f.Number, 10)
	if len(t.Inputs) > 1 {
		s = "frame " + strconv.Itoa(f.Input+1) + ":" + strconv.FormatUint(f.Number, 10)
	}
	s += " (byte " + count(uint64(f.Offset)) + ")"
	if after := f.Time - *t.Capture.First; after > 0 {
		s += ", " + duration(after) + " after the start"
	}
	return s
}

// noRoCE says that there is none, and what that may mean.
func (t *text) noRoCE() {
	c := &t.Capture
	if t.roce() > 0 {
		return
	}
	if c.Packets == 0 {
		if !t.damaged() {
			t.problem(yellow, "No packets: the capture is empty.")
		}
		return
	}
	t.problem(yellow, "No RoCE here: 0 of "+plural(c.Packets, "packet")+
		" RoCEv1, RoCEv2 or InfiniBand. There is instead: "+list(t.otherKinds()...)+".")
	if n := c.OtherKinds["iwarp"]; n > 0 {
		t.problem(yellow, plural(n, "packet")+" of RDMA over TCP (iWARP), which is not RoCE and is not analysed.")
	}
	if n := c.OtherKinds["ipoib"]; n > 0 {
		t.problem(yellow, plural(n, "packet")+" of IP over InfiniBand (IPoIB): ordinary IP on an InfiniBand link, captured "+
			"above the InfiniBand headers. There is no RDMA to see at that place.")
	}
	if c.OtherKinds["udp"] > 0 {
		t.problem(yellow, "RoCEv2 is UDP to port 4791. If it has another port in this network, name it with --roce-port.")
	}
	if c.OtherKinds["tcp"]+c.OtherKinds["udp"]+c.OtherKinds["arp"] > 0 {
		t.problem(yellow, "If RoCE was expected: a NIC hands RDMA traffic past the operating system, so tcpdump on the "+
			"host's interface does not see it. Capture at a switch's mirror port, or on the RDMA device.")
	}
}

func (t *text) damaged() bool {
	for i := range t.Inputs {
		if t.Inputs[i].Damage != "" {
			return true
		}
	}
	return false
}

// refused speaks of what receivers refused, as their NAKs say.
func (t *text) refused() {
	n, rnr := t.AETH.Naks, t.AETH.RNRNaks
	if n.Sequence > 0 {
		s := plural(n.Sequence, "NAK") + " for a PSN sequence error: the packet that the receiver waited for did not come in its " +
			"turn, because it was lost or overtaken."
		if rnr > 0 {
			s += " After an RNR NAK these come without a loss too."
		}
		t.problem(yellow, s)
	}
	if rnr > 0 {
		t.problem(yellow, plural(rnr, "RNR NAK")+": the receiver had no receive posted and told the sender to wait.")
	}
	n.Sequence = 0
	if n.Total() > 0 {
		t.problem(yellow, plural(n.Total(), "NAK")+" for a request that the receiver does not accept ("+split(n.list()...)+
			"): the connection ends there.")
	}
}

// lost speaks of packets that are not in the capture although they were there.
func (t *text) lost() {
	for i := range t.Inputs {
		in := &t.Inputs[i]
		if in.ReportedDrops != nil && *in.ReportedDrops > 0 {
			t.problem(yellow, in.Path+": the capture itself lost "+plural(*in.ReportedDrops, "packet")+
				": what is missing here need not have been lost by the network.")
		}
	}
}

func (t *text) malformed() {
	c := &t.Capture
	if c.Malformed == 0 {
		return
	}
	t.problem(yellow, plural(c.Malformed, "packet")+" malformed: headers contradict one another or the packet's length. First: "+
		t.frame(c.FirstMalformed)+".")
}

func (t *text) cutShort() {
	c := &t.Capture
	if c.Truncated == 0 {
		return
	}
	s := plural(c.Truncated, "packet") + " cut short. Sizes come from the headers and are right all the same"
	if n := t.ICRC.Reasons["truncated"]; n > 0 {
		s += ", but the ICRC can't be checked on " + count(n)
	}
	t.problem(yellow, s+".")
}

func (t *text) oddities() {
	c := &t.Capture
	if len(c.UnknownLinks) > 0 {
		t.problem(yellow, plural(c.OtherKinds["unknown_link_type"], "packet")+" of a link type that rocelens does not decode ("+
			strings.Join(unknownLinks(c), ", ")+"): nothing is known of what is in them.")
	}
	if c.UnknownInner > 0 {
		t.problem(yellow, plural(c.UnknownInner, "packet")+" in a tunnel or behind a tag with something inside that rocelens "+
			"does not decode: RoCE may be hidden there.")
	}
	if c.QuotedRoCE > 0 {
		t.problem(yellow, plural(c.QuotedRoCE, "ICMP error")+" about RoCEv2 packets: a host or router refused them.")
	}
	if c.CNPBodies > 0 {
		t.problem(yellow, plural(c.CNPBodies, "CNP")+" whose 16 reserved bytes are not all zero.")
	}
}

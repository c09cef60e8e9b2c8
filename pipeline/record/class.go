package record

// DataDSCP is the DSCP of most packets of a direction, CNPs aside, and the
// lowest one of those that have as many. It is false without a packet.
func (d *Direction) DataDSCP() (dscp uint8, ok bool) {
	var most uint64
	for _, c := range d.DSCP {
		n := c.Packets - min(c.Packets, countOf(d.CNPDSCP, c.DSCP))
		if n > most || n == most && n > 0 && c.DSCP < dscp {
			dscp, most, ok = c.DSCP, n, true
		}
	}
	return dscp, ok
}

// OtherDSCP is how many packets of a direction, CNPs aside, have another DSCP
// than DataDSCP, and which one most of them have.
func (d *Direction) OtherDSCP() (dscp uint8, packets uint64) {
	main, _ := d.DataDSCP()
	var most uint64
	for _, c := range d.DSCP {
		if c.DSCP == main {
			continue
		}
		n := c.Packets - min(c.Packets, countOf(d.CNPDSCP, c.DSCP))
		packets += n
		if n > most {
			dscp, most = c.DSCP, n
		}
	}
	return dscp, packets
}

func countOf(all []DSCPCount, dscp uint8) uint64 {
	for _, c := range all {
		if c.DSCP == dscp {
			return c.Packets
		}
	}
	return 0
}

// MainPriority is the VLAN priority of most packets of a direction. It is false
// without a packet.
func (d *Direction) MainPriority() (p PriorityCount, ok bool) {
	for _, c := range d.Priorities {
		if c.Packets > p.Packets {
			p, ok = c, true
		}
	}
	return p, ok
}

// Answers are the packets of a direction that answer the other side's
// requests.
func (d *Direction) Answers() uint64 {
	n := d.Acks + d.RNRNaks + d.ReadResponses.Packets
	for _, k := range d.Naks {
		n += k
	}
	return n
}

package scenario

// build makes the request packet of a PSN.
func (r *requester) build(psn uint64) *packet {
	se := r.st.sess
	m := r.at(psn)
	k := psn - m.first
	mtu := uint64(se.spec.PathMTU)
	p := &packet{
		sess: se, from: r.st.index, stream: r.st.index, kind: kindRequest,
		psn: psn, psns: 1, msg: m.index, ecn: ecnECT0, dscp: dscpData,
		start: k == 0, last: psn == m.last(),
	}
	p.key = m.key
	p.imm = uint32(m.index)
	p.ackReq = p.last || r.cfg.AckEvery > 0 && psn%uint64(r.cfg.AckEvery) == uint64(r.cfg.AckEvery)-1
	switch {
	case m.Kind == Read:
		// Asked for again from its middle, it is a READ of what is left.
		p.op, p.psns, p.last = opReadRequest, m.psns-k, true
		p.va, p.dmaLen = m.va+k*mtu, uint32(uint64(m.Len)-k*mtu)
		p.resumed = k > 0
		p.start = true
	case m.atomic():
		p.op = opFetchAdd
		if m.Kind == CmpSwap {
			p.op = opCmpSwap
			p.compare = uint64(m.index)
		}
		p.va, p.swapAdd = m.va, 1
	default:
		p.op = dataOp(m.Kind, k == 0, p.last)
		p.va, p.dmaLen = m.va, uint32(m.Len)
		p.payload = int(min(mtu, uint64(m.Len)-k*mtu))
	}
	if !r.reliable() {
		p.ackReq = false
	}
	p.op |= group(se.spec.Service)
	return p
}

func group(s Service) uint8 {
	switch s {
	case UC:
		return groupUC
	case UD:
		return groupUD
	case XRC:
		return groupXRC
	}
	return groupRC
}

// dataOp is the operation of one packet of a SEND or WRITE.
func dataOp(kind MessageKind, first, last bool) uint8 {
	write := kind == Write || kind == WriteImm
	var op uint8
	switch {
	case first && last:
		op = opSendOnly
	case first:
		op = opSendFirst
	case last:
		op = opSendLast
	default:
		op = opSendMiddle
	}
	if write {
		op += opWriteFirst - opSendFirst
	}
	if !last {
		return op
	}
	switch kind {
	case SendImm, WriteImm: // each stands behind the one without
		op++
	case SendInv:
		if first {
			return opSendOnlyInv
		}
		return opSendLastInv
	}
	return op
}

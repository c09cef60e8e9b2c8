package scenario

// handshake is the making and closing of a connection.
type handshake struct {
	tid    uint64
	ids    [2]uint32 // communication IDs of both sides
	sent   map[uint16]int
	timer  int
	done   bool // the connection is made, refused or given up
	closed bool
}

// connect sends REQ.
func (se *session) connect() {
	s := se.s
	se.truth.CM = &CMTruth{ServiceID: cmServiceID, Messages: []CMFrame{}}
	se.cm.sent = make(map[uint16]int)
	se.cm.tid = s.rng.Uint64()
	se.cm.ids = [2]uint32{s.rng.Uint32(), s.rng.Uint32()}
	se.ask(0, attrREQ)
}

// ask sends a message of connection management, and again where no answer
// comes.
func (se *session) ask(from int, attr uint16) {
	se.say(from, attr)
	se.cm.timer++
	mine := se.cm.timer
	wait := int64(4096) << cmTimeoutCode
	se.s.at(se.s.now+wait, func() {
		switch {
		case se.cm.timer != mine:
		case se.cm.sent[attr] <= cmRetries:
			se.ask(from, attr)
		case attr == attrREQ:
			se.truth.CM.Result = "unanswered"
			se.giveUp("unanswered")
		default:
			se.endClosed()
		}
	})
}

// giveUp ends a session that never began.
func (se *session) giveUp(state string) {
	se.cm.done = true
	se.over = true
	for _, st := range se.streams {
		st.req.stop()
	}
	se.end(state, "")
}

// say sends one message.
func (se *session) say(from int, attr uint16) {
	body := &madBody{attr: attr, sess: se, from: from, tid: se.cm.tid, local: se.cm.ids[from], remote: se.cm.ids[1-from]}
	if attr == attrDREQ || attr == attrDREP {
		body.tid++
	}
	again := se.cm.sent[attr] > 0
	se.cm.sent[attr]++
	se.truth.CM.Messages = append(se.truth.CM.Messages, CMFrame{
		Message: attrNames[attr], From: sideName(from), Time: stamp(se.s.now), Again: again,
	})
	const sendOnly = groupUD | opSendOnly
	p := &packet{
		sess: se, from: from, stream: from, kind: kindMAD, op: sendOnly, dscp: 0, ecn: 0, mad: body,
		psn: uint64(len(se.truth.CM.Messages)), nth: se.cm.sent[attr] - 1, msg: len(se.truth.CM.Messages) - 1,
	}
	se.s.transmit(p)
}

// receiveMAD answers a message, or goes on with the connection.
func (se *session) receiveMAD(p *packet) {
	const think = 30_000 // ns
	reply := func(attr uint16) { se.s.at(se.s.now+think, func() { se.say(1-p.from, attr) }) }
	switch p.mad.attr {
	case attrREQ:
		switch se.spec.CM {
		case Unanswered:
		case Refused:
			reply(attrREJ)
		default:
			reply(attrREP)
		}
	case attrREJ:
		se.cm.timer++
		if !se.cm.done {
			se.truth.CM.Result = "refused"
			se.giveUp("refused")
		}
	case attrREP:
		se.cm.timer++
		reply(attrRTU)
		if !se.cm.done {
			se.cm.done = true
			se.truth.CM.Result = "connected"
			const grace = 40_000 // ns, so that RTU goes first
			se.s.at(se.s.now+grace, se.work)
		}
	case attrDREQ:
		reply(attrDREP)
	case attrDREP:
		se.cm.timer++
		se.endClosed()
	}
}

// disconnect closes the connection.
func (se *session) disconnect() {
	if se.spec.CM == NoCM { // nobody to tell
		se.endClosed()
		return
	}
	se.ask(0, attrDREQ)
}

func (se *session) endClosed() {
	if !se.cm.closed && se.truth.State != "failed" {
		se.end("done", "")
	}
	se.cm.closed = true
}

package scenario

// Causes of a step back, as the requester knows them.
const (
	causeRNR     = "rnr"
	causeNAK     = "nak"
	causeRead    = "read"
	causeTimeout = "timeout"
	causeUnknown = "unknown"
)

// startTimer starts the retransmission timer anew.
func (r *requester) startTimer() {
	if r.stopped {
		return
	}
	r.timers++
	r.timer = r.timers
	mine := r.timer
	s := r.st.sess.s
	s.at(s.now+r.st.sess.truth.AckTimeout, func() {
		if r.timer == mine {
			r.timer = 0
			r.expire()
		}
	})
}

// expire is called when nothing was acknowledged for the length of the timer.
func (r *requester) expire() {
	if r.una >= r.max || r.stopped {
		return
	}
	if r.retries <= 0 {
		r.fail("retry_exceeded")
		return
	}
	r.retries--
	r.awaiting = false
	r.timedOut()
	r.st.sess.counters(r.st.index).LocalAckTimeout++
	r.stepBack(r.una, causeTimeout, nil)
}

func (r *requester) fail(why string) {
	if r.episode != nil {
		r.episode.End = "failed"
		r.episode.Done = stamp(r.st.sess.s.now)
		r.episode = nil
	}
	r.st.sess.fail(why)
}

// receive handles an answer.
func (r *requester) receive(p *packet) {
	if r.stopped {
		return
	}
	n := r.st.sess.counters(r.st.index)
	switch oper := p.op & 0x1f; {
	case oper != opAcknowledge:
		r.response(p)
	case p.syndrome&0xe0 == 0:
		r.msn = max(r.msn, p.msn)
		r.acknowledge(p.psn+1, p)
	case p.syndrome == syndromeNAK:
		n.PacketSeqErr++
		r.sequenceNAK(p)
	case p.syndrome&0xe0 == syndromeRNR:
		n.RNRNAKRetryErr++
		r.rnrNAK(p)
	default:
		r.acknowledge(p.psn, p)
		r.fail(rejections[p.syndrome])
	}
	r.reckon()
	if !r.stopped {
		r.post()
		r.st.sess.maybeDone()
	}
}

// rejections are what error NAKs are called.
var rejections = map[uint8]string{
	0x61: "remote_invalid_request", 0x62: "remote_access_error", 0x63: "remote_operational_error",
}

// owed is the PSN of the first response that is awaited, if there is one below
// a limit.
func (r *requester) owed(below uint64) (uint64, bool) {
	if len(r.msgs) == 0 || r.una >= r.end {
		return 0, false
	}
	for i := r.at(r.una).index; i < len(r.msgs) && r.msgs[i].first < below; i++ {
		m := r.msgs[i]
		if e := max(r.una, m.first); m.answered() && e <= m.last() && e < below {
			return e, true
		}
	}
	return 0, false
}

// acknowledge takes everything before a PSN as received, unless a response is
// missing before it: that is an implied NAK.
func (r *requester) acknowledge(upTo uint64, p *packet) {
	if upTo <= r.una {
		return
	}
	if e, ok := r.owed(upTo); ok {
		r.progress(e)
		r.implied(e, p)
		return
	}
	r.progress(upTo)
}

// response takes a packet of a READ's answer, or an atomic's.
func (r *requester) response(p *packet) {
	if p.psn < r.una {
		return
	}
	e, ok := r.owed(p.psn + 1)
	switch {
	case !ok: // nobody waits for it
	case e == p.psn:
		r.awaiting = false
		r.progress(p.psn + 1)
	default:
		r.progress(e)
		r.implied(e, p)
	}
}

// implied is the implied NAK: something beyond the response that is owed came.
func (r *requester) implied(e uint64, p *packet) {
	if r.cfg.NoImpliedNAK || r.awaiting || r.stalled {
		return
	}
	r.awaiting = true
	r.st.sess.counters(r.st.index).ImpliedNAKSeqErr++
	r.later(int64(r.cfg.React), func() {
		r.awaiting = true
		r.gap = e
		r.retry(max(e, r.una), causeRead, p)
	})
}

// progress takes everything before a PSN as done.
func (r *requester) progress(upTo uint64) {
	if upTo <= r.una {
		return
	}
	for i := r.at(r.una).index; i < len(r.msgs) && r.msgs[i].last() < upTo; i++ {
		r.msgs[i].truth.Done = true
	}
	r.una = upTo
	r.retries, r.rnrs = r.cfg.RetryCount, r.cfg.RNRRetry
	if r.una > r.next && (r.cfg.SkipAcked || r.una >= r.max) {
		r.next = r.una // no need to send the rest again
		if e := r.episode; e != nil && r.next >= e.max {
			e.End, e.Done = "recovered", stamp(r.st.sess.s.now)
			r.episode = nil
		}
	}
	r.timer = 0
	if r.una < r.max && !r.stalled {
		r.startTimer()
	}
}

func (r *requester) sequenceNAK(p *packet) {
	if p.psn < r.una || p.psn >= r.max || r.stalled {
		return // of a pass that is over
	}
	to := p.psn
	if e, ok := r.owed(to); ok {
		to = e
	}
	r.progress(to)
	if to >= r.next {
		return // it is on its way there again already
	}
	r.later(int64(r.cfg.React), func() { r.retry(to, causeNAK, p) })
}

func (r *requester) rnrNAK(p *packet) {
	if p.psn < r.una || p.psn >= r.max || r.stalled {
		return
	}
	r.acknowledge(p.psn, p)
	if r.stalled {
		return
	}
	if r.cfg.RNRRetry != 7 {
		if r.rnrs <= 0 {
			r.fail("rnr_retry_exceeded")
			return
		}
		r.rnrs--
	}
	r.refused = true
	r.later(rnrTimer(p.syndrome&0x1f), func() { r.stepBack(p.psn, causeRNR, p) })
}

// rnrTimer is the wait that a code stands for, in ns.
func rnrTimer(code uint8) int64 {
	us := [32]int64{
		655360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960, 1280, 1920,
		2560, 3840, 5120, 7680, 10240, 15360, 20480, 30720, 40960, 61440, 81920, 122880, 163840, 245760, 327680, 491520,
	}
	return us[code] * 1000
}

// later stops sending for a while, and the timer with it.
func (r *requester) later(wait int64, do func()) {
	r.stalled = true
	r.reckon()
	r.timer = 0
	s := r.st.sess.s
	s.at(s.now+wait, func() {
		r.reckon()
		r.stalled, r.refused = false, false
		if !r.stopped {
			do()
		}
	})
}

// retry is a step back that counts as one of the retries.
func (r *requester) retry(to uint64, cause string, p *packet) {
	if to >= r.next { // it came after all
		r.awaiting = false
		r.startTimer()
		r.pump()
		return
	}
	if r.retries <= 0 {
		r.fail("retry_exceeded")
		return
	}
	r.retries--
	r.stepBack(to, cause, p)
}

// stepBack begins a new pass.
func (r *requester) stepBack(to uint64, cause string, trigger *packet) {
	se := r.st.sess
	m := r.at(to)
	mode := r.cfg.Mode
	if mode == Selective && cause != causeNAK {
		mode = GoBackN
	}
	r.single = nil
	switch mode {
	case Selective:
		r.single = []uint64{to}
		r.next = r.max
	case GoBack0:
		r.next = m.first
	default:
		r.next = to
	}
	from := to
	if cause != causeRead {
		r.gap = to
	}
	if mode == GoBack0 {
		from = m.first
	}
	t := &Try{
		Pass: r.pass + 1, Sent: stamp(se.s.now), PSN: se.wirePSN(r.st.index, from), Mode: mode, Cause: cause, r: from,
	}
	if cause == causeNAK || cause == causeRNR {
		t.NAKPSN = trigger.wirePSN()
		t.NAKFrame = trigger.frame
	}
	r.st.judge(t, to, r.pass, trigger)
	r.pass++
	if r.episode == nil {
		r.episode = &Episode{MaxPSN: se.wirePSN(r.st.index, r.max), End: "open", Start: t.Sent, max: r.max}
		r.st.truth.Episodes = append(r.st.truth.Episodes, r.episode)
	}
	t.Episode = len(r.st.truth.Episodes) - 1
	r.episode.Tries = append(r.episode.Tries, len(r.st.truth.Tries))
	r.st.truth.Tries = append(r.st.truth.Tries, t)
	r.startTimer()
	r.pump()
}

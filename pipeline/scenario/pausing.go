package scenario

// pausing lets the second host stop the first one, as the spec says. It ends
// with the work, and lets it go on then.
func (s *simulation) pausing() {
	p := &s.spec.Pausing
	for i := range p.Times {
		at := int64(p.Start) + int64(i)*int64(p.Every)
		s.control(at, true)
		s.control(at+int64(p.Length), false)
	}
}

// control sends a PFC frame from the second host, which passes the tap at a
// time.
func (s *simulation) control(at int64, stop bool) {
	s.at(at, func() {
		if s.over() && (stop || !s.paused) {
			return
		}
		quanta := uint16(0)
		if stop {
			quanta = 0xffff
		}
		s.tap.buf = appendPause(s.tap.buf[:0], hostMAC(1), []int{3}, quanta)
		s.tap.frame()
		s.truth.Totals.PausesSeen++
		s.at(s.now+int64(s.spec.Network.LatencyA), func() {
			s.paused = stop
			for _, se := range s.sessions {
				for _, st := range se.streams {
					st.req.reckon()
					st.req.pump()
					st.req.reckon()
				}
			}
		})
	})
}

// over says whether all sessions have ended.
func (s *simulation) over() bool {
	for _, se := range s.sessions {
		if !se.over {
			return false
		}
	}
	return true
}

// paused says whether flow control stops the requester.
func (r *requester) paused() bool {
	return r.st.sess.s.paused && r.st.sess.spec.side(r.st.index).Host == 0
}

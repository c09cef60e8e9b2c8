package scenario

// Waits is what a requester did with its time, in ns by what kept it from
// sending faster.
type Waits struct {
	Sending     int64 `json:"sending"`     // at its link's speed
	Application int64 `json:"application"` // it had nothing to send
	Window      int64 `json:"window"`      // as much as it may was outstanding
	Credits     int64 `json:"credits"`     // the responder's last ACK had no more
	RNR         int64 `json:"rnr"`         // the timers of RNR NAKs
	Recovery    int64 `json:"recovery"`    // from a loss, as far as the requester knows of it, until all was sent again
	Congestion  int64 `json:"congestion"`  // it sent, slower for CNPs
	Pause       int64 `json:"pause"`       // flow control stopped it, and it had something to send
}

// reckoning is since when a requester does what.
type reckoning struct {
	since int64
	what  func(*Waits) *int64 // nil before there is work, and where nothing is told
	sent  int64               // when the last packet was
}

func spentSending(w *Waits) *int64     { return &w.Sending }
func spentApplication(w *Waits) *int64 { return &w.Application }
func spentWindow(w *Waits) *int64      { return &w.Window }
func spentCredits(w *Waits) *int64     { return &w.Credits }
func spentRNR(w *Waits) *int64         { return &w.RNR }
func spentRecovery(w *Waits) *int64    { return &w.Recovery }
func spentCongestion(w *Waits) *int64  { return &w.Congestion }
func spentPause(w *Waits) *int64       { return &w.Pause }

// reckon counts the time since it was called last for what the requester did
// then. It is called whenever that may change.
func (r *requester) reckon() {
	if !r.reliable() {
		return
	}
	t := &r.time
	now := r.st.sess.s.now
	if t.what != nil && now > t.since {
		*t.what(r.waited()) += now - t.since
	}
	t.since, t.what = now, r.spends()
}

func (r *requester) waited() *Waits {
	if r.st.truth.Waits == nil {
		r.st.truth.Waits = new(Waits)
	}
	return r.st.truth.Waits
}

// spends is what the requester spends its time on now.
func (r *requester) spends() func(*Waits) *int64 {
	switch {
	case r.stopped, r.done(), r.posted == 0:
		return nil
	case r.stalled && r.refused:
		return spentRNR
	case r.stalled, r.episode != nil:
		return spentRecovery
	case r.paused() && r.next < r.end:
		return spentPause
	case r.sending && r.st.sess.qps[r.st.index].share < 1:
		return spentCongestion
	case r.sending:
		return spentSending
	case r.next < r.end && r.outOfCredits():
		return spentCredits
	case r.next < r.end:
		return spentWindow
	case r.waiting && r.una == r.end:
		return spentApplication
	}
	return spentWindow
}

// timedOut says that what the requester took for waiting since it sent the last
// packet was the time that it needed to know of a loss.
func (r *requester) timedOut() {
	r.reckon()
	if d := r.st.sess.s.now - r.time.sent; r.time.what != nil && r.episode == nil {
		w := r.waited()
		lost := min(d, w.Window)
		w.Window -= lost
		w.Recovery += lost
	}
}

// creditCounts are the credits that the low five bits of an ACK's syndrome
// stand for; 31 is that it doesn't say.
var creditCounts = [31]int{
	0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768,
}

// outOfCredits says whether the next packet begins a message for which the
// responder has told of no receive buffer. One message may go without.
func (r *requester) outOfCredits() bool {
	c := r.st.sess.spec.Responder.Credits
	if c == 0 || r.una == r.next {
		return false
	}
	m := r.at(r.next)
	return m.first == r.next && m.takesBuffer() && uint64(m.index) >= r.msn+uint64(creditCounts[c])
}

// takesBuffer says whether the message uses up a receive buffer.
func (m *message) takesBuffer() bool {
	switch m.Kind {
	case Send, SendImm, SendInv, WriteImm:
		return true
	}
	return false
}

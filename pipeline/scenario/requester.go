package scenario

import (
	"sort"
)

// message is a request message that was posted.
type message struct {
	Message
	index int
	first uint64 // its first PSN
	psns  uint64 // how many it takes
	va    uint64
	key   uint32
	truth *MessageTruth
	came  uint64 // packets that arrived, of a service without acknowledgements
	// responses are those of a READ or an atomic that were captured, in order.
	responses uint64
	// beyond are those that were captured ahead of their turn, all when the last
	// one that was missing was, and which frame that is.
	beyond   map[uint64]bool
	all      int64
	allFrame uint64
	// seen is when a packet of it was captured first.
	seen      int64
	seenFrame uint64
}

func (m *message) last() uint64 { return m.first + m.psns - 1 }

// requester is the sending half of a QP. Its PSNs count from 0 and never wrap;
// the wire has them modulo 2^24 from the starting PSN on.
type requester struct {
	st  *stream
	cfg *Requester

	msgs   []*message
	posted int    // messages of the work that were posted
	end    uint64 // one past the last posted PSN
	next   uint64 // to be sent
	una    uint64 // the oldest that is not acknowledged
	max    uint64 // one past the highest that was sent
	pass   int
	order  uint64
	nth    map[uint64]int

	single   []uint64 // PSNs to be sent again alone, by selective repeat
	stalled  bool     // until a NAK's step back is made
	stopped  bool
	sending  bool // a packet is due
	free     int64
	timer    int // generation, 0 for none running
	timers   int
	retries  int
	rnrs     int
	awaiting bool   // a READ was asked for again, and its response is awaited
	gap      uint64 // the PSN that made the requester step back
	episode  *Episode
	waiting  bool // a message is to be posted later
	refused  bool // it is stalled for an RNR NAK
	msn      uint64
	time     reckoning
}

func newRequester(st *stream) *requester {
	cfg := &st.sess.spec.Requester
	return &requester{st: st, cfg: cfg, nth: make(map[uint64]int), retries: cfg.RetryCount, rnrs: cfg.RNRRetry}
}

func (r *requester) work() *Work { return &r.st.sess.spec.Work[r.st.index] }

func (r *requester) reliable() bool {
	return r.st.sess.spec.Service == RC || r.st.sess.spec.Service == XRC
}

// done says whether all work is done, or will never be.
func (r *requester) done() bool {
	return r.stopped || r.posted == len(r.work().Messages) && r.una == r.end && r.next >= r.end
}

func (r *requester) stop() {
	r.reckon()
	r.stopped = true
	r.timer = 0
}

// post posts messages as the work says, and sends.
func (r *requester) post() {
	w := r.work()
	for r.posted < len(w.Messages) && !r.stopped && !r.waiting {
		if w.Depth > 0 && r.open() >= w.Depth {
			break
		}
		r.append(w.Messages[r.posted])
		r.posted++
		if w.Every > 0 && r.posted < len(w.Messages) {
			r.waiting = true
			r.st.sess.s.at(r.st.sess.s.now+int64(w.Every), func() {
				r.waiting = false
				r.post()
			})
		}
	}
	r.pump()
	r.reckon()
}

// open is how many messages are posted and not complete.
func (r *requester) open() int {
	return len(r.msgs) - sort.Search(len(r.msgs), func(i int) bool { return r.msgs[i].first+r.msgs[i].psns > r.una })
}

func (r *requester) append(m Message) {
	mtu := uint64(r.st.sess.spec.PathMTU)
	psns := uint64(1)
	if !m.atomic() {
		psns = max(1, (uint64(m.Len)+mtu-1)/mtu)
	}
	packets := int(psns)
	if m.answered() {
		packets = 1
	}
	i := len(r.msgs)
	msg := &message{
		Message: m, index: i, first: r.end, psns: psns,
		va: 0x7f00_0000_0000 + uint64(i)<<20, key: 0x1000 + uint32(i)&0xff,
	}
	se := r.st.sess
	msg.truth = &MessageTruth{
		Kind: m.Kind, Bytes: m.Len, FirstPSN: se.wirePSN(r.st.index, msg.first),
		LastPSN: se.wirePSN(r.st.index, msg.last()), Packets: packets, first: msg.first, last: msg.last(),
	}
	r.msgs = append(r.msgs, msg)
	r.st.truth.Messages = append(r.st.truth.Messages, msg.truth)
	r.end += psns
}

// at finds the message that a PSN belongs to.
func (r *requester) at(psn uint64) *message {
	i := sort.Search(len(r.msgs), func(i int) bool { return r.msgs[i].first > psn })
	return r.msgs[i-1]
}

// ready says whether a packet may be sent now.
func (r *requester) ready() bool {
	switch {
	case r.stopped || r.stalled || r.paused():
		return false
	case len(r.single) > 0:
		return true
	case r.next >= r.end:
		return false
	case !r.reliable():
		return true
	}
	if r.next > r.una && r.next-r.una >= uint64(r.cfg.Window) {
		return false
	}
	return !r.outOfCredits() && (!r.at(r.next).answered() || r.reads() < r.cfg.MaxReads)
}

// reads is how many READs and atomics are outstanding in this pass.
func (r *requester) reads() int {
	n := 0
	for i := r.at(r.una).index; i < len(r.msgs) && r.msgs[i].first < r.next; i++ {
		if r.msgs[i].answered() && r.msgs[i].last() >= r.una {
			n++
		}
	}
	return n
}

// pump sends what may be sent, a packet at a time at the rate that is allowed.
func (r *requester) pump() {
	if r.sending || !r.ready() {
		return
	}
	r.sending = true
	r.reckon()
	s := r.st.sess.s
	s.at(r.free, func() {
		r.reckon()
		r.sending = false
		if !r.ready() {
			r.reckon()
			return
		}
		r.time.sent = s.now
		p := r.take()
		gap := float64(s.serialise(p)) / r.st.sess.qps[r.st.index].share
		r.free = s.now + int64(gap)
		s.transmit(p)
		if r.timer == 0 && r.reliable() {
			r.startTimer()
		}
		if r.next >= r.end && len(r.single) == 0 {
			r.allSent()
		}
		r.pump()
		r.reckon()
	})
}

// allSent ends the work of a service without acknowledgements.
func (r *requester) allSent() {
	if r.reliable() {
		return
	}
	r.una = r.next
	r.post()
	r.st.sess.maybeDone()
}

// take makes the next packet to be sent.
func (r *requester) take() *packet {
	psn := r.next
	alone := len(r.single) > 0
	if alone {
		psn, r.single = r.single[0], r.single[1:]
	}
	p := r.build(psn)
	p.resend = psn < r.max
	p.nth = r.nth[psn]
	r.nth[psn]++
	p.pass = r.pass
	r.order++
	p.order = r.order
	if !alone {
		r.next = psn + p.psns
	}
	sent := &r.st.truth.Sent
	if p.resend {
		sent.Again++
		t := r.st.truth.Tries[r.pass-1]
		t.SentAgain++
	} else {
		sent.First++
		sent.Payload += uint64(p.payload)
	}
	r.max = max(r.max, psn+p.psns)
	if e := r.episode; e != nil && (r.next >= e.max && len(r.single) == 0) {
		e.End, e.Done = "recovered", stamp(r.st.sess.s.now)
		r.episode = nil
	}
	return p
}

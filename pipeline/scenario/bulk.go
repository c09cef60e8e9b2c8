package scenario

import (
	"fmt"
	"math/rand/v2"

	"github.com/rocelens/rocelens/capture"
)

// bulk is a scenario with very many packets or sessions, for benchmarks. Its
// sessions are small machines in one array that send a frame each in turn:
// messages of a few packets and an ACK for each. A packet that is lost is NAKed
// when its message has been sent, and everything from it on is sent again.
// Neither the last packet of a message nor anything that is sent again is lost.
// What is known of each session is 40 bytes, whatever it sends.
type bulk struct {
	write    bool // else SEND
	sessions int
	packets  int
	payload  int
	perMsg   int // packets in a message
}

func bulkScenarios() []Scenario {
	takes := []Option{OptSessions, OptPackets, OptPayload, OptLoss}
	return []Scenario{
		{Name: "bulk_write", About: "WRITEs of 8 packets in 1,000 sessions, 1,000,000 packets", Takes: takes,
			bulk: &bulk{write: true, sessions: 1000, packets: 1_000_000, payload: kib, perMsg: 8}},
		{Name: "bulk_send", About: "SENDs of 3 packets in 1,000 sessions, 1,000,000 packets", Takes: takes,
			bulk: &bulk{sessions: 1000, packets: 1_000_000, payload: kib, perMsg: 3}},
		{Name: "bulk_sessions", About: "a million sessions, all alive at once, with a WRITE of 2 packets at a time; 6,000,000 packets", Takes: takes,
			bulk: &bulk{write: true, sessions: 1_000_000, packets: 6_000_000, payload: 256, perMsg: 2}},
	}
}

// bulkSession is the state of one session.
type bulkSession struct {
	ready  int64  // not before
	psn    uint32 // of the message
	msn    uint32
	left   uint32 // messages
	missed uint32 // packets of this message that the tap has not seen, a bit each
	pos    uint8  // packets sent of the message
	back   uint8  // 1 + the packet to go back to, 0 for none
	phase  uint8
}

// Phases of a message.
const (
	bulkData   = iota // first sending
	bulkNAK           // the NAK is due
	bulkRepeat        // sending again
	bulkACK           // the ACK is due
	bulkDone
)

// bulkRun is one run of a bulk scenario.
type bulkRun struct {
	bulk
	truth *Truth
	rng   *rand.Rand
	sink  Sink
	loss  float64
	snap  int
	now   int64
	hosts int // on either side
	ipids []uint16
	state []bulkSession
	data  [3]template
	// unlisted takes the counts of sessions that are too many to be listed.
	unlisted StreamTruth
	ack      template
	gap      [2]int64 // of a data packet and of an answer
}

// maxListed is from how many sessions on they are no longer listed.
const maxListed = 1000

// bulkTurn is the least time between a packet and its answer, in ns.
const bulkTurn = 4000

func (b *bulk) run(name string, o Options, sink Sink) (*Truth, error) {
	r := &bulkRun{bulk: *b, sink: sink, loss: o.Loss, snap: o.Snaplen, rng: rand.New(rand.NewPCG(o.Seed, 0xb01c))}
	r.sessions, r.packets, r.payload = orElse(o.Sessions, b.sessions), orElse(o.Packets, b.packets), orElse(o.Payload, b.payload)
	if r.payload < 256 || r.payload > maxMTU || r.payload&(r.payload-1) != 0 {
		return nil, fmt.Errorf("a payload of %d is no path MTU: use 256, 512, 1024, 2048 or 4096", r.payload)
	}
	const perHost = 256
	r.hosts = max(1, r.sessions/perHost)
	r.ipids = make([]uint16, 2*r.hosts)
	r.truth = &Truth{Scenario: name, Seed: o.Seed, SessionCount: r.sessions, Sessions: []*SessionTruth{}}
	r.truth.Network = NetworkTruth{Speed: defaultSpeed, LatencyA: defaultLatency, LatencyB: defaultLatency, Vantage: "between", IPID: "rising"}
	r.truth.Tap = TapTruth{Direction: "both", Snaplen: o.Snaplen}
	r.prepare()
	messages := max(1, r.packets/r.sessions/(r.perMsg+1))
	r.state = make([]bulkSession, r.sessions)
	for i := range r.state {
		r.state[i] = bulkSession{psn: r.rng.Uint32() & psnMask, left: uint32(messages)}
		if r.sessions <= maxListed {
			r.list(i, messages)
		}
	}
	for busy := true; busy; {
		busy = false
		for i := range r.state {
			s := &r.state[i]
			if s.phase == bulkDone {
				continue
			}
			if err := r.step(i, s); err != nil {
				return nil, err
			}
			busy = true
		}
	}
	for _, se := range r.truth.Sessions {
		st := se.Streams[0]
		st.Seen.Requests = st.Seen.First + st.Seen.Fills + st.Seen.Repeats
		st.Sent.Answers = st.Seen.Answers
		se.Start, se.End = r.truth.First, r.truth.Last
	}
	return r.truth, nil
}

// step lets a session send its next frame.
func (r *bulkRun) step(i int, s *bulkSession) error {
	t := &r.truth.Totals
	seen, sent := r.counted(i)
	switch s.phase {
	case bulkData:
		pos := s.pos
		s.pos++
		last := int(s.pos) == r.perMsg
		if last {
			s.phase = bulkACK
			if s.back > 0 {
				s.phase = bulkNAK
			}
		}
		if !last && r.loss > 0 && r.rng.Float64() < r.loss {
			if s.back == 0 {
				s.back = pos + 1
			}
			if r.rng.Uint32()&1 == 0 {
				s.missed |= 1 << pos
				t.DropsBefore++
				return nil
			}
			t.DropsAfter++
		}
		t.FirstSeen++
		seen.First++
		seen.Payload += uint64(r.payload)
		return r.request(i, s, pos)
	case bulkNAK:
		s.phase = bulkRepeat
		s.pos = s.back - 1
		seen.Answers++
		t.NAKs++
		t.NAKsSeen++
		t.Tries++
		t.TriesVisible++
		t.Episodes++
		return r.answer(i, s, s.psn+uint32(s.pos), syndromeNAK)
	case bulkRepeat:
		pos := s.pos
		if s.missed>>pos&1 != 0 {
			t.Fills++
			seen.Fills++
			seen.Payload += uint64(r.payload)
		} else {
			t.Repeats++
			seen.Repeats++
			t.Wasted++
		}
		sent.Again++
		if s.pos++; int(s.pos) == r.perMsg {
			s.phase = bulkACK
		}
		return r.request(i, s, pos)
	}
	s.msn++
	seen.Answers++
	t.MessagesDone++
	err := r.answer(i, s, s.psn+uint32(r.perMsg)-1, syndromeACK)
	s.psn += uint32(r.perMsg)
	s.pos, s.back, s.missed, s.phase = 0, 0, 0, bulkData
	if s.left--; s.left == 0 {
		s.phase = bulkDone
	}
	return err
}

// counted is where what a session sends is counted, if it is listed.
func (r *bulkRun) counted(i int) (*Seen, *Sent) {
	if i >= len(r.truth.Sessions) {
		r.unlisted = StreamTruth{}
		return &r.unlisted.Seen, &r.unlisted.Sent
	}
	st := r.truth.Sessions[i].Streams[0]
	return &st.Seen, &st.Sent
}

// request writes a packet of a session's message.
func (r *bulkRun) request(i int, s *bulkSession, pos uint8) error {
	r.truth.Totals.RequestsSeen++
	tm := &r.data[1]
	switch int(pos) {
	case 0:
		tm = &r.data[0]
	case r.perMsg - 1:
		tm = &r.data[2]
	}
	a, b := r.ends(i)
	tm.address(a, b+r.hosts, bulkQPN(i, 1), s.psn+uint32(pos), bulkPort(i))
	r.now = max(r.now, s.ready) + r.gap[0]
	s.ready = r.now
	if s.phase == bulkNAK || s.phase == bulkACK {
		s.ready += bulkTurn
	}
	return r.write(tm, &r.ipids[a])
}

// answer writes an ACK or a NAK.
func (r *bulkRun) answer(i int, s *bulkSession, psn uint32, syndrome uint8) error {
	r.truth.Totals.AnswersSeen++
	a, b := r.ends(i)
	r.ack.address(b+r.hosts, a, bulkQPN(i, 0), psn, bulkPort(i))
	r.ack.aeth(syndrome, s.msn)
	r.now = max(r.now, s.ready) + r.gap[1]
	s.ready = r.now + bulkTurn
	return r.write(&r.ack, &r.ipids[b+r.hosts])
}

func (r *bulkRun) write(tm *template, ipid *uint16) error {
	*ipid++
	data := tm.seal(*ipid, r.snap)
	t := r.truth
	t.Frames++
	t.Bytes += uint64(len(tm.b))
	at := stamp(r.now)
	if t.Frames == 1 {
		t.First = at
	}
	t.Last = at
	return r.sink.WriteFrame(&capture.Frame{
		Data: data, Time: at, Number: t.Frames, OrigLen: uint32(len(tm.b)), Link: capture.LinkEthernet, FCSLen: -1,
	})
}

// ends are the hosts of a session, on either side counted from 0.
func (r *bulkRun) ends(i int) (a, b int) { return i % r.hosts, i / 7 % r.hosts }

// bulkQPN is a session's QPN on side a or b. None is used twice.
func bulkQPN(i, side int) uint32 { return uint32(0x100+i) + uint32(side)<<22 }

func bulkPort(i int) uint16 { return labelPort(qpnFlowLabel(bulkQPN(i, 0), bulkQPN(i, 1))) }

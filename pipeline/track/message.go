package track

import (
	"slices"

	"github.com/rocelens/rocelens/pipeline/record"
)

// maxMessages and maxSamples bound what is waited for on one stream.
const (
	maxMessages = 1 << 10
	maxSamples  = 16
)

// newPacket notes a request beyond the maximum.
func (s *stream) newPacket(p *Packet, op *operation, n uint32) {
	hi := psnAdd(p.PSN, n)
	s.cum += uint64(p.Payload)
	if !op.ends() {
		s.mtu = max(s.mtu, uint32(p.Payload))
	}
	s.longest = max(s.longest, uint32(p.Payload))
	var m *message // that is under way
	if last := len(s.messages) - 1; last >= 0 && !s.messages[last].ended {
		m = &s.messages[last]
	}
	goesOn := m != nil && !op.begins() && m.kind == op.kind
	if goesOn && psnDiff(p.PSN, m.hi) <= 1 {
		m.hi, m.cum, m.ended = hi, s.cum, op.ends()
	} else {
		if m != nil && !goesOn { // its end is among what was jumped over
			m.ended, m.hi = true, p.PSN
		}
		if op.begins() {
			s.sent[op.kind]++
		}
		if len(s.messages) >= maxMessages {
			s.messages = append(s.messages[:0], s.messages[maxMessages/4:]...)
		}
		s.messages = append(s.messages, message{
			lo: p.PSN, hi: hi, start: p.Time, cum: s.cum, kind: op.kind,
			ended: op.ends(), partial: !op.begins(), owing: op.class == classOwing,
			// Of two packets that are missing, one may be the end of a message and the
			// other the beginning of the next one.
			joined: goesOn,
		})
	}
	if (op.ends() || p.is(ackReq)) && len(s.samples) < maxSamples && s.rec.quiet() {
		s.samples = append(s.samples, sample{p.PSN, p.Time})
	}
}

// fillMessage takes a request below the maximum that was not seen before into
// the messages.
func (t *Tracker) fillMessage(s *stream, p *Packet, n uint32) {
	op, _ := operationOf(p.Opcode)
	hi := psnAdd(p.PSN, n)
	if op.begins() {
		s.sent[op.kind]++
	}
	i := len(s.messages)
	for i > 0 && psnDiff(s.messages[i-1].lo, p.PSN) > 0 {
		i--
	}
	// Those before i begin at or below the packet.
	if i > 0 && op.begins() && (!s.messages[i-1].ended || psnDiff(s.messages[i-1].hi, p.PSN) > 0) {
		s.messages[i-1].hi, s.messages[i-1].ended = p.PSN, true
	}
	if i < len(s.messages) && (op.begins() || op.ends()) {
		s.messages[i].joined = false
	}
	switch {
	case op.part == partOnly:
		s.messages = slices.Insert(s.messages, i, message{lo: p.PSN, hi: hi, start: p.Time, kind: op.kind, ended: true, owing: op.class == classOwing, cum: s.cum})
	case op.part == partFirst && i < len(s.messages) && s.messages[i].partial:
		m := &s.messages[i]
		m.lo, m.partial, m.start, m.kind = p.PSN, false, min(m.start, p.Time), op.kind
	case op.part == partFirst:
		s.messages = slices.Insert(s.messages, i, message{lo: p.PSN, hi: hi, start: p.Time, kind: op.kind, cum: s.cum})
	case i > 0:
		m := &s.messages[i-1]
		if psnDiff(hi, m.hi) > 0 || op.ends() {
			m.hi = hi
		}
		m.ended = m.ended || op.ends()
	}
	if len(s.messages) > maxMessages {
		s.messages = s.messages[:copy(s.messages, s.messages[1:])]
	}
}

// complete closes the messages below upTo that answers have completed: with
// responses, the READs and atomics among them too.
func (t *Tracker) complete(f *flow, p *Packet, upTo uint32, responses bool) {
	s := f.req
	done := 0
	for i := 0; i < len(s.messages); i++ {
		m := &s.messages[i]
		for i+1 < len(s.messages) && s.messages[i+1].joined && psnDiff(s.messages[i+1].lo, upTo) < 0 {
			next := &s.messages[i+1] // nothing came between them that would say so
			m.hi, m.ended, m.cum = next.hi, next.ended, next.cum
			s.messages = slices.Delete(s.messages, i+1, i+2)
		}
		if psnDiff(m.hi, upTo) > 0 {
			if psnDiff(m.lo, upTo) < 0 && m.cum > s.cumAcked {
				left := uint64((m.hi - upTo) & psnMask)
				s.cumAcked = max(s.cumAcked, m.cum-min(m.cum, left*uint64(f.pathMTU())))
			}
			break
		}
		if m.done || !m.ended || m.owing && (!responses && s.waitsFor(m.lo) || s.resp.isJumbled(m.lo)) {
			continue
		}
		m.done = true
		s.cumAcked = max(s.cumAcked, m.cum)
		if m.owing && s.waitsFor(m.lo) {
			m.done = false
			continue
		}
		t.completed(f, m, p.Ref())
	}
	for done < len(s.messages) && s.messages[done].done {
		done++
	}
	if done > 0 {
		s.messages = s.messages[:copy(s.messages, s.messages[done:])]
	}
}

// completed counts a message that was completed by what came in a frame.
func (t *Tracker) completed(f *flow, m *message, by record.FrameRef) {
	f.req.completed++
	if !m.partial {
		took := between(m.start, by.Time)
		t.latencies(f).kind(m.kind).Add(took)
		if l := t.intervalLatencies(f); l != nil {
			l.kinds[m.kind].Add(took)
		}
		t.cfg.Notes.messageLatency(by, by.Time-m.start)
	}
}

// dropSamples forgets the packets from psn on: they are sent twice, and which
// of the two an acknowledgement means can't be told (Karn's rule).
func (s *stream) dropSamples(psn uint32) {
	for i := range s.samples {
		if psnDiff(s.samples[i].psn, psn) >= 0 {
			s.samples = s.samples[:i]
			return
		}
	}
}

// sampleUpTo takes the latency of the packets up to psn.
func (t *Tracker) sampleUpTo(f *flow, p *Packet, psn uint32) {
	s := f.req
	for len(s.samples) > 0 && psnDiff(s.samples[0].psn, psn) <= 0 {
		t.acknowledged(f, p, s.samples[0].time)
		s.samples = s.samples[:copy(s.samples, s.samples[1:])]
	}
}

// acknowledged takes the latency of a packet that was sent at a time, and that p
// acknowledges.
func (t *Tracker) acknowledged(f *flow, p *Packet, sent int64) {
	took := between(sent, p.Time)
	t.latencies(f).ack.Add(took)
	if l := t.intervalLatencies(f); l != nil {
		l.ack.Add(took)
	}
	t.cfg.Notes.ackLatency(p, p.Time-sent)
}

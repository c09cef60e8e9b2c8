package main

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/dashboards/packets"
	"github.com/rocelens/rocelens/decode"
)

// selection is which packets are listed.
type selection struct {
	frames   frameSet
	from, to timeSpec
	loc      *time.Location
	last     int64 // time of the last frame, where from or to needs it
	inputs   int

	lo, hi int64 // from and to, resolved; both are in
}

// start resolves the times when the first frame is known.
func (s *selection) start(first int64) error {
	s.lo, s.hi = math.MinInt64, math.MaxInt64
	if s.from.given() {
		s.lo = s.from.resolve(first, s.last, s.loc)
	}
	if s.to.given() {
		s.hi = s.to.resolve(first, s.last, s.loc)
	}
	if s.lo > s.hi {
		return fmt.Errorf("--from %s is %s after --to %s: nothing lies between them",
			s.from.text, time.Duration(s.lo-s.hi), s.to.text)
	}
	return nil
}

func (s *selection) has(f *capture.Frame) bool {
	return f.Time >= s.lo && f.Time <= s.hi && s.frames.has(f)
}

// errEnough ends reading when all that was asked for is listed.
var errEnough = errors.New("enough")

// printer shows the picked packets of batch after batch.
type printer struct {
	picker
	dec    *decode.Decoder
	pkt    decode.Packet
	out    packets.Writer
	icrc   bool   // out shows whether ICRCs are right
	limit  uint64 // 0 for none
	listed uint64
	facts  decode.Extra // the packet that is written
}

func (p *printer) batch(b *capture.Batch) error {
	if p.seen == 0 {
		t := b.Frames[0].Time
		p.facts.First, p.facts.Previous, p.facts.Displayed = t, t, t
	}
	if err := p.pick(b); err != nil {
		return err
	}
	p.fit(b)
	for i := range b.Frames {
		f := &b.Frames[i]
		if p.sel.frames.past(f, p.sel.inputs) {
			return errEnough
		}
		if p.picked[i] {
			p.dec.Decode(f, &p.pkt)
			if p.icrc {
				p.dec.VerifyICRC(&p.pkt)
			}
			if p.listed == 0 {
				p.facts.Displayed = f.Time
			}
			p.matcher.About(f, &p.facts)
			p.out.Write(&p.pkt, &p.facts)
			p.facts.Displayed = f.Time
			if p.listed++; p.listed == p.limit {
				return errEnough
			}
		}
		p.facts.Previous = f.Time
	}
	return p.out.Flush() // what is read from a pipe shows as it comes
}

// fit makes a list's columns suit the packets of a batch that will be listed.
func (p *printer) fit(b *capture.Batch) {
	list, ok := p.out.(*packets.List)
	if !ok {
		return
	}
	n := p.listed
	for i := range b.Frames {
		if p.picked[i] {
			p.dec.Decode(&b.Frames[i], &p.pkt)
			list.Fit(&p.pkt)
			if n++; n == p.limit {
				break
			}
		}
	}
	list.Settle()
}

package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/dashboards/packets"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/track"
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

// printer shows the selected packets of batch after batch.
type printer struct {
	sel    selection
	src    capture.Source
	dec    *decode.Decoder
	out    packets.Writer
	icrc   bool   // out shows whether ICRCs are right
	limit  uint64 // 0 for none
	seen   uint64
	listed uint64
	pkt    decode.Packet
	extra  decode.Extra
	inputs []capture.Input // where interfaces have names
	notes  *track.Notes    // nil where they are not asked for
	note   decode.Note
}

func (p *printer) batch(b *capture.Batch) error {
	if p.seen == 0 {
		t := b.Frames[0].Time
		p.extra.First, p.extra.Previous, p.extra.Displayed = t, t, t
		if err := p.sel.start(t); err != nil {
			return err
		}
	}
	p.fit(b)
	for i := range b.Frames {
		f := &b.Frames[i]
		p.seen++
		if p.sel.frames.past(f, p.sel.inputs) {
			return errEnough
		}
		if p.sel.has(f) {
			p.dec.Decode(f, &p.pkt)
			if p.icrc {
				p.dec.VerifyICRC(&p.pkt)
			}
			if p.listed == 0 {
				p.extra.Displayed = f.Time
			}
			p.nameInterface(f)
			p.extra.Note = nil
			if p.notes != nil && p.notes.Get(f.Input, f.Number, &p.note) {
				p.extra.Note = &p.note
			}
			p.out.Write(&p.pkt, &p.extra)
			p.extra.Displayed = f.Time
			if p.listed++; p.listed == p.limit {
				return errEnough
			}
		}
		p.extra.Previous = f.Time
	}
	return p.out.Flush() // what is read from a pipe shows as it comes
}

// nameInterface looks the frame's interface up. Descriptions of interfaces come
// before their first frame, so they are asked for when one is new.
func (p *printer) nameInterface(f *capture.Frame) {
	if int(f.Input) >= len(p.inputs) || int(f.Interface) >= len(p.inputs[f.Input].Interfaces) {
		p.inputs = p.src.Inputs()
	}
	in := &p.inputs[f.Input]
	p.extra.HasInterface = in.Format == capture.FormatPcapNG
	var about capture.Interface
	if int(f.Interface) < len(in.Interfaces) {
		about = in.Interfaces[f.Interface]
	}
	p.extra.InterfaceDescription = about.Description
	p.extra.InterfaceName = cmp.Or(about.Name, about.Description, "unknown") // as tshark says
}

// fit makes a list's columns suit the packets of a batch that will be listed.
func (p *printer) fit(b *capture.Batch) {
	list, ok := p.out.(*packets.List)
	if !ok {
		return
	}
	n := p.listed
	for i := range b.Frames {
		if f := &b.Frames[i]; p.sel.has(f) {
			p.dec.Decode(f, &p.pkt)
			list.Fit(&p.pkt)
			if n++; n == p.limit {
				break
			}
		}
	}
	list.Settle()
}

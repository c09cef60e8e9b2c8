package track_test

import (
	"testing"
	"time"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/scenario"
	"github.com/rocelens/rocelens/pipeline/track"
)

// TestNakRequest: where an error NAK names the frame of the request that drew
// it, that is the frame, whatever its sender sent at the same time; and it does
// where the request was the last that was sent.
func TestNakRequest(t *testing.T) {
	named := 0
	for seed := range uint64(120) {
		spec := randomSpec(seed)
		spec.Faults = nil
		for i := range spec.Sessions {
			s := &spec.Sessions[i]
			s.Responder.Reject = []scenario.Rejection{{Stream: int(seed % 2), Message: 3, Code: 0x62}}
			s.Work[seed%2].Depth = 1 + int(seed%4/3)
		}
		c := simulateSpec(t, spec)
		if seed%4 < 2 { // a coarse clock
			for i := range c.frames {
				c.frames[i].Time -= c.frames[i].Time % int64(time.Microsecond)
			}
		}
		r := c.analyse(t)
		dec := decode.New(decode.Config{})
		var nak, request decode.Packet
		for i := range r.Events {
			e := &r.Events[i]
			d, is := e.Detail.(record.Nak)
			if !is || d.Request == nil {
				continue
			}
			named++
			dec.Decode(&c.frames[e.Frame.Number-1], &nak)
			dec.Decode(&c.frames[d.Request.Number-1], &request)
			if request.PSN != d.PSN || request.Src != nak.Dst || request.Dst != nak.Src || request.Opcode.String() != d.Opcode {
				t.Errorf("seed %d: a NAK of PSN %d at frame %d names frame %d: %v of PSN %d", seed, d.PSN, e.Frame.Number, d.Request.Number, request.Opcode, request.PSN)
			}
		}
	}
	if named < 20 {
		t.Errorf("%d NAKs name a frame", named)
	}
}

// TestErrorsWithoutRoom: packets that break rules cost nothing once no more
// events are kept, and are counted.
func TestErrorsWithoutRoom(t *testing.T) {
	tr := track.New(track.Config{MaxEvents: 1})
	p := track.Packet{
		Kind: decode.AddrIPv4, Version: record.V2, SrcPort: 50000, Opcode: sendMiddle, Payload: 1000, WireLen: 1062,
		Src: decode.Addr{Lo: 1}, Dst: decode.Addr{Lo: 2}, DestQP: 200,
	}
	p.Hash()
	list := []*track.Packet{&p}
	next := func(op decode.Opcode, payload uint16) {
		p.Time += 1000
		p.Number++
		p.PSN++
		p.ID++
		p.Opcode, p.Payload = op, payload
		tr.Add(list)
	}
	wrong := func() { // an Only in the middle of a message, and a First of another length
		next(sendFirst, 1024)
		next(sendOnly, 10)
		next(sendFirst, 1000)
	}
	for range 2000 { // more than conclusions need
		wrong()
	}
	if n := testing.AllocsPerRun(100, wrong); n > 0 {
		t.Errorf("%v allocations", n)
	}
	tr.Close(0)
	sessions, events, leftOut := track.Records(track.Config{MaxEvents: 1}, tr)
	errors := sessions.At(0).AToB.ProtocolErrors
	if errors < 6000 || uint64(len(events))+leftOut < errors {
		t.Errorf("%d errors, %d events, %d left out", errors, len(events), leftOut)
	}
	var marked uint64
	for _, b := range sessions.At(0).AToB.Marks.Broken {
		marked += b.N
	}
	if signs := track.Signs(tr); marked != errors || len(signs) != 1<<12 {
		t.Errorf("%d errors, %d of them by rule, %d signs", errors, marked, len(signs))
	}
}

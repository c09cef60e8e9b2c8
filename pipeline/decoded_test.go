package pipeline_test

import (
	"errors"
	"io"
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
)

// lasting is a source behind whose end there is a batch without frames, as of a live
// one. It counts packets of management.
type lasting struct {
	capture.Source
	dec        *decode.Decoder
	pkt        decode.Packet
	management uint64
	ended      bool
}

func (s *lasting) ReadBatch(b *capture.Batch) error {
	if s.ended {
		return io.EOF
	}
	err := s.Source.ReadBatch(b)
	if errors.Is(err, io.EOF) {
		b.Frames, s.ended = b.Frames[:0], true
		return nil
	}
	for i := range b.Frames {
		s.dec.Decode(&b.Frames[i], &s.pkt)
		if s.pkt.RoCE() && s.pkt.Has&decode.HasBTH != 0 && s.pkt.DestQP < 2 {
			s.management++
		}
	}
	return err
}

// TestDecoded: what is told of packets while they come is what there was in the end.
func TestDecoded(t *testing.T) {
	var sum pipeline.Decoded
	for _, c := range capturetest.Committed(t) {
		in, err := capture.Open(c.Path, capture.DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		src := &lasting{Source: in, dec: decode.New(decode.Config{})}
		cfg := pipeline.DefaultConfig()
		cfg.Workers = 2
		var told pipeline.Decoded
		cfg.Followed = func(f pipeline.Followed) { told = f.Decoded }
		res, err := pipeline.Run(t.Context(), src, cfg)
		if err := errors.Join(err, in.Close()); err != nil {
			t.Fatal(err)
		}
		want := pipeline.Decoded{ICRCGood: res.ICRC.Good, ICRCBad: res.ICRC.Bad, ICRCUnverifiable: res.ICRC.Unverifiable, Management: src.management, Malformed: res.Malformed}
		if told != want {
			t.Errorf("%s: %+v, want %+v", c.Name, told, want)
		}
		sum.ICRCGood += told.ICRCGood
		sum.ICRCBad += told.ICRCBad
		sum.ICRCUnverifiable += told.ICRCUnverifiable
		sum.Management += told.Management
	}
	if sum.ICRCGood == 0 || sum.ICRCBad == 0 || sum.ICRCUnverifiable == 0 || sum.Management == 0 {
		t.Errorf("the captures don't have all of it: %+v", sum)
	}
}

package pipeline_test

import (
	"context"
	"encoding/binary"
	"io"
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
)

// frames is a source of frames without ICRCs that are right.
type frames struct {
	list [][]byte
	done bool
}

func (f *frames) ReadBatch(b *capture.Batch) error {
	if f.done {
		return io.EOF
	}
	f.done = true
	b.Frames = b.Frames[:0]
	for i, data := range f.list {
		b.Frames = append(b.Frames, capture.Frame{Data: data, Time: int64(1+i) * 1_000_000, Number: uint64(1 + i), OrigLen: uint32(len(data)), Link: capture.LinkEthernet, FCSLen: -1})
	}
	return nil
}

func (f *frames) Inputs() []capture.Input {
	return []capture.Input{{Interfaces: []capture.Interface{{Link: capture.LinkEthernet, FCSLen: -1}}}}
}

func (f *frames) Close() error { return nil }

// TestFarApart: what is missing of a stream can reach over more than half of all
// PSNs, and then no order of them tells which came first. Acknowledgements do
// not look for it for ever.
func TestFarApart(t *testing.T) {
	packet := func(op decode.Opcode, back bool, qp byte, psn uint32, headers int) []byte {
		data := make([]byte, bth+12+headers+4)
		middle(data)
		if back {
			copy(data[ip+12:], []byte{10, 0, 0, 2, 10, 0, 0, 1})
		}
		data[bth], data[bth+7] = byte(op), qp
		binary.BigEndian.PutUint32(data[bth+8:], psn)
		if !back {
			data[bth+8] = 0x80 // asks for an acknowledgement
		}
		return data
	}
	var f frames
	write := func(psn uint32) { f.list = append(f.list, packet(0x0a, false, 6, psn, 16)) }
	ack := func(psn uint32) { f.list = append(f.list, packet(0x11, true, 5, psn, 4)) }
	for psn := uint32(0x545600); psn < 0x545660; psn += 4 {
		for i := range uint32(4) {
			write(psn + i)
		}
		ack(psn + 3)
	}
	for _, psn := range []uint32{0x641490, 0xc9a261, 0xc9a262, 0xe41450, 0xe4145e, 0xe4146f, 0xe41488, 0xe414a4} {
		f.list = append(f.list, packet(0x07, false, 6, psn, 0)) // a Middle begins no new session
	}
	for _, psn := range []uint32{0x545663, 0x641490, 0xc9a262, 0xe414a4} {
		ack(psn)
	}
	for n := len(f.list); n > 0; n-- {
		g := frames{list: f.list[:n]}
		cfg := pipeline.DefaultConfig()
		cfg.ICRC = false
		r, err := pipeline.Run(context.Background(), &g, cfg)
		if err != nil {
			t.Fatal(err)
		}
		if r.Packets != uint64(n) {
			t.Errorf("%d packets of %d", r.Packets, n)
		}
	}
}

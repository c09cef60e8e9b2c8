package decode

import (
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/capture/frametest"
)

// generally decodes a frame without plain.
func (d *Decoder) generally(f *capture.Frame, p *Packet) {
	p.begin(f)
	d.link(p, f.Link)
	p.finish()
}

// samePlain fails if a frame is decoded otherwise than without plain.
func samePlain(t *testing.T, d *Decoder, f *capture.Frame) {
	t.Helper()
	var p, general Packet
	d.Decode(f, &p)
	d.generally(f, &general)
	if !reflect.DeepEqual(&p.header, &general.header) || !slices.Equal(p.shown(), general.shown()) {
		t.Fatalf("frame %d, %d of %d bytes, % x:\n%+v\n%+v", f.Number, len(f.Data), f.OrigLen, f.Data[:min(len(f.Data), 60)], p, general)
	}
}

// TestPlain: what takes the short way is decoded as all else is, with any bit of its
// headers turned over, cut anywhere, and with bytes behind it that a trailer could be.
func TestPlain(t *testing.T) {
	d := New(Config{RoCEPorts: []uint16{1021}})
	rng := rand.New(rand.NewPCG(1, 2))
	short := 0
	seen := map[Opcode]int{}
	for _, c := range capturetest.Committed(t) {
		frametest.Each(t, c.Path, func(f *capture.Frame) {
			if f.Link != capture.LinkEthernet {
				return
			}
			samePlain(t, d, f)
			var p Packet
			p.begin(f)
			if !d.plain(&p) {
				return
			}
			short++
			if seen[p.Opcode]++; seen[p.Opcode] > 20 {
				return
			}
			for bit := range min(8*len(f.Data), 8*(plainLen+bthLen+4)) {
				g := *f
				g.Data = slices.Clone(f.Data)
				g.Data[bit/8] ^= 1 << (bit % 8)
				samePlain(t, d, &g)
			}
			for n := range len(f.Data) {
				g := *f
				g.Data = f.Data[:n]
				samePlain(t, d, &g)
				g.OrigLen = uint32(n)
				samePlain(t, d, &g)
			}
			for total := range 80 { // lengths that agree
				g := *f
				g.Data = slices.Clone(f.Data)
				binary.BigEndian.PutUint16(g.Data[ethernetLen+2:], uint16(total))
				binary.BigEndian.PutUint16(g.Data[ethernetLen+ipv4Len+4:], uint16(total-ipv4Len))
				samePlain(t, d, &g)
			}
			for range 100 {
				g := *f
				g.Data = append(slices.Clone(f.Data), make([]byte, rng.IntN(8))...)
				g.OrigLen = uint32(len(g.Data) + rng.IntN(8))
				for range 1 + rng.IntN(3) {
					g.Data[ethernetLen+rng.IntN(plainLen-ethernetLen)] = byte(rng.IntN(256))
				}
				samePlain(t, d, &g)
			}
		})
	}
	if short < 1000 || len(seen) < 10 {
		t.Errorf("%d packets with %d opcodes took the short way", short, len(seen))
	}
}

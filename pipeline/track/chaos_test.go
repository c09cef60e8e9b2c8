package track_test

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/track"
)

// chaos makes packets that follow no rule, on few queue pairs, so that they meet.
type chaos struct {
	r      *rand.Rand
	now    int64
	base   uint32
	spread int
	qps    uint32 // in each direction
	batch  []*track.Packet
}

var (
	chaosOps       = []decode.Opcode{0x00, 0x01, 0x02, 0x04, 0x06, 0x07, 0x08, 0x0a, 0x0c, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x11, 0x11, 0x12, 0x13, 0x14, 0x17, 0x1c, 0x1d, 0x20, 0x22, 0x64, 0x81, 0xa4, 0xb1, 0xff}
	chaosSyndromes = []decode.Syndrome{0x1f, 0x00, 0x60, 0x60, 0x61, 0x62, 0x2c, 0x7f}
)

func newChaos(seed uint64) *chaos {
	r := rand.New(rand.NewPCG(seed, 1))
	return &chaos{r: r, now: 1, base: r.Uint32() & 0xffffff, spread: 1 << (1 + r.IntN(18)), qps: 3}
}

// packets are the next ones.
func (c *chaos) packets() []*track.Packet {
	r := c.r
	c.batch = c.batch[:0]
	for range 1 + r.IntN(64) {
		c.now += r.Int64N(1 << r.IntN(30))
		p := track.Packet{
			Time: c.now, Number: uint64(c.now), Kind: decode.AddrIPv4, Version: record.V2,
			Src: decode.Addr{Lo: 1}, Dst: decode.Addr{Lo: 2}, DestQP: 0x100 + r.Uint32N(c.qps),
			PSN: (c.base + r.Uint32N(uint32(c.spread))) & 0xffffff, Opcode: chaosOps[r.IntN(len(chaosOps))], Syndrome: chaosSyndromes[r.IntN(len(chaosSyndromes))],
			Payload: 256 << r.IntN(5), DMALen: r.Uint32N(20_000), WireLen: 1090, ID: uint16(r.Uint32()), SrcPort: 50000, TOS: uint8(r.IntN(4)),
			MSN: r.Uint32() & 0xffffff, Corrupt: r.IntN(40) == 0, Copy: track.Copy(max(r.IntN(30)-27, 0)),
		}
		if r.IntN(2) == 0 {
			p.Src, p.Dst, p.DestQP = p.Dst, p.Src, p.DestQP+0x10000
		}
		p.Hash()
		c.batch = append(c.batch, &p)
	}
	return c.batch
}

// TestChaos: of packets that follow no rule nothing panics, and no count wraps
// below zero.
func TestChaos(t *testing.T) {
	for seed := range uint64(200 / underRace) {
		tr := track.New(track.Config{MaxEvents: 50})
		c := newChaos(seed)
		for range 20 {
			tr.Add(c.packets())
		}
		tr.Close(c.now)
		list, events, _ := track.Records(track.Config{MaxEvents: 1 << 20}, tr)
		for s := range list.All() {
			for _, d := range []*record.Direction{&s.AToB, &s.BToA} {
				if field := wrapped(reflect.ValueOf(*d)); field != "" {
					t.Fatalf("seed %d: %s of %s wrapped: %+v", seed, field, s.ID, d)
				}
			}
		}
		for i := range events {
			if events[i].Session == "" {
				t.Fatalf("seed %d: %+v is of no session", seed, events[i])
			}
		}
	}
}

// wrapped names a count that is beyond anything counted, or "".
func wrapped(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Uint64:
		if v.Uint() > 1<<60 {
			return "a count"
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[decode.Addr]() {
			return ""
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && wrapped(v.Field(i)) != "" {
				return v.Type().Field(i).Name
			}
		}
	case reflect.Array, reflect.Slice:
		for i := range v.Len() {
			if got := wrapped(v.Index(i)); got != "" {
				return got
			}
		}
	}
	return ""
}

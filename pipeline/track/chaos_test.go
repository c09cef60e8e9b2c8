package track_test

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/track"
)

// TestChaos: packets that follow no rule, on few queue pairs, so that they meet.
// Nothing panics, and no count wraps below zero.
func TestChaos(t *testing.T) {
	ops := []decode.Opcode{0x00, 0x01, 0x02, 0x04, 0x06, 0x07, 0x08, 0x0a, 0x0c, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x11, 0x11, 0x12, 0x13, 0x14, 0x17, 0x1c, 0x1d, 0x20, 0x22, 0x64, 0x81, 0xa4, 0xb1, 0xff}
	syndromes := []decode.Syndrome{0x1f, 0x00, 0x60, 0x60, 0x61, 0x62, 0x2c, 0x7f}
	for seed := range uint64(400 / underRace) {
		r := rand.New(rand.NewPCG(seed, 1))
		tr := track.New(track.Config{MaxEvents: 50})
		now := int64(1)
		base := r.Uint32() & 0xffffff
		spread := 1 << (1 + r.IntN(18))
		batch := make([]*track.Packet, 0, 64)
		for range 20 {
			batch = batch[:0]
			for range 1 + r.IntN(64) {
				now += r.Int64N(1 << r.IntN(30))
				p := track.Packet{
					Time: now, Number: uint64(now), Kind: decode.AddrIPv4, Version: record.V2,
					Src: decode.Addr{Lo: 1}, Dst: decode.Addr{Lo: 2}, DestQP: 0x100 + r.Uint32N(3),
					PSN: (base + r.Uint32N(uint32(spread))) & 0xffffff, Opcode: ops[r.IntN(len(ops))], Syndrome: syndromes[r.IntN(len(syndromes))],
					Payload: 256 << r.IntN(5), DMALen: r.Uint32N(20_000), WireLen: 1090, ID: uint16(r.Uint32()), SrcPort: 50000, TOS: uint8(r.IntN(4)),
					MSN: r.Uint32() & 0xffffff, Corrupt: r.IntN(40) == 0, Copy: track.Copy(max(r.IntN(30)-27, 0)),
				}
				if r.IntN(2) == 0 {
					p.Src, p.Dst, p.DestQP = p.Dst, p.Src, p.DestQP+0x100
				}
				p.Hash()
				batch = append(batch, &p)
			}
			tr.Add(batch)
		}
		tr.Close(now)
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

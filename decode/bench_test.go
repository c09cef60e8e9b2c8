package decode_test

import (
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
)

// benchFrame is a RoCEv2 RC WRITE Middle with n bytes of payload.
func benchFrame(n int) capture.Frame {
	return frame(etherIP(udpPacket(pairV4, writeMiddle(n))))
}

func BenchmarkDecode(b *testing.B) {
	f := benchFrame(1024)
	d := decode.New(decode.DefaultConfig())
	var p decode.Packet
	b.ReportAllocs()
	for b.Loop() {
		d.Decode(&f, &p)
	}
	if p.Kind != decode.KindRoCEv2 || p.PayloadLen != 1024 {
		b.Fatalf("decoded to %v with %d bytes of payload", p.Kind, p.PayloadLen)
	}
}

func BenchmarkICRC(b *testing.B) {
	for _, n := range []int{0, 256, 1024, 4096} {
		b.Run(sizeName(n), func(b *testing.B) {
			f := benchFrame(n)
			d := decode.New(decode.DefaultConfig())
			var p decode.Packet
			d.Decode(&f, &p)
			b.SetBytes(int64(len(f.Data)))
			b.ReportAllocs()
			for b.Loop() {
				p.ICRCStatus = decode.ICRCUnchecked
				d.VerifyICRC(&p)
			}
			if p.ICRCStatus != decode.ICRCGood {
				b.Fatalf("ICRC is %v", p.ICRCStatus)
			}
		})
	}
}

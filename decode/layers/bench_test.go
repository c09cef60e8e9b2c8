package layers_test

import (
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/rocelens/rocelens/decode"
	roce "github.com/rocelens/rocelens/decode/layers"
)

func benchFrame(b *testing.B, stack string) []byte {
	return serialize(b, append(stacks()[stack], writeMiddle(), gopacket.Payload(make([]byte, 1024)))...)
}

func BenchmarkDecodingLayerParser(b *testing.B) {
	for _, stack := range []string{"IPv4", "IPv6", "GRH"} {
		for _, icrc := range []bool{false, true} {
			name := stack
			if icrc {
				name += "+ICRC"
			}
			b.Run(name, func(b *testing.B) {
				data := benchFrame(b, stack)
				p := newParser()
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				for b.Loop() {
					if err := p.DecodeLayers(data, &p.decoded); err != nil {
						b.Fatal(err)
					}
					if icrc && p.verify().Status != decode.ICRCGood {
						b.Fatal(p.verify())
					}
				}
				if p.bth.PSN != 12060459 {
					b.Fatal(p.bth.PSN)
				}
			})
		}
	}
}

func BenchmarkNewPacket(b *testing.B) {
	data := benchFrame(b, "IPv4")
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		p := gopacket.NewPacket(data, layers.LayerTypeEthernet, gopacket.DecodeOptions{Lazy: true, NoCopy: true})
		if _, ok := p.Layer(roce.LayerTypeBTH).(*roce.BTH); !ok {
			b.Fatal("no BTH")
		}
	}
}

func BenchmarkSerialize(b *testing.B) {
	buf := gopacket.NewSerializeBuffer()
	ls := stacks()["IPv4"]
	ls = append(ls, writeMiddle(), gopacket.Payload(make([]byte, 1024)))
	b.ReportAllocs()
	for b.Loop() {
		if err := roce.Serialize(buf, compute, ls...); err != nil {
			b.Fatal(err)
		}
	}
}

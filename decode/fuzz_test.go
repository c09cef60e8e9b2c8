package decode_test

import (
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/capture/frametest"
	"github.com/rocelens/rocelens/decode"
)

// FuzzDecode decodes any bytes under any link type, cut anywhere, into a packet
// that held something else.
func FuzzDecode(f *testing.F) {
	seen := map[[3]uint32]bool{}
	for _, c := range capturetest.Committed(f) {
		d := decode.New(decode.DefaultConfig())
		var p decode.Packet
		frametest.Each(f, c.Path, func(fr *capture.Frame) {
			d.Decode(fr, &p)
			// One seed a kind of packet: short ones fuzz faster.
			key := [3]uint32{uint32(fr.Link), uint32(p.Kind)<<8 | uint32(p.Opcode), uint32(p.Encap)}
			if !seen[key] && len(fr.Data) <= 400 {
				seen[key] = true
				f.Add(uint16(fr.Link), uint16(0), fr.Data)
			}
		})
	}
	for _, l := range []capture.LinkType{
		capture.LinkNull, capture.LinkRaw, capture.LinkLoop, capture.LinkERF, capture.LinkIPoIB, capture.LinkInfiniBand,
	} {
		f.Add(uint16(l), uint16(5), make([]byte, 100))
	}
	f.Add(uint16(capture.LinkInfiniBand), uint16(0), nativeIB(writeMiddle(20), true))
	f.Add(uint16(capture.LinkInfiniBand), uint16(0), nativeIB(writeMiddle(20), false))
	f.Add(uint16(1), uint16(0), gre("1000 22eb 00000007 2064 a01e 11223344 0000 0001 0c00000000000000", etherFrame(0x8915, grhPacket(writeMiddle(3)))))
	f.Add(uint16(1), uint16(0), etherIP(udpOver(6081, cat(unhex("02406558 00109200 0102030405060708"), etherIP(udpPacket(pairV6, writeMiddle(3)))))))
	f.Add(uint16(1), uint16(0), etherFrame(0x8847, cat(unhex("00010140 00000000"), etherIP(udpPacket(pairV4, writeMiddle(3))))))

	d := decode.New(decode.Config{RoCEPorts: []uint16{1021}})
	var p decode.Packet // reused: what an earlier input left must not show
	f.Fuzz(func(t *testing.T, link, missing uint16, data []byte) {
		fr := capture.Frame{Data: data, OrigLen: uint32(len(data)) + uint32(missing), Link: capture.LinkType(link), Number: 1, FCSLen: -1}
		d.Decode(&fr, &p)
		d.VerifyICRC(&p)
		checkPacket(t, &p)
		if p.Kind != decode.KindUDP && d.ProbeRoCE(&p) != decode.NotRoCE {
			t.Fatalf("%v is taken for RoCEv2 at another port", p.Kind)
		}
		d.ProbeRoCE(&p)
		var fresh decode.Packet
		d.Decode(&fr, &fresh)
		if fresh.Kind != p.Kind || fresh.Err != p.Err || fresh.Encap != p.Encap || len(fresh.Layers()) != len(p.Layers()) {
			t.Fatalf("fresh and reused packets differ: %v %v, %v %v", fresh.Kind, fresh.Err, p.Kind, p.Err)
		}
	})
}

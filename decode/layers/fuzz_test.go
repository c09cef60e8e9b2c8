package layers_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/capture/frametest"
	"github.com/rocelens/rocelens/decode"
	roce "github.com/rocelens/rocelens/decode/layers"
)

// layer is what all layers of the package are.
type layer interface {
	gopacket.Layer
	gopacket.DecodingLayer
	gopacket.SerializableLayer
}

func allLayers() []layer {
	return []layer{new(roce.BTH), new(roce.CNP), new(roce.GRH), new(roce.MACControl), new(roce.PFC), new(roce.Pause)}
}

// FuzzLayers decodes any bytes as each layer, and as a frame. What decodes
// serialises to the bytes that it was.
func FuzzLayers(f *testing.F) {
	seen := map[[2]uint32]bool{}
	for _, c := range capturetest.Committed(f) {
		d := decode.New(decode.DefaultConfig())
		var p decode.Packet
		frametest.Each(f, c.Path, func(fr *capture.Frame) {
			d.Decode(fr, &p)
			key := [2]uint32{uint32(p.Kind)<<8 | uint32(p.Opcode), uint32(p.Encap)}
			if seen[key] || len(fr.Data) > 400 || fr.Link != capture.LinkEthernet {
				return
			}
			seen[key] = true
			f.Add(fr.Data, false)
			if l, ok := p.Layer(decode.LayerBTH); ok {
				f.Add(fr.Data[l.Off:], true)
			}
		})
	}
	for _, front := range stacks() {
		cnp := serialize(f, append(front, &roce.BTH{Opcode: decode.OpCNP, BECN: true}, &roce.CNP{})...)
		f.Add(cnp, false)
		f.Add(cnp[14:], false)
	}
	flush := &roce.BTH{Opcode: decode.OpRCFlush, FETH: &roce.FETH{Placement: 3}, RETH: &roce.RETH{DMALen: 64}}
	f.Add(serialize(f, grh(), flush), false)
	f.Add(serialize(f, ethernet(roce.EthernetTypeMACControl), &roce.MACControl{Opcode: roce.MACControlPFC}, &roce.PFC{Enable: 1}), false)

	reused := allLayers() // what an earlier input left must not show
	buf := gopacket.NewSerializeBuffer()
	f.Fuzz(func(t *testing.T, data []byte, truncated bool) {
		// A DecodingLayerParser is how a layer learns that a packet was cut.
		df := &gopacket.DecodingLayerParser{Truncated: truncated}
		for i, l := range allLayers() {
			df.Truncated = truncated
			err := l.DecodeFromBytes(data, df)
			df.Truncated = truncated
			if again := reused[i].DecodeFromBytes(data, df); (err == nil) != (again == nil) {
				t.Fatalf("%T: fresh %v, reused %v", l, err, again)
			}
			if err != nil {
				continue
			}
			if a, b := gopacket.LayerDump(l), gopacket.LayerDump(reused[i]); a != b {
				t.Fatalf("fresh and reused layers differ:\n%s\n%s", a, b)
			}
			_ = l.NextLayerType()
			payload := gopacket.Payload(l.LayerPayload())
			err = gopacket.SerializeLayers(buf, gopacket.SerializeOptions{}, l, payload)
			if b, ok := l.(*roce.BTH); ok {
				// A short body of a CNP is for the CNP layer to refuse.
				noCNP := b.Opcode == decode.OpCNP && len(payload) < 16
				if (err != nil) != (truncated || noCNP) {
					t.Fatalf("BTH, truncated %v: %v", truncated, err)
				}
				if err != nil {
					continue
				}
			}
			want := data
			switch l := l.(type) {
			case *roce.PFC, *roce.Pause: // padding follows
				want = data[:len(l.LayerContents())]
			case *roce.GRH:
				want = data[:40+len(payload)]
			}
			if err != nil || !bytes.Equal(buf.Bytes(), want) {
				t.Fatalf("%T: %v\n got %x\nwant %x", l, err, buf.Bytes(), want)
			}
			// Computed anew, it decodes as well.
			if err := roce.Serialize(buf, compute, grh(), l, payload); err != nil {
				t.Fatalf("%T, computed: %v", l, err)
			}
			if b, ok := l.(*roce.BTH); ok {
				p := gopacket.NewPacket(buf.Bytes(), roce.LayerTypeGRH, gopacket.Default)
				if got, _ := innermost(p); got == nil || got.PSN != b.PSN || roce.VerifyICRC(p).Status != decode.ICRCGood {
					t.Fatalf("computed: ICRC %v in %v", roce.VerifyICRC(p).Status, p)
				}
			}
		}
		for _, first := range []gopacket.LayerType{layers.LayerTypeEthernet, roce.LayerTypeBTH} {
			packet := gopacket.NewPacket(data, first, gopacket.DecodeOptions{Lazy: truncated, NoCopy: true})
			_ = roce.VerifyICRC(packet)
			// gopacket turns panics into failures, and some of its own layers
			// do panic. A failure with the stack of one of ours is a bug.
			if e, ok := packet.ErrorLayer().(*gopacket.DecodeFailure); ok && strings.Contains(e.Dump(), "decode/layers.decode") {
				t.Fatal(e.Dump())
			}
		}
	})
}

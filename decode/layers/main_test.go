package layers_test

import (
	"os"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
	roce "github.com/rocelens/rocelens/decode/layers"
)

func TestMain(m *testing.M) {
	roce.Register()
	roce.Register() // once more does nothing
	os.Exit(m.Run())
}

// linkDecoder is gopacket's decoder for a link type, nil where it has none.
func linkDecoder(l capture.LinkType) gopacket.Decoder {
	switch l {
	case capture.LinkEthernet:
		return layers.LinkTypeEthernet
	case capture.LinkSLL:
		return layers.LinkTypeLinuxSLL
	case capture.LinkNull:
		return layers.LinkTypeNull
	case capture.LinkLoop:
		return layers.LinkTypeLoop
	case capture.LinkRaw, capture.LinkRawBSD, capture.LinkRawOpenBSD:
		return layers.LinkTypeRaw
	case capture.LinkIPv4:
		return layers.LayerTypeIPv4
	case capture.LinkIPv6:
		return layers.LayerTypeIPv6
	}
	return nil
}

// innermost finds the last BTH of a packet and where it is among the layers.
func innermost(p gopacket.Packet) (*roce.BTH, int) {
	ls := p.Layers()
	for i := len(ls) - 1; i >= 0; i-- {
		if b, ok := ls[i].(*roce.BTH); ok {
			return b, i
		}
	}
	return nil, -1
}

// ours decodes a frame with the decoder of this module.
func ours(f *capture.Frame) *decode.Packet {
	d := decode.New(decode.DefaultConfig())
	p := new(decode.Packet)
	d.Decode(f, p)
	d.VerifyICRC(p)
	return p
}

// whole is an Ethernet frame that was captured whole.
func whole(b []byte) *capture.Frame {
	return &capture.Frame{Data: b, OrigLen: uint32(len(b)), Link: capture.LinkEthernet, FCSLen: -1, Number: 1}
}

package layers_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/decode"
	roce "github.com/rocelens/rocelens/decode/layers"
)

func TestMain(m *testing.M) {
	roce.Register()
	roce.Register() // once more does nothing
	os.Exit(m.Run())
}

// eachFrame calls do with every frame of a capture file.
func eachFrame(tb testing.TB, path string, do func(*capture.Frame)) {
	tb.Helper()
	src, err := capture.Open(path, capture.DefaultConfig())
	if err != nil {
		tb.Fatal(err)
	}
	defer src.Close()
	var b capture.Batch
	for {
		err := src.ReadBatch(&b)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			tb.Fatal(err)
		}
		for i := range b.Frames {
			do(&b.Frames[i])
		}
	}
}

// captures are all captures that there are, the published ones among them.
func captures(tb testing.TB) []string {
	tb.Helper()
	var paths []string
	for _, c := range capturetest.All(tb) {
		paths = append(paths, c.Path)
	}
	if dir, ok := capturetest.Shared(tb); ok {
		public, err := filepath.Glob(filepath.Join(dir, "public", "*", "*.pcap*"))
		if err != nil {
			tb.Fatal(err)
		}
		paths = append(paths, public...)
	}
	return paths
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

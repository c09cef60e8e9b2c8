package layers_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/capture/frametest"
	"github.com/rocelens/rocelens/decode"
	roce "github.com/rocelens/rocelens/decode/layers"
)

// facts is what both decoders say of a frame.
type facts struct {
	Opcode                                            decode.Opcode
	Flags                                             decode.BTHFlags
	Has                                               decode.Headers
	PadCount, TVer                                    uint8
	PKey                                              uint16
	DestQP, PSN, EEContext, QKey, SrcQP, RKey, DMALen uint32
	VA, SwapAdd, Compare, AtomicOrig                  uint64
	Syndrome                                          decode.Syndrome
	MSN, ImmData, InvalidKey, XRCSRQ                  uint32
	FlushType, FlushSelect                            uint8
	PayloadLen                                        uint32
	CNPBodyNotZero                                    bool
	ICRCStatus                                        decode.ICRCStatus
	ICRCReason                                        decode.ICRCReason
	ICRC, ICRCExpected                                uint32
	Pause                                             decode.MACControl
}

// ourFacts are those of package decode.
func ourFacts(p *decode.Packet) facts {
	f := facts{
		Opcode: p.Opcode, Flags: p.BTHFlags, Has: p.Has &^ decode.HasMAD, PadCount: p.PadCount, TVer: p.TVer, PKey: p.PKey,
		DestQP: p.DestQP, PSN: p.PSN, EEContext: p.EEContext, QKey: p.QKey, SrcQP: p.SrcQP, RKey: p.RKey,
		DMALen: p.DMALen, VA: p.VA, SwapAdd: p.SwapAdd, Compare: p.Compare, AtomicOrig: p.AtomicOrig,
		Syndrome: p.Syndrome, MSN: p.MSN, ImmData: p.ImmData, InvalidKey: p.InvalidKey, XRCSRQ: p.XRCSRQ,
		FlushType: p.FlushType, FlushSelect: p.FlushSelect, PayloadLen: p.PayloadLen,
		CNPBodyNotZero: p.Flags&decode.CNPBodyNotZero != 0,
		ICRCStatus:     p.ICRCStatus, ICRCReason: p.ICRCReason, ICRC: p.ICRC, ICRCExpected: p.ICRCExpected,
		Pause: p.Pause,
	}
	return f
}

// payloadBytes are the captured bytes of the message, a MAD's header included.
func payloadBytes(p *decode.Packet) []byte {
	l, ok := p.Layer(decode.LayerPayload)
	if !ok {
		return nil
	}
	if mad, ok := p.Layer(decode.LayerMAD); ok {
		l.Off, l.Len = mad.Off, mad.Len+l.Len
	}
	return p.Bytes(l)
}

// theirFacts are those of a gopacket packet.
func theirFacts(p gopacket.Packet) facts {
	var f facts
	for _, l := range p.Layers() {
		switch l := l.(type) {
		case *roce.MACControl:
			f.Pause.Opcode = l.Opcode
		case *roce.PFC:
			f.Pause.Enable, f.Pause.Quanta = uint8(l.Enable), l.Quanta
		case *roce.Pause:
			f.Pause.Enable, f.Pause.Quanta[0] = 1, l.Quanta
		}
	}
	b, at := innermost(p)
	if b == nil {
		return f
	}
	f.Has = decode.HasBTH
	f.Opcode, f.PadCount, f.TVer, f.PKey, f.DestQP, f.PSN = b.Opcode, b.PadCount, b.TVer, b.PKey, b.DestQP, b.PSN
	for _, s := range []struct {
		is  bool
		bit decode.BTHFlags
	}{{b.Solicited, decode.Solicited}, {b.MigReq, decode.MigReq}, {b.FECN, decode.FECN}, {b.BECN, decode.BECN}, {b.AckReq, decode.AckReq}} {
		if s.is {
			f.Flags |= s.bit
		}
	}
	if h := b.RDETH; h != nil {
		f.Has |= decode.HasRDETH
		f.EEContext = h.EEContext
	}
	if h := b.DETH; h != nil {
		f.Has |= decode.HasDETH
		f.QKey, f.SrcQP = h.QKey, h.SrcQP
	}
	if h := b.RETH; h != nil {
		f.Has |= decode.HasRETH
		f.VA, f.RKey, f.DMALen = h.VA, h.RKey, h.DMALen
	}
	if h := b.AtomicETH; h != nil {
		f.Has |= decode.HasAtomicETH
		f.VA, f.RKey, f.SwapAdd, f.Compare = h.VA, h.RKey, h.SwapAdd, h.Compare
	}
	if h := b.AETH; h != nil {
		f.Has |= decode.HasAETH
		f.Syndrome, f.MSN = h.Syndrome, h.MSN
	}
	if h := b.AtomicAckETH; h != nil {
		f.Has |= decode.HasAtomicAckETH
		f.AtomicOrig = h.Original
	}
	if h := b.ImmDt; h != nil {
		f.Has |= decode.HasImmDt
		f.ImmData = h.Data
	}
	if h := b.IETH; h != nil {
		f.Has |= decode.HasIETH
		f.InvalidKey = h.RKey
	}
	if h := b.XRCETH; h != nil {
		f.Has |= decode.HasXRCETH
		f.XRCSRQ = h.SRQ
	}
	if h := b.FETH; h != nil {
		f.Has |= decode.HasFETH
		f.FlushType, f.FlushSelect = h.Placement, h.Selectivity
	}
	f.PayloadLen = uint32(len(b.Payload))
	if c, ok := p.Layer(roce.LayerTypeCNP).(*roce.CNP); ok {
		f.PayloadLen = uint32(len(c.Payload))
		f.CNPBodyNotZero = c.Reserved != [16]byte{}
	}
	if b.Truncated {
		switch l := p.Layers()[at-1].(type) {
		case *layers.UDP:
			f.PayloadLen = uint32(b.PayloadLength(int(l.Length) - 8))
		case *roce.GRH:
			f.PayloadLen = uint32(b.PayloadLength(int(l.PayloadLength)))
		}
	}
	r := roce.VerifyICRC(p)
	f.ICRCStatus, f.ICRCReason = r.Status, r.Reason
	if !b.Truncated {
		f.ICRC = b.ICRC
	}
	if r.Status == decode.ICRCBad {
		f.ICRCExpected = r.Expected
	}
	return f
}

// gopacketWrong are the captures in which gopacket's own layers do not get to
// all RoCE packets, how many frames differ, and why.
var gopacketWrong = map[string]struct {
	frames int
	why    string
}{
	"formats_write_sll2.pcap.zst":              {1108, "gopacket 1.1.19 has no Linux cooked capture version 2"},
	"any_sll2_with_mirror_duplicates.pcap.zst": {2078, "gopacket 1.1.19 has no Linux cooked capture version 2"},
	"erspan3_rc_read.pcap.zst":                 {540, "gopacket 1.1.19 has no ERSPAN type III"},
	"infiniband.pcap":                          {43, "gopacket 1.1.19 has no ERF link type"},
	"infiniband_dlt247.pcap":                   {43, "gopacket 1.1.19 has no InfiniBand link type"},
	"corrupt_send_acks.pcap.zst":               {1, "a flipped bit makes the packet a first fragment, which gopacket does not decode"},
	"rocev2_test_expected_packets.pcap":        {1, "UDP's length is less than IP leaves for it: gopacket goes by UDP's, package decode by IP's"},
}

// TestAgainstDecoder compares every field of every RoCE and MAC control frame
// of every capture with what package decode says.
func TestAgainstDecoder(t *testing.T) {
	for _, path := range capturetest.Paths(t) {
		name := filepath.Base(path)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := decode.New(decode.DefaultConfig())
			var p decode.Packet
			different, compared := 0, 0
			first := ""
			frametest.Each(t, path, func(f *capture.Frame) {
				d.Decode(f, &p)
				d.VerifyICRC(&p)
				want := ourFacts(&p)
				var got facts
				var payload []byte
				if dec := linkDecoder(f.Link); dec != nil {
					packet := gopacket.NewPacket(f.Data, dec, gopacket.DecodeOptions{NoCopy: true, Lazy: f.Number%2 == 0})
					got = theirFacts(packet)
					if b, _ := innermost(packet); b != nil {
						payload = b.Payload
					}
				}
				if want == (facts{}) && got == want {
					return
				}
				compared++
				diff := ""
				if want != got {
					diff = cmp.Diff(want, got)
				} else if p.Opcode != decode.OpCNP && !bytes.Equal(payload, payloadBytes(&p)) {
					diff = "the payload's bytes differ"
				}
				if diff != "" {
					if different++; first == "" {
						first = string(decode.AppendInfo(nil, &p)) + "\n" + diff
					}
				}
			})
			if want := gopacketWrong[name]; different != want.frames {
				t.Errorf("%d of %d frames differ, expected %d (%s). The first (-decode +layers):\n%s", different, compared, want.frames, want.why, first)
			}
		})
	}
}

// TestEveryCut cuts one packet of each kind in the module's captures at every
// byte: what is left is what package decode finds.
func TestEveryCut(t *testing.T) {
	type kind struct {
		link  capture.LinkType
		kind  decode.Kind
		op    decode.Opcode
		encap decode.Encap
		v6    bool
	}
	seen := map[kind]bool{}
	d := decode.New(decode.DefaultConfig())
	var p decode.Packet
	cuts := 0
	for _, c := range capturetest.Committed(t) {
		frametest.Each(t, c.Path, func(f *capture.Frame) {
			d.Decode(f, &p)
			k := kind{f.Link, p.Kind, p.Opcode, p.Encap, p.AddrKind == decode.AddrIPv6}
			dec := linkDecoder(f.Link)
			if !p.RoCE() || seen[k] || dec == nil || p.Encap&decode.EncapERSPAN3 != 0 || p.Malformed() {
				return
			}
			seen[k] = true
			short := *f
			for n := range f.Data {
				short.Data = f.Data[:n]
				d.Decode(&short, &p)
				d.VerifyICRC(&p)
				want := ourFacts(&p)
				if p.Has&decode.HasBTH == 0 {
					want = facts{} // gopacket cannot say that it would have been RoCE
				}
				got := theirFacts(gopacket.NewPacket(short.Data, dec, gopacket.NoCopy))
				if want != got {
					t.Fatalf("%s frame %d at %d bytes (-decode +layers):\n%s", c.Name, f.Number, n, cmp.Diff(want, got))
				}
				cuts++
			}
		})
	}
	t.Logf("%d kinds of packets, %d cuts", len(seen), cuts)
	if len(seen) < 20 {
		t.Errorf("only %d kinds of packets", len(seen))
	}
}

// TestRoundTrip decodes and serialises every whole RoCE packet of the module's
// captures: the bytes are the same, ICRC included. So they are where lengths
// and checksums are computed anew, if they were right.
func TestRoundTrip(t *testing.T) {
	d := decode.New(decode.DefaultConfig())
	var p decode.Packet
	buf := gopacket.NewSerializeBuffer()
	packets, computed, corrected := 0, 0, 0
	for _, c := range capturetest.Committed(t) {
		frametest.Each(t, c.Path, func(f *capture.Frame) {
			d.Decode(f, &p)
			d.VerifyICRC(&p)
			dec := linkDecoder(f.Link)
			if !p.RoCE() || p.Truncated() || dec == nil {
				return
			}
			packet := gopacket.NewPacket(f.Data, dec, gopacket.NoCopy)
			b, at := innermost(packet)
			if b == nil {
				return // TestAgainstDecoder counts these
			}
			packets++
			icrc, _ := p.Layer(decode.LayerICRC)
			end := int(icrc.Off + icrc.Len)
			ls := packet.Layers()
			fail := func(what string, got, want []byte, err error) {
				t.Helper()
				t.Fatalf("%s frame %d: %s: %v\n got %x\nwant %x", c.Name, f.Number, what, err, got, want)
			}

			// As it was. Ethernet, the inner one as well, is padded to 60 bytes.
			start := 0
			if f.Link == capture.LinkSLL { // which gopacket cannot serialise
				start, ls, at = len(ls[0].LayerContents()), ls[1:], at-1
			}
			want := f.Data[start:end]
			if err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{}, serializable(t, ls)...); err != nil {
				fail("as it was", nil, want, err)
			}
			if got := buf.Bytes(); len(got) < len(want) || !bytes.Equal(got[:len(want)], want) || len(bytes.Trim(got[len(want):], "\x00")) != 0 {
				fail("as it was", got, want, nil)
			}

			// Computed anew, from the IP header or GRH on. Where the ICRC is bad,
			// it may be a length that was damaged, so that is left alone.
			l3 := at - 1
			if p.Kind == decode.KindRoCEv2 {
				l3--
			}
			want = f.Data[end-len(ls[l3].LayerContents())-len(ls[l3].LayerPayload()) : end]
			wasICRC := b.ICRC
			err := roce.Serialize(buf, gopacket.SerializeOptions{
				FixLengths: p.ICRCStatus == decode.ICRCGood, ComputeChecksums: true,
			}, serializable(t, ls[l3:])...)
			if err != nil {
				fail("computed", nil, want, err)
			}
			switch p.ICRCStatus {
			case decode.ICRCGood:
				computed++
				if !bytes.Equal(buf.Bytes(), want) {
					fail("computed", buf.Bytes(), want, nil)
				}
			case decode.ICRCBad:
				corrected++
				if b.ICRC != p.ICRCExpected || b.ICRC == wasICRC {
					t.Fatalf("%s frame %d: ICRC %08x, expected %08x", c.Name, f.Number, b.ICRC, p.ICRCExpected)
				}
			}
		})
	}
	t.Logf("%d packets; %d computed anew, %d corrected", packets, computed, corrected)
	if computed < 10000 || corrected == 0 {
		t.Errorf("%d packets computed anew, %d corrected: too few to prove anything", computed, corrected)
	}
}

func serializable(tb testing.TB, ls []gopacket.Layer) []gopacket.SerializableLayer {
	tb.Helper()
	out := make([]gopacket.SerializableLayer, len(ls))
	for i, l := range ls {
		s, ok := l.(gopacket.SerializableLayer)
		if !ok {
			tb.Fatalf("a %v cannot be serialised", l.LayerType())
		}
		out[i] = s
	}
	return out
}

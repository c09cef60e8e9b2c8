package anonymize_test

import (
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/capture/frametest"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/decode/anonymize"
)

var key = []byte("a key that everybody may know")

func newAnonymizer(tb testing.TB, change ...func(*anonymize.Config)) *anonymize.Anonymizer {
	tb.Helper()
	cfg := anonymize.DefaultConfig()
	cfg.Key = key
	for _, f := range change {
		f(&cfg)
	}
	a, err := anonymize.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

func cut(cfg *anonymize.Config)     { cfg.Cut = true }
func mapQPNs(cfg *anonymize.Config) { cfg.MapQPNs = true }

func TestKey(t *testing.T) {
	for _, k := range []string{"", "fifteen bytes.."} {
		if _, err := anonymize.New(anonymize.Config{Key: []byte(k)}); err == nil {
			t.Errorf("a key of %d bytes is taken", len(k))
		}
	}
}

// checkSame holds a rewritten frame against what it was: it decodes to the same
// headers with the same lengths, and what was right is right.
func checkSame(t *testing.T, name string, d *decode.Decoder, f *capture.Frame, data []byte) {
	t.Helper()
	var p, q decode.Packet
	g := *f
	g.Data = data
	decodeLike(d, f, &p)
	decodeLike(d, &g, &q)
	if len(data) != len(f.Data) {
		t.Fatalf("%s frame %d: %d bytes became %d", name, f.Number, len(f.Data), len(data))
	}
	if p.Kind != q.Kind || p.Flags != q.Flags || p.Encap != q.Encap || p.Err != q.Err || p.Has != q.Has || p.AddrKind != q.AddrKind ||
		p.WireLen != q.WireLen || p.VLAN != q.VLAN || p.VNI != q.VNI || p.EtherType != q.EtherType || p.Pause != q.Pause {
		t.Fatalf("%s frame %d: was %v %x %x %v, %x\nis %v %x %x %v, %x", name, f.Number, p.Kind, p.Flags, p.Encap, p.Err, p.Has, q.Kind, q.Flags, q.Encap, q.Err, q.Has)
	}
	if p.Opcode != q.Opcode || p.BTHFlags != q.BTHFlags || p.PadCount != q.PadCount || p.TVer != q.TVer || p.PKey != q.PKey || p.PSN != q.PSN ||
		p.PayloadLen != q.PayloadLen || p.Syndrome != q.Syndrome || p.MSN != q.MSN || p.DMALen != q.DMALen || p.TOS != q.TOS || p.TTL != q.TTL ||
		p.IPID != q.IPID || p.FlagsFrag != q.FlagsFrag || p.FlowLabel != q.FlowLabel || p.SrcPort != q.SrcPort || p.DstPort != q.DstPort {
		t.Fatalf("%s frame %d: was %s\nis %s", name, f.Number, decode.AppendInfo(nil, &p), decode.AppendInfo(nil, &q))
	}
	if p.ICRCStatus != q.ICRCStatus || p.ICRCReason != q.ICRCReason || p.VCRCStatus != q.VCRCStatus {
		t.Fatalf("%s frame %d: ICRC was %v (%v), VCRC %v, is %v (%v), %v", name, f.Number, p.ICRCStatus, p.ICRCReason, p.VCRCStatus, q.ICRCStatus, q.ICRCReason, q.VCRCStatus)
	}
	if was, is := p.Layers(), q.Layers(); len(was) != len(is) {
		t.Fatalf("%s frame %d: %v became %v", name, f.Number, was, is)
	} else {
		for i := range was {
			if was[i] != is[i] {
				t.Fatalf("%s frame %d: %v became %v", name, f.Number, was, is)
			}
		}
	}
}

// decodeLike decodes a frame, RoCEv2 on another port included.
func decodeLike(d *decode.Decoder, f *capture.Frame, p *decode.Packet) {
	d.Decode(f, p)
	if p.Kind == decode.KindUDP && d.ProbeRoCE(p) != decode.NotRoCE {
		d.DecodeAs(f, p, p.DstPort)
	}
	d.VerifyICRC(p)
}

// TestEveryFrame rewrites every frame there is, and decodes it again.
func TestEveryFrame(t *testing.T) {
	a, shorter := newAnonymizer(t), newAnonymizer(t, cut)
	d := decode.New(decode.DefaultConfig())
	frames := 0
	var p decode.Packet
	for _, path := range capturetest.Paths(t) {
		frametest.Each(t, path, func(f *capture.Frame) {
			frames++
			checkSame(t, path, d, f, a.Frame(f))
			// Of a frame that is cut the beginning is the same.
			whole, part := a.Frame(f), shorter.Frame(f)
			if string(whole[:len(part)]) != string(part) {
				t.Fatalf("%s frame %d: cut it has another beginning", path, f.Number)
			}
			d.Decode(f, &p)
			end := len(whole)
			if l, ok := p.Layer(decode.LayerPayload); ok && p.Has&decode.HasMAD == 0 {
				end = int(l.Off)
			}
			if len(part) > end || p.RoCE() && len(part) < end {
				t.Fatalf("%s frame %d: cut to %d bytes, payload begins at %d", path, f.Number, len(part), end)
			}
		})
	}
	t.Logf("%d frames", frames)
}

// TestCutShort rewrites frames that were cut at every length: nothing is out of
// bounds, and what is decoded is the same.
func TestCutShort(t *testing.T) {
	a := newAnonymizer(t)
	d := decode.New(decode.DefaultConfig())
	seen := make(map[[3]uint32]bool)
	var p decode.Packet
	for _, c := range capturetest.Committed(t) {
		frametest.Each(t, c.Path, func(f *capture.Frame) {
			d.Decode(f, &p)
			kind := [3]uint32{uint32(f.Link), uint32(p.Kind)<<16 | uint32(p.Opcode)<<8 | uint32(p.MAD.Attribute), uint32(p.Encap)}
			if seen[kind] {
				return
			}
			seen[kind] = true
			short := *f
			for n := range f.Data {
				short.Data = f.Data[:n]
				checkSame(t, c.Name, d, &short, a.Frame(&short))
			}
		})
	}
}

func TestAllocations(t *testing.T) {
	a := newAnonymizer(t, mapQPNs)
	for _, name := range []string{"rc_write_ipv6", "rdmacm_rping", "vxlan_rc_write", "icmp_unreachable_reject"} {
		frametest.Each(t, capturetest.Get(t, name).Path, func(f *capture.Frame) {
			if f.Number > 1200 {
				return
			}
			a.Frame(f)
			if n := testing.AllocsPerRun(1, func() { a.Frame(f) }); n != 0 {
				t.Fatalf("%s frame %d: %v allocations", name, f.Number, n)
			}
		})
	}
}

func BenchmarkFrame(b *testing.B) {
	for _, name := range []string{"rc_write_1024", "rc_send_mtu4096_odd", "rc_write_ipv6", "vxlan_rc_write"} {
		b.Run(name, func(b *testing.B) {
			var frames []capture.Frame
			bytes := int64(0)
			frametest.Each(b, capturetest.Get(b, name).Path, func(f *capture.Frame) {
				g := *f
				g.Data = append([]byte(nil), f.Data...)
				frames = append(frames, g)
				bytes += int64(len(f.Data))
			})
			a := newAnonymizer(b)
			b.SetBytes(bytes / int64(len(frames)))
			for i := 0; b.Loop(); i++ {
				a.Frame(&frames[i%len(frames)])
			}
		})
	}
}

package pipeline_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/scenario"
	"github.com/rocelens/rocelens/pipeline/track"
)

// placeOf is a receiver where it was captured.
type placeOf struct {
	addr         decode.Addr
	kind         decode.AddrKind
	vni          uint32
	input, iface int32
}

// naive counts what goes to receivers in windows, all of which it keeps.
type naive map[placeOf]*[3]map[int64]*inWindow

type inWindow struct {
	bytes, packets uint64
	senders        map[decode.Addr]bool
}

var widths = [3]int64{10_000, 100_000, 1_000_000}

func (n naive) add(p *decode.Packet) {
	if !p.RoCE() || p.Has&decode.HasBTH == 0 || p.AddrKind == decode.AddrNone {
		return
	}
	k := placeOf{p.Dst, p.AddrKind, 0, p.Frame.Input, p.Frame.Interface}
	if p.Encap&(decode.EncapVXLAN|decode.EncapGeneve|decode.EncapNVGRE) != 0 {
		k.vni = p.VNI
	}
	if n[k] == nil {
		n[k] = &[3]map[int64]*inWindow{{}, {}, {}}
	}
	for i, width := range widths {
		start := p.Frame.Time / width * width
		w := n[k][i][start]
		if w == nil {
			w = &inWindow{senders: make(map[decode.Addr]bool)}
			n[k][i][start] = w
		}
		w.bytes += uint64(p.WireLen)
		w.packets++
		w.senders[p.Src] = true
	}
}

// TestReceivers holds the peaks of all captures against windows that are all
// counted.
func TestReceivers(t *testing.T) {
	several := false
	for _, c := range capturetest.All(t) {
		path := c.Name
		want := make(naive)
		last, ordered := int64(0), true
		decodeAll(t, c.Path, func(p *decode.Packet) {
			ordered = ordered && p.Frame.Time >= last
			last = p.Frame.Time
			want.add(p)
		})
		if !ordered {
			continue
		}
		src, err := capture.Open(c.Path, capture.DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		res, err := pipeline.Run(context.Background(), src, pipeline.DefaultConfig())
		if err := errors.Join(err, src.Close()); err != nil {
			t.Fatal(err)
		}
		if res.ReceiversLeftOut > 0 || len(res.Receivers) != len(want) {
			t.Errorf("%s: %d receivers, and %d packets to others; there are %d", path, len(res.Receivers), res.ReceiversLeftOut, len(want))
		}
		for i := range res.Receivers {
			r := &res.Receivers[i]
			w := want[placeOf{r.Addr, r.Kind, r.VNI, r.Input, r.Interface}]
			if w == nil {
				t.Errorf("%s: %+v is none", path, r)
				continue
			}
			for i, p := range r.Peaks {
				x := w[i][p.Start]
				switch {
				case x == nil || p.Width != widths[i] || p.Bytes != x.bytes || p.Packets != x.packets || p.Windows != uint64(len(w[i])):
					t.Errorf("%s: %+v, in truth %+v, and there are %d windows", path, p, x, len(w[i]))
					continue
				case p.Senders > len(x.senders) || p.Senders == 0 || len(x.senders) > 1 && p.Senders < 2:
					t.Errorf("%s: %d senders of %d", path, p.Senders, len(x.senders))
				}
				several = several || p.Senders > 1
				for start, y := range w[i] {
					if y.bytes > p.Bytes || y.bytes == p.Bytes && start < p.Start {
						t.Errorf("%s: %d bytes at %d, the peak is %+v", path, y.bytes, start, p)
					}
				}
			}
		}
	}
	if !several {
		t.Error("several senders in one window were never seen")
	}
}

// BenchmarkBursts is what it costs a packet that peaks are looked for: "more" than
// when blocks are decoded without. Both are done in turn, so that what else the
// machine does falls on both. The captures are those of docs/performance.md, and
// the hardest there can be at 100 Gb/s, where every packet goes to another of 64
// hosts and mostly begins a window.
func BenchmarkBursts(b *testing.B) {
	for _, tc := range []struct {
		name      string
		write     func(io.Writer) error
		receivers int
	}{
		{"sessions=1000", bulk("bulk_write", scenario.Options{Packets: 200_000, Snaplen: 128}), 0},
		{"sessions=100000", bulk("bulk_sessions", scenario.Options{Sessions: 100_000, Packets: 200_000, Snaplen: 128}), 0},
		{"hosts=2", bulk("bulk_write", scenario.Options{Sessions: 64, Packets: 200_000, Snaplen: 128}), 0},
		{"round", round, 64},
	} {
		b.Run(tc.name, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "c.pcap")
			f, err := os.Create(path)
			if err != nil {
				b.Fatal(err)
			}
			if err := errors.Join(tc.write(f), f.Close()); err != nil {
				b.Fatal(err)
			}
			var took [2]time.Duration
			var frames [2]int
			var d [2]*pipeline.Decoding
			cfg := pipeline.DefaultConfig()
			cfg.ICRC = false
			for i := range d {
				cfg.Receivers = i == 1
				d[i] = pipeline.NewDecoding(cfg)
			}
			for b.Loop() {
				src, err := capture.Open(path, capture.DefaultConfig())
				if err != nil {
					b.Fatal(err)
				}
				for n := 0; ; n++ {
					at := d[n%2]
					if err := src.ReadBatch(at.Block()); err != nil {
						break
					}
					for i := range at.Block().Frames { // both find it in the cache
						data := at.Block().Frames[i].Data
						touched += data[0] + data[len(data)-1]
					}
					began := time.Now()
					if err := at.Decode(src); err != nil {
						b.Fatal(err)
					}
					took[n%2] += time.Since(began)
					frames[n%2] += len(at.Block().Frames)
				}
				if err := src.Close(); err != nil {
					b.Fatal(err)
				}
			}
			if d[0].Receivers() > 0 || d[1].Receivers() == 0 || tc.receivers > 0 && d[1].Receivers() != tc.receivers {
				b.Fatal(d[0].Receivers(), d[1].Receivers())
			}
			without := float64(took[0].Nanoseconds()) / float64(frames[0])
			b.ReportMetric(without, "ns/packet-without")
			b.ReportMetric(float64(took[1].Nanoseconds())/float64(frames[1])-without, "ns/packet-more")
		})
	}
}

// touched keeps the compiler from leaving reads out.
var touched byte

// bulk writes a scenario.
func bulk(name string, o scenario.Options) func(io.Writer) error {
	return func(w io.Writer) error {
		sc, err := scenario.Find(name)
		if err != nil {
			return err
		}
		_, err = sc.Write(w, o, scenario.Pcap, "")
		return err
	}
}

// round writes 64 hosts that are sent to one after the other, ten million packets a
// second, of whose 1100 bytes 128 are kept.
func round(w io.Writer) error {
	const hosts, packets, size, kept = 64, 200_000, 1100, 128
	le := binary.LittleEndian
	out := bufio.NewWriter(w)
	header := make([]byte, 24)
	le.PutUint32(header, 0xa1b23c4d)
	le.PutUint16(header[4:], 2)
	le.PutUint16(header[6:], 4)
	le.PutUint32(header[16:], kept)
	le.PutUint32(header[20:], 1)
	_, _ = out.Write(header) // bufio keeps the error for Flush
	record := make([]byte, 16+size)
	frame := record[16:]
	middle(frame)
	le.PutUint32(record[8:], kept)
	le.PutUint32(record[12:], size)
	for i := range packets {
		le.PutUint32(record, 1_800_000_000)
		le.PutUint32(record[4:], uint32(i)*100)
		frame[ip+15], frame[ip+19] = byte(1+i*7%hosts), byte(1+i%hosts)
		frame[bth+7] = byte(1 + i%hosts)
		binary.BigEndian.PutUint32(frame[bth+8:], uint32(i/hosts))
		_, _ = out.Write(record[:16+kept])
	}
	return out.Flush()
}

// TestManyReceivers: all of those count that a block can have, and of more than
// are told apart those that get most.
func TestManyReceivers(t *testing.T) {
	const blocks, heavy = 40, 7
	var all pipeline.Bursts
	list := make([]track.Packet, capture.BatchFrames+10)
	now, light := int64(1), uint64(0)
	for range blocks {
		for i := range list {
			now += 1000
			p := &list[i]
			*p = track.Packet{Time: now, WireLen: 100, Kind: decode.AddrIPv4}
			if p.Dst.Lo = heavy; i%4 > 0 {
				light++
				p.Dst.Lo = 1000 + light
			}
		}
		all.Add(list)
	}
	if n := all.Packets(heavy); n != uint64(blocks*((len(list)+3)/4)) {
		t.Errorf("%d packets to the one that gets most", n)
	}
	if n := all.Receivers(); n > 1<<14 || n < 1<<13 {
		t.Errorf("%d receivers", all.Receivers())
	}
}

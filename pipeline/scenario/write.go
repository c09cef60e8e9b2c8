package scenario

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/rocelens/rocelens/capture"
)

// Format is a file format for captures.
type Format uint8

// The formats. Pcap is smaller and faster to write and to read; its time
// stamps are nanoseconds too.
const (
	PcapNG Format = iota
	Pcap
)

// Write runs a scenario, writes its capture to w and returns the truth.
func (sc *Scenario) Write(w io.Writer, o Options, format Format, application string) (*Truth, error) {
	if format == Pcap {
		if len(sc.Interfaces(0)) > 1 {
			return nil, fmt.Errorf("scenario %s has several interfaces, and a pcap file has one: write pcapng", sc.Name)
		}
		p := newPcapWriter(w, o.Snaplen)
		t, err := sc.Run(o, p)
		if err != nil {
			return nil, err
		}
		return t, p.flush()
	}
	input := capture.Input{Interfaces: sc.Interfaces(o.Snaplen)}
	ng := capture.NewWriter(w, capture.WriterConfig{
		Application: application,
		Comments:    []string{"simulated traffic, scenario " + sc.Name},
		Inputs:      func() []capture.Input { return []capture.Input{input} },
	})
	t, err := sc.Run(o, ng)
	if err != nil {
		return nil, err
	}
	if t.Tap.Counted {
		received := t.Frames + t.Tap.Lost
		input.Interfaces[0].Received, input.Interfaces[0].Dropped = &received, &t.Tap.Lost
	}
	return t, ng.Close()
}

// pcapWriter writes the classic format with nanoseconds, little-endian:
//
//	| magic | version 2.4 | zone | accuracy | snap length | link type |
//	| seconds | nanoseconds | captured length | original length | bytes ...
type pcapWriter struct {
	w   io.Writer
	buf []byte
}

const (
	pcapMagicNano = 0xa1b23c4d
	pcapSnapAll   = 262144
	pcapFlushFrom = 256 << 10
	nsPerSecond   = 1_000_000_000
)

func newPcapWriter(w io.Writer, snaplen int) *pcapWriter {
	if snaplen == 0 {
		snaplen = pcapSnapAll
	}
	le := binary.LittleEndian
	b := make([]byte, 0, pcapFlushFrom+pcapSnapAll)
	b = le.AppendUint32(b, pcapMagicNano)
	b = le.AppendUint16(b, 2)
	b = le.AppendUint16(b, 4)
	b = le.AppendUint64(b, 0)
	b = le.AppendUint32(b, uint32(snaplen))
	b = le.AppendUint32(b, uint32(capture.LinkEthernet))
	return &pcapWriter{w: w, buf: b}
}

// WriteFrame writes one frame. The format has no comments.
func (p *pcapWriter) WriteFrame(f *capture.Frame, _ ...string) error {
	le := binary.LittleEndian
	b := p.buf
	b = le.AppendUint32(b, uint32(f.Time/nsPerSecond))
	b = le.AppendUint32(b, uint32(f.Time%nsPerSecond))
	b = le.AppendUint32(b, uint32(len(f.Data)))
	b = le.AppendUint32(b, f.OrigLen)
	b = append(b, f.Data...)
	p.buf = b
	if len(p.buf) >= pcapFlushFrom {
		return p.flush()
	}
	return nil
}

func (p *pcapWriter) flush() error {
	_, err := p.w.Write(p.buf)
	p.buf = p.buf[:0]
	return err
}

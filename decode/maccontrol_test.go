package decode_test

import (
	"encoding/binary"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/capture/frametest"
	"github.com/rocelens/rocelens/decode"
)

// macVectors is what is known of the four frames in mac-control-vectors, of
// whoever made them: kind, sender, classes and their times.
var macVectors = [...]struct {
	kind   decode.Kind
	src    string
	enable uint8
	quanta [8]uint16
}{
	{decode.KindPFC, "00:11:22:33:44:01", 0x08, [8]uint16{3: 0xffff}},
	{decode.KindPFC, "00:00:00:00:00:07", 0xff, [8]uint16{0x0807, 0x0605, 0x0403, 0x0201}},
	{decode.KindPause, "00:00:00:00:00:00", 0x01, [8]uint16{0}},
	{decode.KindPause, "00:00:00:00:00:00", 0x01, [8]uint16{0xffff}},
}

// eachVector decodes each of them as it is, and cut to every length.
func eachVector(t *testing.T, cut bool, do func(n, length int, p *decode.Packet)) {
	t.Helper()
	d := decode.New(decode.DefaultConfig())
	n := 0
	frametest.Each(t, filepath.Join(capturetest.NeedShared(t), "public", "mac-control-vectors", "pause_pfc_vectors.pcap"), func(f *capture.Frame) {
		whole := f.Data
		from := len(whole)
		if cut {
			from = 0
		}
		for l := from; l <= len(whole); l++ {
			short := *f
			// A frame that was sent short, and not one that the capture cut.
			short.Data, short.OrigLen = whole[:l:l], uint32(l)
			var p decode.Packet
			p.Pause.Enable, p.Pause.Quanta = 0x55, [8]uint16{9, 9, 9, 9, 9, 9, 9, 9}
			d.Decode(&short, &p)
			do(n, l, &p)
		}
		n++
	})
	if n != len(macVectors) {
		t.Fatalf("%d frames, want %d", n, len(macVectors))
	}
}

// TestMACControlVectors: kinds, senders, classes and times are those of
// whoever made the frames. A zero address is an address like any other.
func TestMACControlVectors(t *testing.T) {
	eachVector(t, false, func(n, _ int, p *decode.Packet) {
		want := &macVectors[n]
		if p.Kind != want.kind || p.SrcMAC.String() != want.src || p.Pause.Enable != want.enable || p.Pause.Quanta != want.quanta || p.Malformed() || p.RoCE() {
			t.Errorf("frame %d: %v of %v: %#x %v, want %+v", n+1, p.Kind, p.SrcMAC, p.Pause.Enable, p.Pause.Quanta, want)
		}
	})
}

// TestMACControlShort: broken senders leave the padding out. What a frame says
// ends at 34 bytes (PFC) or 18 (PAUSE), and from there on it is the same; of a
// shorter one nothing is taken, and it is malformed.
func TestMACControlShort(t *testing.T) {
	eachVector(t, true, func(n, length int, p *decode.Packet) {
		want := &macVectors[n]
		least := 34
		if want.kind == decode.KindPause {
			least = 18
		}
		switch {
		case length >= least:
			if p.Kind != want.kind || p.Pause.Enable != want.enable || p.Pause.Quanta != want.quanta || p.Malformed() {
				t.Errorf("frame %d of %d bytes: %v %#x %v, error %v", n+1, length, p.Kind, p.Pause.Enable, p.Pause.Quanta, p.Err)
			}
		case p.Pause.Enable != 0 || !p.Malformed():
			t.Errorf("frame %d of %d bytes: %v %#x, error %v", n+1, length, p.Kind, p.Pause.Enable, p.Err)
		}
	})
}

// TestMACControlEnable: it is the lower byte of the vector that says which
// classes count, whatever is in the upper one or in the times of the others.
func TestMACControlEnable(t *testing.T) {
	d := decode.New(decode.DefaultConfig())
	for enable := range 1 << 8 {
		b := make([]byte, 34)
		copy(b, "\x01\x80\xc2\x00\x00\x01\x02\x00\x00\x00\x00\x01\x88\x08\x01\x01")
		b[16], b[17] = byte(^enable), byte(enable)
		for i := range 8 {
			binary.BigEndian.PutUint16(b[18+2*i:], uint16(1000*i))
		}
		var p decode.Packet
		d.Decode(&capture.Frame{Data: b, OrigLen: uint32(len(b)), Link: capture.LinkEthernet}, &p)
		if p.Kind != decode.KindPFC || p.Pause.Enable != uint8(enable) || p.Pause.Quanta != [8]uint16{0, 1000, 2000, 3000, 4000, 5000, 6000, 7000} {
			t.Errorf("%#x: %v %+v", enable, p.Kind, p.Pause)
		}
	}
}

// TestMACControlAgainstTshark reads the same from tshark.
func TestMACControlAgainstTshark(t *testing.T) {
	capturetest.Need(t, "tshark")
	args := []string{"-r", filepath.Join(capturetest.NeedShared(t), "public", "mac-control-vectors", "pause_pfc_vectors.pcap"), "-T", "fields", "-e", "macc.opcode", "-e", "macc.cbfc.enbv", "-e", "macc.pause_time"}
	for i := range 8 {
		args = append(args, "-e", "macc.cbfc.pause_time.c"+strconv.Itoa(i))
	}
	out, err := exec.Command("tshark", args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimRight(string(out), "\n"), "\n")
	if len(lines) != len(macVectors) {
		t.Fatalf("%d lines", len(lines))
	}
	number := func(s string) uint16 {
		n, err := strconv.ParseUint(s, 0, 16)
		if err != nil {
			t.Fatal(err)
		}
		return uint16(n)
	}
	eachVector(t, false, func(n, _ int, p *decode.Packet) {
		f := strings.Split(lines[n], "\t")
		if p.Kind == decode.KindPause {
			if number(f[0]) != 1 || number(f[2]) != p.Pause.Quanta[0] {
				t.Errorf("frame %d: %q, %v", n+1, f, p.Pause)
			}
			return
		}
		if number(f[0]) != 0x101 || number(f[1]) != uint16(p.Pause.Enable) {
			t.Errorf("frame %d: %q, %v", n+1, f, p.Pause)
		}
		for i, q := range p.Pause.Quanta {
			if number(f[3+i]) != q {
				t.Errorf("frame %d, class %d: %s, %d", n+1, i, f[3+i], q)
			}
		}
	})
}

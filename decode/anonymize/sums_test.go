package anonymize_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/capture"
)

// internetSum is the checksum by definition (RFC 1071): words of 16 bits, the
// carry added at each of them.
func internetSum(b []byte) uint16 {
	sum := uint32(0)
	for i := 0; i < len(b); i += 2 {
		w := uint32(b[i]) << 8
		if i+1 < len(b) {
			w |= uint32(b[i+1])
		}
		if sum += w; sum > 0xffff {
			sum -= 0xffff
		}
	}
	return ^uint16(sum)
}

// ipFrame is an Ethernet frame with an IP packet of a protocol.
func ipFrame(v6 bool, proto byte, body []byte) (frame []byte, ip, l4 int) {
	const macs = "525400000002 525400000001"
	if v6 {
		b := unhex(macs + "86dd 60000000 0000 00 40 fd000000000000000000000000000001 fd000000000000000000000000000002")
		binary.BigEndian.PutUint16(b[18:], uint16(len(body)))
		b[20] = proto
		return append(b, body...), 14, 54
	}
	b := unhex(macs + "0800 4500 0000 0001 0000 40 00 0000 0a010203 0a010204")
	binary.BigEndian.PutUint16(b[16:], uint16(20+len(body)))
	b[23] = proto
	return append(b, body...), 14, 34
}

// right is what the checksum at at should be in a packet whose transport header
// is at l4 and ends with the frame.
func right(frame []byte, v6 bool, proto byte, ip, l4, at int) uint16 {
	b := append([]byte(nil), frame[l4:]...)
	b[at-l4], b[at-l4+1] = 0, 0
	var pseudo []byte
	switch n := uint16(len(b)); {
	case proto == 1 || proto == 47:
	case v6:
		pseudo = append(append([]byte(nil), frame[ip+8:ip+40]...), 0, 0, byte(n>>8), byte(n), 0, 0, 0, proto)
	default:
		pseudo = append(append([]byte(nil), frame[ip+12:ip+20]...), 0, proto, byte(n>>8), byte(n))
	}
	return internetSum(append(pseudo, b...))
}

// TestSums: right checksums are right afterwards, wrong ones wrong, and those
// that were not computed are not.
func TestSums(t *testing.T) {
	a := newAnonymizer(t)
	for _, c := range []struct {
		name   string
		v6     bool
		proto  byte
		header string
		at     int // of the checksum in it
	}{
		{"UDP", false, 17, "c000 0035 LLLL 0000", 6}, {"UDP over IPv6", true, 17, "c000 0035 LLLL 0000", 6},
		{"TCP", false, 6, "0050c000 00000001 00000002 5010 0100 0000 0000", 16}, {"TCP over IPv6", true, 6, "0050c000 00000001 00000002 5010 0100 0000 0000", 16},
		{"ICMP", false, 1, "0800 0000 12340001", 2}, {"ICMPv6", true, 58, "8000 0000 12340001", 2},
		{"GRE", false, 47, "8000 88b5 0000 0000", 4},
	} {
		for _, n := range []int{0, 1, 100, 1001} { // of payload
			head := c.header
			body := make([]byte, n)
			for i := range body {
				body[i] = byte(i*7 + 1)
			}
			length := len(strings.ReplaceAll(head, " ", ""))/2 + n
			frame, ip, l4 := ipFrame(c.v6, c.proto, append(unhex(strings.Replace(head, "LLLL", fmt.Sprintf("%04x", length), 1)), body...))
			at := l4 + c.at
			put := func(v uint16) []byte {
				binary.BigEndian.PutUint16(frame[at:], v)
				if !c.v6 {
					frame[24], frame[25] = 0, 0
					binary.BigEndian.PutUint16(frame[24:], internetSum(frame[14:34]))
				}
				return a.Frame(frameOf(capture.LinkEthernet, frame))
			}
			good := right(frame, c.v6, c.proto, ip, l4, at)
			if good == 0 && c.proto == 17 {
				good = 0xffff
			}
			out := put(good)
			want := right(out, c.v6, c.proto, ip, l4, at)
			if got := binary.BigEndian.Uint16(out[at:]); got != want || got == good && n > 1 {
				t.Errorf("%s, %d bytes: right was %#x, is %#x, not %#x", c.name, n, good, got, want)
			}
			if !c.v6 && internetSum(out[14:34]) != 0 {
				t.Errorf("%s, %d bytes: the IPv4 header's checksum is wrong", c.name, n)
			}
			for _, flip := range []uint16{1, 0x8000, 0x5555} {
				out = put(good ^ flip)
				if got := binary.BigEndian.Uint16(out[at:]); got == want || got == 0 {
					t.Errorf("%s, %d bytes: a wrong one becomes %#x, and %#x is right", c.name, n, got, want)
				}
			}
			if out = put(0); c.proto == 17 && binary.BigEndian.Uint16(out[at:]) != 0 {
				t.Errorf("%s, %d bytes: one that was not computed becomes %x", c.name, n, out[at:at+2])
			}
			if c.v6 {
				continue
			}
			for _, wrong := range []uint16{0, 0x1234} {
				put(good)
				binary.BigEndian.PutUint16(frame[24:], wrong)
				out = a.Frame(frameOf(capture.LinkEthernet, frame))
				if got := binary.BigEndian.Uint16(out[24:]); internetSum(out[14:34]) == 0 || wrong == 0 && got != 0 {
					t.Errorf("%s: an IPv4 checksum of %#x becomes %#x", c.name, wrong, got)
				}
			}
		}
	}
}

// TestCutSums: of a packet that was cut the checksum tells nothing of what was
// cut off, nor of what is there.
func TestCutSums(t *testing.T) {
	a := newAnonymizer(t)
	sum := func(fill byte) uint16 {
		body := unhex("c000 0035 00d0 0000")
		for range 200 {
			body = append(body, fill)
		}
		frame, ip, l4 := ipFrame(false, 17, body)
		binary.BigEndian.PutUint16(frame[l4+6:], right(frame, false, 17, ip, l4, l4+6))
		f := frameOf(capture.LinkEthernet, frame[:100])
		f.OrigLen = uint32(len(frame))
		return binary.BigEndian.Uint16(a.Frame(f)[l4+6:])
	}
	if x, y := sum('a'), sum('b'); x != y || x == 0 {
		t.Errorf("the checksum is %#x, and with other payload %#x", x, y)
	}
}

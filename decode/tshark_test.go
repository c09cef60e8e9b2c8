package decode_test

import (
	"bufio"
	"bytes"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/capture/frametest"
	"github.com/rocelens/rocelens/decode"
)

// line is what our list and tshark's are compared by.
type line struct {
	frame, opcode, qp, psn uint64
}

// tsharkWrong are the captures in which tshark differs, how, and why ours is
// right. Each is a fact about tshark 4.0; a newer one may do better.
var tsharkWrong = map[string]struct {
	onlyOurs, onlyTshark int
	why                  string
}{
	"corrupt_send_acks.pcap.zst": {1, 0, "a flipped bit in the IP length: tshark gives up, but the frame is long enough for a whole packet, " +
		"and the truth of the capture counts it"},
	"icmp_unreachable_reject.pcap.zst": {0, 6, "tshark counts RoCE packets quoted in ICMP errors as packets"},
}

// tshark runs tshark on a capture and returns its list of transport packets.
func tshark(t *testing.T, path string) []line {
	t.Helper()
	out := capturetest.RunTshark(t, path, "-Y", "infiniband.bth", "-T", "fields", "-E", "occurrence=l",
		"-e", "frame.number", "-e", "infiniband.bth.opcode", "-e", "infiniband.bth.destqp", "-e", "infiniband.bth.psn")
	var list []line
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		fields := strings.Split(s.Text(), "\t")
		if len(fields) != 4 || fields[1] == "" {
			t.Fatalf("tshark: unexpected line %q", s.Text())
		}
		var v [4]uint64
		for i, x := range fields {
			var err error
			if v[i], err = strconv.ParseUint(x, 0, 64); err != nil {
				t.Fatalf("tshark: %v in %q", err, s.Text())
			}
		}
		list = append(list, line{v[0], v[1], v[2], v[3]})
	}
	return list
}

// TestAgainstTshark compares frame, opcode, destination QP and PSN of every
// transport packet with tshark, on every committed capture. All fields of all
// captures are compared in dashboards/packets.
func TestAgainstTshark(t *testing.T) {
	capturetest.Need(t, "tshark")
	for _, c := range capturetest.Committed(t) {
		path, name := c.Path, filepath.Base(c.Path)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			theirs := tshark(t, path)
			var ours []line
			d := decode.New(decode.DefaultConfig())
			var p decode.Packet
			frametest.Each(t, path, func(f *capture.Frame) {
				if d.Decode(f, &p); p.Has&decode.HasBTH != 0 {
					ours = append(ours, line{f.Number, uint64(p.Opcode), uint64(p.DestQP), uint64(p.PSN)})
				}
			})
			onlyOurs, onlyTshark := difference(ours, theirs), difference(theirs, ours)
			want := tsharkWrong[name]
			if len(onlyOurs) != want.onlyOurs || len(onlyTshark) != want.onlyTshark {
				t.Errorf("%d packets in our list alone, first %v; %d in tshark's alone, first %v; expected %d and %d: %s",
					len(onlyOurs), first(onlyOurs), len(onlyTshark), first(onlyTshark), want.onlyOurs, want.onlyTshark, want.why)
			}
		})
	}
}

// difference are the elements of a that are not in b.
func difference(a, b []line) []line {
	in := make(map[line]bool, len(b))
	for _, l := range b {
		in[l] = true
	}
	var d []line
	for _, l := range a {
		if !in[l] {
			d = append(d, l)
		}
	}
	return d
}

func first(l []line) any {
	if len(l) == 0 {
		return "none"
	}
	return l[0]
}

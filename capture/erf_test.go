package capture

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const erfNow = 1_700_000_000

func TestERF(t *testing.T) {
	ib := erfRecord(erfNow, 1<<31, 21, erfVarying|2, 3, 17, strings.Repeat("i", 17))
	ethernet := erfRecord(erfNow, 0xffffffff, 2, erfVarying, 4, 60, "\x00\x00"+strings.Repeat("e", 14))
	colour := erfRecord(erfNow+1, 0, 11, erfVarying|2, 999, 14, "\x00\x00"+strings.Repeat("c", 14))
	extended := erfRecord(erfNow+1, 0, 21|erfExtension, erfVarying, 0, 3, "\x81......."+"\x03......."+"xyz")
	channel := erfRecord(erfNow+1, 0, 5, erfVarying, 0, 4, "mchdabcd")
	pad := erfRecord(0, 0, erfPad, 0, 9, 0, "........")
	meta := erfRecord(0, 0, erfMeta, 0, 9, 0, "........")
	file := slices.Concat(pad, ib, meta, ethernet, colour, extended, channel)
	at := func(before ...[]byte) int64 { return int64(len(slices.Concat(before...))) }
	f := stream(t, file)
	expect(t, f, "",
		want{erfNow*nsPerSecond + nsPerSecond/2, string(ib[:16+17]), 16 + 17, LinkERF, -1, 0, at(pad), nil},
		want{(erfNow + 1) * nsPerSecond, string(ethernet), 18 + 60, LinkERF, -1, 1, at(pad, ib, meta), nil},
		want{(erfNow + 1) * nsPerSecond, string(colour), 32, LinkERF, -1, 0, at(pad, ib, meta, ethernet), nil},
		want{(erfNow + 1) * nsPerSecond, string(extended[:32+3]), 32 + 3, LinkERF, -1, 1, at(pad, ib, meta, ethernet, colour), nil},
		want{(erfNow + 1) * nsPerSecond, string(channel), 24, LinkERF, -1, 1, at(pad, ib, meta, ethernet, colour, extended), nil},
	)
	in := f.Inputs()[0]
	if in.Format != FormatERF || in.Drops == nil || *in.Drops != 7 {
		t.Errorf("format %v, drops %v", in.Format, in.Drops)
	}
	if diff := cmp.Diff([]Interface{
		{Link: LinkERF, FCSLen: -1, Name: "port 2", TSResol: 0xa0},
		{Link: LinkERF, FCSLen: -1, Name: "port 0", TSResol: 0xa0},
	}, in.Interfaces); diff != "" {
		t.Error(diff)
	}

	if f = stream(t, colour); f.Inputs()[0].Drops != nil {
		t.Error("a colour is taken for a count of drops")
	}
}

func TestERFDamage(t *testing.T) {
	record := erfRecord(erfNow, 0, 21, erfVarying, 0, 8, "12345678")
	good := slices.Concat(record, record, record, record)
	whole := want{erfNow * nsPerSecond, string(record), 24, LinkERF, -1, 0, 0, nil}
	frames := []want{whole, whole, whole, whole}
	for i := range frames {
		frames[i].Offset = int64(24 * i)
	}
	for _, length := range []byte{0, 15} {
		bad := slices.Clone(record)
		bad[11] = length
		reason := map[byte]string{0: "an ERF record of 0 bytes", 15: "an ERF record of 15 bytes"}[length]
		expect(t, stream(t, slices.Concat(good, bad)),
			"standard input: damaged at byte 96: "+reason+" is shorter than its header", frames...)
	}
}

// What is not ERF is not taken for it.
func TestERFProbe(t *testing.T) {
	record := erfRecord(erfNow, 0, 21, erfVarying, 0, 8, "12345678")
	change := func(at int, v byte) []byte {
		c := slices.Clone(record)
		c[at] = v
		return c
	}
	for _, c := range []struct {
		name string
		head []byte
		all  bool
		want verdict
	}{
		{"nothing", nil, true, no},
		{"one record", record, true, yes},
		{"one record so far", record, false, maybe},
		{"cut in the only record", record[:17], true, no},
		{"cut in the second record", slices.Concat(record, record[:17]), true, yes},
		{"cut in the header", record[:15], true, no},
		{"type 0", change(8, 0), true, no},
		{"type 26", change(8, 26), true, no},
		{"length 0", change(11, 0), true, no},
		{"1970", change(7, 0), true, no},
		{"two days back", slices.Concat(record, erfRecord(erfNow-2*86400, 0, 21, 4, 0, 8, "12345678")), true, no},
		{"two years on", slices.Concat(record, erfRecord(erfNow+2*366*86400, 0, 21, 4, 0, 8, "12345678")), true, no},
		{"more captured than there was", erfRecord(erfNow, 0, 21, 4, 0, 8, strings.Repeat("x", 64)), true, no},
		{"fixed slots", erfRecord(erfNow, 0, 21, 0, 0, 8, strings.Repeat("x", 64)), true, yes},
		{"extension headers without end", erfRecord(erfNow, 0, 21|erfExtension, 4, 0, 8, strings.Repeat("\xff", 16)), true, no},
		{"text", []byte(strings.Repeat("the quick brown fox jumps over the lazy dog\n", 100)), true, no},
	} {
		if got := probeERF(c.head, c.all); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

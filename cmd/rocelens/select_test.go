package main

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/rocelens/rocelens/capture"
)

func TestParseTime(t *testing.T) {
	loc := time.FixedZone("X", 3600)
	first := time.Date(2026, 11, 29, 14, 3, 5, 250_000_000, loc).UnixNano()
	last := first + int64(90*time.Second)
	at := func(h, m, s, ns int) int64 { return time.Date(2026, 11, 29, h, m, s, ns, loc).UnixNano() }
	for _, tc := range []struct {
		in   string
		want int64
	}{
		{"14:03", at(14, 3, 0, 0)},
		{"14:03:05", at(14, 3, 5, 0)},
		{"14:03:05.25", at(14, 3, 5, 250_000_000)},
		{"00:00", at(0, 0, 0, 0)},
		{"2026-11-29 14:03:05", at(14, 3, 5, 0)},
		{"2026-11-29 14:03:05.000000001", at(14, 3, 5, 1)},
		{"2026-11-29 14:03", at(14, 3, 0, 0)},
		{"2026-11-29T14:03:05", at(14, 3, 5, 0)},
		{"2026-11-29T13:03:05Z", at(14, 3, 5, 0)},
		{"2026-11-29T13:03:05.5+00:00", at(14, 3, 5, 500_000_000)},
		{"+10s", first + 10e9}, {"+1m30s", first + 90e9}, {"+0s", first}, {"+250ms", first + 250e6},
		{"-1m", last - 60e9}, {"-0s", last},
	} {
		spec, err := parseTime(tc.in, loc)
		if err != nil {
			t.Errorf("%q: %v", tc.in, err)
			continue
		}
		if got := spec.resolve(first, last, loc); got != tc.want {
			t.Errorf("%q is %s, want %s", tc.in, time.Unix(0, got).In(loc), time.Unix(0, tc.want).In(loc))
		}
		if spec.needsLast() != strings.HasPrefix(tc.in, "-") {
			t.Errorf("%q: needsLast is %v", tc.in, spec.needsLast())
		}
	}
	for _, in := range []string{"25:00", "10", "+", "-", "+-1s", "--1s", "++1s", "+10", "now", "2026-13-01 00:00", "14:03:05x", "+1s "} {
		if _, err := parseTime(in, loc); err == nil {
			t.Errorf("%q is taken", in)
		}
	}
	if spec, err := parseTime("", loc); err != nil || spec.given() {
		t.Errorf("no time at all: %v, %v", spec, err)
	}
}

func TestFrameSet(t *testing.T) {
	frame := func(input int32, number uint64) *capture.Frame { return &capture.Frame{Input: input, Number: number} }
	set, err := parseFrames("30-40, 2:5,10-20,15-25,1:35,2:100-")
	if err == nil {
		err = set.bind(2)
	}
	if err == nil || !strings.Contains(err.Error(), "INPUT:FRAMES") {
		t.Errorf("numbers without an input among two: %v", err)
	}
	set, err = parseFrames("1:30-40,2:5,1:10-20, 1:15-25,1:35,2:100-")
	if err != nil {
		t.Fatal(err)
	}
	if err := set.bind(2); err != nil {
		t.Fatal(err)
	}
	for n := uint64(1); n < 200; n++ {
		if got, want := set.has(frame(0, n)), n >= 10 && n <= 25 || n >= 30 && n <= 40; got != want {
			t.Errorf("1:%d: %v", n, got)
		}
		if got, want := set.has(frame(1, n)), n == 5 || n >= 100; got != want {
			t.Errorf("2:%d: %v", n, got)
		}
		if set.past(frame(0, n), 2) {
			t.Errorf("1:%d is past the end, with another input to come", n)
		}
	}
	set, err = parseFrames("7,3-4")
	if err != nil {
		t.Fatal(err)
	}
	if err := set.bind(1); err != nil {
		t.Fatal(err)
	}
	if set.past(frame(0, 7), 1) || !set.past(frame(0, 8), 1) {
		t.Error("the end is not after 7")
	}
	var all frameSet
	if err := all.bind(3); err != nil || !all.has(frame(2, 9)) || all.past(frame(0, math.MaxUint64), 1) {
		t.Errorf("no --frames is not all frames: %v", err)
	}
	for _, in := range []string{"0", "0-3", "5-4", "a", "1-b", "-", "1:", ":1", "0:1", "1,,2", "1:2:3", "18446744073709551616", "-5"} {
		if _, err := parseFrames(in); err == nil {
			t.Errorf("%q is taken", in)
		}
	}
}

package words

import "testing"

func TestWords(t *testing.T) {
	for _, tc := range []struct{ got, want string }{
		{Count(0), "0"}, {Count(999), "999"}, {Count(1000), "1,000"}, {Count(123456), "123,456"}, {Count(1234567), "1,234,567"},
		{Plural(0, "packet"), "0 packets"}, {Plural(1, "packet"), "1 packet"}, {Plural(2000, "packet"), "2,000 packets"},
		{Times(1), "once"}, {Times(2), "twice"}, {Times(3000), "3,000 times"},
		{Percent(0, 0), "0.0 %"}, {Percent(0, 7), "0.0 %"}, {Percent(7, 7), "100.0 %"}, {Percent(1, 100000), "<0.1 %"},
		{Percent(99999, 100000), ">99.9 %"}, {Percent(1, 3), "33.3 %"},
		{Scaled(0, "B"), "0 B"}, {Scaled(999, "B"), "999 B"}, {Scaled(999.6, "B"), "1.0 kB"}, {Scaled(2.5e9, "bit/s"), "2.5 Gbit/s"}, {Scaled(123e15, "B"), "123.0 PB"},
		{Duration(0), "0 ns"}, {Duration(-5), "-5 ns"}, {Duration(999), "999 ns"}, {Duration(1500), "1.5 µs"}, {Duration(2_500_000), "2.5 ms"},
		{Duration(3_642_209_000), "3.642 s"}, {Duration(125e9), "2 min 5 s"}, {Duration(3*3600e9 + 59*60e9), "3 h 59 min"},
		{Duration(47 * 3600e9), "47 h 0 min"}, {Duration(80 * 3600e9), "3 d 8 h"},
	} {
		if tc.got != tc.want {
			t.Errorf("%q, want %q", tc.got, tc.want)
		}
	}
}

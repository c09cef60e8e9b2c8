package decode

import "testing"

func TestEditDistance(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"frames", "frames", 0}, {"frame", "frames", 1}, {"fromat", "format", 2}, {"abc", "", 3}, {"kitten", "sitting", 3}} {
		if got := EditDistance(tc.a, tc.b); got != tc.want {
			t.Errorf("%q to %q: %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}

func TestNearestField(t *testing.T) {
	for name, want := range map[string]string{
		"infiniband.bth.opcod": "infiniband.bth.opcode", "infiniband.bth.psm": "infiniband.bth.psn", "psn": "infiniband.bth.psn",
		"IP.SRC": "ip.src", "something.else.entirely": "",
	} {
		if got := NearestField(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

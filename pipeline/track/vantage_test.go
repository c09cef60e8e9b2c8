package track_test

import (
	"bytes"
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/scenario"
)

// vantages are what is said of the tap's place in the sessions of c.
func vantages(tb testing.TB, c *simulated) (list []record.Vantage) {
	tb.Helper()
	for s := range c.analyse(tb).Sessions.All() {
		list = append(list, s.Vantage)
	}
	return list
}

// TestVantage: in no scenario is the tap said to be where it was not, and it is
// said where routers tell.
func TestVantage(t *testing.T) {
	routed := map[string]bool{"vantage_requester": true, "vantage_responder": true, "vantage_between": true}
	for _, sc := range withRoCE() {
		c := simulate(t, &sc, 1)
		for _, v := range vantages(t, c) {
			switch {
			case v == record.VantageUnknown && routed[sc.Name]:
				t.Errorf("%s: nothing is said, and it was at %s", sc.Name, c.truth.Network.Vantage)
			case v != record.VantageUnknown && v.String() != c.truth.Network.Vantage:
				t.Errorf("%s: said to be %v, and it was at %s", sc.Name, v, c.truth.Network.Vantage)
			}
		}
	}
}

// TestVantageOf holds what is said against what the TTLs and the directions of
// a Linux cooked capture allow to say. The responder is 50 us away.
func TestVantageOf(t *testing.T) {
	const sent, got, other = 4, 0, 3
	sc, err := scenario.Find("vantage_requester")
	if err != nil {
		t.Fatal(err)
	}
	c := simulate(t, &sc, 1)
	for _, tc := range []struct {
		about  string
		ttl    [2]uint8  // of A's packets and of B's
		change uint8     // what every fourth packet's TTL is less
		cooked *[2]uint8 // the same of their packet types
		want   record.Vantage
	}{
		{"one segment", [2]uint8{64, 64}, 0, nil, record.VantageUnknown},
		{"B routed", [2]uint8{64, 62}, 0, nil, record.VantageRequester},
		{"A routed", [2]uint8{254, 255}, 0, nil, record.VantageResponder},
		{"both routed", [2]uint8{63, 253}, 0, nil, record.VantageBetween},
		{"A's TTL differs", [2]uint8{64, 62}, 1, nil, record.VantageUnknown},
		{"B's paths differ", [2]uint8{255, 62}, 0, nil, record.VantageRequester},
		{"TTLs of others", [2]uint8{128, 127}, 0, nil, record.VantageUnknown},
		{"a TTL of 1", [2]uint8{1, 64}, 0, nil, record.VantageUnknown},
		{"at A, one segment", [2]uint8{64, 64}, 0, &[2]uint8{sent, got}, record.VantageRequester},
		{"at B, one segment", [2]uint8{255, 64}, 0, &[2]uint8{got, sent}, record.VantageResponder},
		{"at a bridge", [2]uint8{64, 64}, 0, &[2]uint8{sent, other}, record.VantageUnknown},
		{"at a router", [2]uint8{63, 64}, 0, &[2]uint8{sent, got}, record.VantageResponder},
		{"at a router among others", [2]uint8{63, 62}, 0, &[2]uint8{sent, got}, record.VantageBetween},
	} {
		x := c.only(func(int, *capture.Frame) bool { return true })
		for i := range x.frames {
			f := &x.frames[i]
			side := f.Data[14+15] - 1 // 10.0.0.1 or 10.0.0.2
			b := bytes.Clone(f.Data)
			b[14+8] = tc.ttl[side]
			if i%4 == 3 {
				b[14+8] -= tc.change
			}
			if tc.cooked != nil {
				b = append([]byte{0, tc.cooked[side], 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 8, 0}, b[14:]...)
				f.Link = capture.LinkSLL
			}
			f.OrigLen += uint32(len(b)) - uint32(len(f.Data))
			f.Data = b
		}
		for _, v := range vantages(t, x) {
			if v != tc.want {
				t.Errorf("%s: said to be %v, not %v", tc.about, v, tc.want)
			}
		}
	}
}

package groundtruth_test

import (
	"strings"
	"testing"

	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/pipeline/record"
)

// tappedHost is the last byte of the address of the host at which a capture was
// taken: on it, or on its only link. It is 0 where it was taken elsewhere.
func (t *truth) tappedHost() byte {
	host, _, _ := strings.Cut(strings.TrimPrefix(t.CapturePoint, "wire"), ":")
	if host == "" || len(host) > 2 || host[0] < 'A' || 'D' < host[0] || strings.HasPrefix(t.CapturePoint, "A:eth1") {
		return 0
	}
	return host[0] - 'A' + 1
}

// TestGroundTruthVantage: no capture is said to be taken where it was not.
func TestGroundTruthVantage(t *testing.T) {
	right := make(map[string]int)
	for _, a := range all(t) {
		at := a.truth.tappedHost()
		for s := range a.res.Sessions.All() {
			var said record.Endpoint
			switch s.Vantage {
			case record.VantageUnknown:
				continue
			case record.VantageRequester:
				said = s.A
			case record.VantageResponder:
				said = s.B
			}
			if ip := said.Addr.IP().AsSlice(); at == 0 || ip[len(ip)-1] != at {
				t.Errorf("%s, %s: said to be %v, and it was taken at %s", a.name, s.ID, s.Vantage, a.truth.CapturePoint)
				continue
			}
			right[a.name]++
		}
	}
	if _, ok := capturetest.Shared(t); !ok {
		return
	}
	// The others are of one network segment, which no router tells of.
	for _, name := range []string{"formats_write_sll", "formats_write_sll2"} {
		if right[name] == 0 {
			t.Errorf("%s: nothing is said, and its packet types tell", name)
		}
	}
}

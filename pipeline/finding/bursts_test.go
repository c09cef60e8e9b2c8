package finding_test

import (
	"strings"
	"testing"

	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/scenario"
)

// TestMicrobursts: the scenario that is about bursts has them, with what the
// truth says.
func TestMicrobursts(t *testing.T) {
	found := 0
	for _, sc := range scenario.Scenarios() {
		if sc.FlowControl() || strings.HasPrefix(sc.Name, "bulk_") {
			continue
		}
		_, all, truth := analyzeScenario(t, sc)
		for _, f := range all {
			if f.Code != "microbursts" {
				continue
			}
			found++
			e := f.Evidence.Get("worst").([]record.Evidence)[0]
			if f.Severity != record.Info || truth.Totals.CESeen+truth.Totals.DropsBefore+truth.Totals.DropsAfter == 0 {
				t.Errorf("%s: %+v", sc.Name, f)
			}
			if sc.Name != "microbursts" {
				t.Logf("%s: %s", sc.Name, f.Title)
				continue
			}
			// Four hosts send 32 packets each within 10 us, which windows may cut in
			// two.
			if e.Get("receiver") != truth.Sessions[0].B.Addr || e.Get("marked") != truth.Totals.CESeen || e.Get("lost") != uint64(0) {
				t.Errorf("%+v", e)
			}
			if n := e.Get("packets").(uint64); n < 64 || n > 128 || e.Get("senders").(uint64) != 4 {
				t.Errorf("%d packets of %d senders", n, e.Get("senders"))
			}
			if !strings.Contains(f.Detail, "4 hosts") || !strings.Contains(f.Title, truth.Sessions[0].B.Addr) {
				t.Errorf("%s. %s", f.Title, f.Detail)
			}
			found += 100
		}
	}
	if found < 100 {
		t.Error("no bursts in the scenario that is about them")
	}
}

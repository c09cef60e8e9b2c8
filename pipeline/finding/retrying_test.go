package finding_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/scenario"
)

// TestRetryingAtEnd: where the capture ends before it can show that a requester
// gave up, it may have; and no scenario says so whose requesters did not go
// back to one packet again and again.
func TestRetryingAtEnd(t *testing.T) {
	says := map[string]struct {
		tries  uint64
		status string
	}{
		"retry_exceeded":         {7, "12"},
		"retry_exceeded_answers": {7, "12"},
		"retry_exhausted_cut":    {7, "12"},
		"rnr_exceeded":           {3, "13"}, // RNR retry count 3
	}
	for _, sc := range scenario.Scenarios() {
		spec, err := sc.Spec(scenario.Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		if spec == nil {
			continue
		}
		k, _ := simulate(t, spec)
		_, all := k.find(t)
		i := slices.IndexFunc(all, func(f record.Finding) bool { return f.Code == "retrying-at-end" })
		want, ok := says[sc.Name]
		if ok != (i >= 0) {
			t.Errorf("%s: found at %d, wanted %v", sc.Name, i, ok)
		}
		if !ok || i < 0 {
			continue
		}
		e := all[i].Evidence.Get("streams").([]record.Evidence)[0]
		if e.Get("tries") != want.tries || e.Get("status") != want.status || all[i].Severity != record.Warning || !strings.Contains(all[i].Detail, "status "+want.status+",") {
			t.Errorf("%s: %+v", sc.Name, all[i])
		}
	}
}

// TestAnswerLostInPart: of the 64 packets that were sent again, the ACKs that
// the tap saw cover the first 16 and the requests behind those were lost: it is
// not said that none was.
func TestAnswerLostInPart(t *testing.T) {
	sc, err := scenario.Find("retry_exceeded")
	if err != nil {
		t.Fatal(err)
	}
	spec, err := sc.Spec(scenario.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	k, _ := simulate(t, spec)
	facts, all := k.find(t)
	for i := range all {
		if strings.Contains(all[i].Detail, "No request was lost") {
			t.Errorf("%+v", all[i])
		}
	}
	var places [record.NumPlaces]uint64
	for s := range facts.Sessions.All() {
		places = s.AToB.Places
	}
	if places != [record.NumPlaces]uint64{record.Answer: 1, record.AfterTap: 6} {
		t.Errorf("places %v", places)
	}
}

// TestCutShort: QPs that had no time to be answered are not called unanswered,
// wherever a clean capture is cut to 5 ms.
func TestCutShort(t *testing.T) {
	const long = 5_000_000
	for _, name := range []string{"rc_bidir_mixed_8qp", "rc_write_1024"} {
		all := frames(t, name)
		for from := all[0].Time; from < all[len(all)-1].Time; from += long / 2 {
			k := new(kept)
			for i := range all {
				if d := all[i].Time - from; 0 <= d && d < long && roce(all[i].Data) {
					k.list = append(k.list, all[i])
				}
			}
			k.inputs = []capture.Input{{Path: "cut"}}
			if len(k.list) == 0 {
				continue
			}
			_, found := k.find(t)
			if got := above(found, record.Warning); len(got) > 0 {
				t.Errorf("%s, %d frames from %d us on: %v", name, len(k.list), (from-all[0].Time)/1000, got)
			}
		}
	}
}

package groundtruth_test

import (
	"encoding/json"
	"regexp"
	"strconv"
	"testing"
)

// ceMarkOf finds fq_codel's count in what tc printed.
var ceMarkOf = regexp.MustCompile(`\bce_mark (\d+)`)

// marks is how many packets were marked CE ahead of the tap.
func marks(tb testing.TB, a *analysed) tally {
	tb.Helper()
	sum := make(tally)
	for name, raw := range a.truth.Marked {
		if name == "note" {
			continue
		}
		var l dropList
		if err := json.Unmarshal(raw, &l); err != nil {
			tb.Fatal(err)
		}
		sum.add("CE", l.Count)
	}
	if a.truth.SwitchMarks != nil && a.truth.CapturePoint != switchIngress {
		sum.add("CE", a.truth.SwitchMarks.Count)
	}
	for _, s := range a.truth.FaultStats {
		for _, m := range ceMarkOf.FindAllStringSubmatch(s.Out, -1) {
			n, err := strconv.Atoi(m[1])
			if err != nil {
				tb.Fatal(err)
			}
			sum.add("CE", n)
		}
	}
	return sum
}

package finding_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/scenario"
)

var congestionCodes = []string{"cnp-ce-marked", "cnp-ignored", "cnp-without-ce", "congested", "ecn-no-reaction"}

// ofCongestion are those of the findings.
func ofCongestion(all []record.Finding) (list []record.Finding) {
	for _, f := range all {
		if slices.Contains(congestionCodes, f.Code) {
			list = append(list, f)
		}
	}
	return list
}

// delays are np_delays of a QP as tshark's fields give them: their number, the
// least, the most and their sum, and the sum of mark_waits.
type delays struct {
	marked, n           uint64
	least, most, sum    int64
	leastWait, sumWaits int64
}

// TestCongestionOfCaptures: what is marked is that of the truth, no CNP is
// invented, and those that there are belong to their QPs.
func TestCongestionOfCaptures(t *testing.T) {
	// By frame.time_epoch, infiniband.bth.destqp, infiniband.bth.opcode and
	// ip.dsfield.ecn.
	byQP := map[uint32]delays{
		19: {17, 11, 1107119, 10767295, 44106352, 1107680, 93788138},
		20: {13, 7, 1293989, 10948565, 35164130, 1434459, 37981261},
		21: {15, 10, 2040127, 11729205, 51908219, 2040127, 56962292},
		22: {17, 8, 872758, 7023825, 30653423, 1791044, 38390778},
	}
	captures := capturetest.All(t)
	// Marks on data and on ACKs, and what is to be said. Whoever marks is ahead
	// of each of these taps but for the two that have none.
	for _, c := range []struct {
		name       string
		data, acks uint64
		cnps       uint64
		say        []string
		text       []string
	}{
		{"ecn_ect0_unmarked", 0, 0, 0, nil, nil},
		{"ecn_netem_ce_5pct", 40, 0, 0, []string{"congested", "ecn-no-reaction"}, []string{
			"4.2 % of the data of 10.10.0.1/0xb2 to 10.10.0.2/0xda is marked CE: congestion on the way to 10.10.0.2",
			"40 data packets are marked CE", "no CNP tells the sender to slow down", "Soft-RoCE sends no CNP",
		}},
		{"ecn_bottleneck_fq_codel", 785, 84, 0, []string{"congested", "ecn-no-reaction"}, nil},
		{"ecn_ce_with_synthetic_cnp", 62, 0, 36, []string{"cnp-ignored", "congested"}, []string{
			"29 CNPs tell senders to slow down (3 sessions), and their rates did not fall", "That alone is no fault: DCQCN can be switched off at the sender, Soft-RoCE heeds no CNP",
		}},
		{"incast_ecn_segment", 0, 0, 0, nil, nil},
		{"incast_ecn_sw2A", 6498, 0, 0, []string{"congested"}, []string{"congestion on the way to 10.10.0.1"}},
	} {
		at := slices.IndexFunc(captures, func(x capturetest.Capture) bool { return x.Name == c.name })
		if at < 0 {
			continue // it is not among those that come with the source
		}
		f, all := analyze(t, pipeline.DefaultConfig(), captures[at].Path)
		var data, acks, cnps, told uint64
		for s := range f.Sessions.All() {
			for _, d := range []*record.Direction{&s.AToB, &s.BToA} {
				cnps += d.CNPsReceived
				x := d.Congestion
				if x == nil {
					continue
				}
				data, acks, told = data+x.DataMarked, acks+x.AcksMarked, told+x.CNPs
				if x.Reaction == record.ReactionSlowed || x.Unmarked > 0 || x.CNPsMarked > 0 {
					t.Errorf("%s: %s: Soft-RoCE does not slow down: %+v", c.name, s.ID, x)
				}
				if c.cnps == 0 {
					continue
				}
				want := byQP[s.A.QPN]
				got := delays{x.DataMarked, x.NPDelay.Count, x.NPDelay.Min, x.NPDelay.Max, x.NPDelay.Sum, x.MarkWait.Min, x.MarkWait.Sum}
				if got != want {
					t.Errorf("%s: QP %d: %v, tshark %v", c.name, s.A.QPN, got, want)
				}
			}
		}
		if data != c.data || acks != c.acks || cnps != c.cnps || told != c.cnps {
			t.Errorf("%s: %d marks on data, %d on ACKs, %d CNPs, %d of them matched; want %d, %d, %d", c.name, data, acks, cnps, told, c.data, c.acks, c.cnps)
		}
		sayWhat(t, c.name, ofCongestion(all), c.say, c.text)
	}
}

// sayWhat holds findings of congestion against codes and parts of their texts.
func sayWhat(t *testing.T, name string, all []record.Finding, codes, text []string) {
	t.Helper()
	got := []string{}
	say := ""
	for _, f := range all {
		got = append(got, f.Code)
		say += f.Title + ". " + f.Detail + "\n"
		if f.Severity != record.Info {
			t.Errorf("%s: %s is a %v", name, f.Code, f.Severity)
		}
	}
	if slices.Sort(got); !slices.Equal(got, append([]string{}, codes...)) {
		t.Errorf("%s: %v, want %v\n%s", name, got, codes, say)
	}
	for _, s := range text {
		if !strings.Contains(say, s) {
			t.Errorf("%s: without %q:\n%s", name, s, say)
		}
	}
}

// TestCongestionOfScenarios has the findings of what is simulated.
func TestCongestionOfScenarios(t *testing.T) {
	for name, want := range map[string]struct{ say, text []string }{
		"cnp":                 {[]string{"congested"}, []string{"congestion on the way to 10.0.0.2"}},
		"cnp_marked_after":    {[]string{"cnp-without-ce"}, []string{"2 CNPs tell senders to slow down", "The queue that marks is behind this tap"}},
		"cnp_lost":            {[]string{"congested", "ecn-no-reaction"}, nil},
		"cnp_read":            {[]string{"congested"}, []string{"congestion on the way to 10.0.0.1"}},
		"cnp_at_requester":    {[]string{"cnp-without-ce"}, nil},
		"cnp_at_responder":    {[]string{"congested"}, nil},
		"cnp_unpaced":         {[]string{"congested"}, nil},
		"cnp_marked":          {[]string{"cnp-ce-marked", "congested"}, []string{"2 of 2 CNPs are marked CE themselves"}},
		"cnp_one_way":         {[]string{"cnp-without-ce"}, []string{"2 of them are for QPs whose data is not in this capture"}},
		"cnp_ignored":         {[]string{"cnp-ignored", "congested"}, []string{"CNPs tell a sender to slow down", "and its rate did not fall"}},
		"ce_no_cnp":           {[]string{"congested", "ecn-no-reaction"}, []string{"68 data packets are marked CE"}},
		"cnp_pacing_port":     {[]string{"congested"}, []string{"marked CE: congestion on the way to 10.0.0.2"}},
		"clean_bidirectional": {nil, nil},
	} {
		sc, err := scenario.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		_, all, _ := analyzeScenario(t, sc)
		sayWhat(t, name, ofCongestion(all), want.say, want.text)
	}
}

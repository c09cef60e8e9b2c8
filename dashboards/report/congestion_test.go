package report_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/dashboards/report"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
)

// TestCongestionText: the line says what is known, and what this tap can't
// show; null is in the JSON for that.
func TestCongestionText(t *testing.T) {
	paced := func(p record.Pacing) *record.Congestion {
		x := congested()
		x.Pacing = p
		return x
	}
	one := congested()
	one.ToRecover.Count = 0
	for _, tc := range []struct {
		name       string
		x          *record.Congestion
		back, cnps uint64 // packets of the other direction, and CNPs
		want       string
		null, has  []string // in the JSON
	}{
		{"all", congested(), 9, 2, "33.3 % of the data of 10.0.0.1 marked; 2 CNPs, 5.0 µs after the mark, at least 5.0 µs apart for each QP; slowed to 25.0 % within 5.0 µs, back after 5.0 µs",
			nil, []string{`"cnps_without_mark": 1`, `"depth": 0.25`, `"per_qp": true`}},
		{"not back", one, 9, 2, "slowed to 25.0 % within 5.0 µs, and did not get as fast again here", []string{"slow_to_recover_ns"}, nil},
		{"several", paced(record.Pacing{Known: true, Destination: true, Port: true, Interval: 5000}), 9, 2, "at least 5.0 µs apart for each destination or port;", nil, nil},
		{"not paced", paced(record.Pacing{Known: true}), 9, 2, "5.0 µs after the mark; slowed", []string{"interval_ns"}, nil},
		{"no CNP", &record.Congestion{Marks: record.MarksSeen, DataMarked: 3}, 9, 0, "33.3 % of the data of 10.0.0.1 marked; no CNP\n",
			[]string{"reaction", "slowed", "np_delay_ns", "cnps_without_mark", "cnp_pacing"}, []string{`"cnps": 0`}},
		{"one direction", &record.Congestion{Marks: record.MarksSeen, DataMarked: 3}, 0, 0, "33.3 % of the data of 10.0.0.1 marked; whether 10.0.0.2 sent CNPs does not show here", []string{"cnps"}, nil},
		{"marked behind the tap", &record.Congestion{CNPs: 2, Unmarked: 2, Reaction: record.ReactionNone}, 9, 2,
			"no mark on the data of 10.0.0.1 here (marks set behind this tap do not show); 2 CNPs; its rate did not fall", []string{"cnps_without_mark"}, []string{`"marks": "none"`, `"slowed": 0`}},
		{"data not there", &record.Congestion{Marks: record.MarksHidden, Reaction: record.ReactionUnknown}, 9, 2,
			"what 10.0.0.1 sent is not in this capture, or was not matched; 2 CNPs; what its rate did can't be told here", []string{"data_marked", "acks_marked", "slowed"}, []string{`"reaction": "unknown"`}},
		{"answers", &record.Congestion{Marks: record.MarksSeen, AcksMarked: 4, CNPsMarked: 1}, 9, 0, "4 marked ACKs from 10.0.0.1; 1 marked CNP from 10.0.0.1\n", nil, nil},
	} {
		end := func(i uint64) record.Endpoint {
			return record.Endpoint{Addr: decode.Addr{Lo: 0xffff_0a000000 | i}, Kind: decode.AddrIPv4, QPN: 0x10, HasQPN: true}
		}
		s := record.Session{ID: "one", Service: record.RC, A: end(1), B: end(2), Pairing: record.Pairing{Method: record.PairCM}, Incarnation: 1, First: record.FrameRef{Number: 1}, Last: record.FrameRef{Number: 9}}
		s.AToB = record.Direction{Packets: 9, Congestion: tc.x, CNPsReceived: tc.cnps}
		s.BToA = record.Direction{Packets: tc.back}
		c := &pipeline.Result{Sessions: record.SessionsOf(s)}
		c.Packets, c.First, c.Last = 10, 1000, 9000
		r := report.New([]capture.Input{{Path: "a.pcap"}}, c, nil, "test")
		var text bytes.Buffer
		if err := report.Text(&text, r, report.Options{Width: 400}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text.String(), "ECN: ") || !strings.Contains(text.String(), tc.want) {
			t.Errorf("%s: without %q:\n%s", tc.name, tc.want, text.String())
		}
		var b bytes.Buffer
		if err := report.JSON(&b, r, report.Options{}); err != nil {
			t.Fatal(err)
		}
		_, after, _ := strings.Cut(b.String(), `"congestion": {`)
		after, _, _ = strings.Cut(after, `"icrc_bad"`)
		for _, key := range tc.null {
			if !strings.Contains(after, `"`+key+`": null`) {
				t.Errorf("%s: %s is not null:\n%s", tc.name, key, after)
			}
		}
		for _, s := range tc.has {
			if !strings.Contains(after, s) {
				t.Errorf("%s: without %s:\n%s", tc.name, s, after)
			}
		}
		if err := schema(t).Validate(parse(t, b.Bytes())); err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

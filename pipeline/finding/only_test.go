package finding_test

import (
	"slices"
	"testing"

	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/finding"
	"github.com/rocelens/rocelens/pipeline/record"
)

// onCapture are the findings on the capture itself, which say whether to believe
// the rest: they are told of whatever packets are asked for.
var onCapture = []string{"input-damaged", "no-roce", "capture-drops", "mirror-gaps", "mirrored-twice", "copies-apart", "partly-doubled"}

func codes(all []record.Finding) (list []string) {
	for i := range all {
		list = append(list, all[i].Code)
	}
	return list
}

// TestOnly tells of one session at a time: each finding on sessions is told of
// with those that it is about, in the sum as often as of all; and of none, what
// is told is on the capture itself.
func TestOnly(t *testing.T) {
	for _, name := range []string{
		"loss_before_write_1pct", "rnr_retry_exceeded", "corrupt_write", "rdmacm_reject", "formats_write_snap60", "qpn_reuse_three_connections",
		"any_sll2_with_mirror_duplicates", "icmp_unreachable_reject", "partition_retry_exceeded_write", "rc_bidir_mixed_8qp", "loss_ud_2pct", "ecn_ce_with_synthetic_cnp",
	} {
		f, all := analyze(t, pipeline.DefaultConfig(), capturetest.Get(t, name).Path)
		none := *f
		none.Only = &pipeline.Matching{}
		for _, code := range codes(finding.Find(&none)) {
			if !slices.Contains(onCapture, code) {
				t.Errorf("%s: %s is told of without a packet that matches", name, code)
			}
		}
		every := *f
		every.Only = &pipeline.Matching{Counters: f.Counters, Sessions: map[string]bool{}}
		affected := map[string]uint64{} // sessions, by code
		for s := range f.Sessions.All() {
			every.Only.Sessions[s.ID] = true
			one := *f
			one.Only = &pipeline.Matching{Sessions: map[string]bool{s.ID: true}}
			for _, x := range finding.Find(&one) {
				if len(x.Sessions) > 0 && !slices.Contains(x.Sessions, s.ID) {
					t.Errorf("%s: %s is told of with %s, and is about %v", name, x.Code, s.ID, x.Sessions)
				}
				if n, ok := x.Evidence.Get("sessions_affected").(uint64); ok {
					if affected[x.Code] += n; n != 1 {
						t.Errorf("%s: %s affects %d sessions, and one is asked for", name, x.Code, n)
					}
				}
			}
		}
		for _, x := range all {
			if n, ok := x.Evidence.Get("sessions_affected").(uint64); ok && affected[x.Code] != n && x.Code != "not-ect" {
				t.Errorf("%s: %s affects %d sessions, and %d one by one", name, x.Code, n, affected[x.Code])
			}
		}
		want := slices.DeleteFunc(codes(all), func(code string) bool { return code == "mixed-mtu" || code == "ecmp-polarized" })
		if got := codes(finding.Find(&every)); !slices.Equal(got, want) {
			t.Errorf("%s: of everything %v is told, and %v without a filter", name, got, want)
		}
	}
}

package groundtruth_test

import (
	"path"
	"testing"

	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/pipeline/record"
)

// injected is what captures of a name hold, as the name and the drop list say.
type injected struct {
	names  string // a pattern of path.Match
	tries  presence
	causes []record.Cause // those that its tries may have
	places []record.Place
}

// presence says whether there are tries.
type presence uint8

const (
	some    presence = iota // at least one
	none                    // the fault makes nobody go back
	silence                 // the requester went back, and nothing of it can be seen but its silence
)

// Shorter names for the table below.
type (
	causes = []record.Cause
	places = []record.Place
)

const (
	nak     = record.CauseNak
	timeout = record.CauseTimeout
	read    = record.CauseRead
	unknown = record.CauseUnknown

	beforeTap = record.BeforeTap
	afterTap  = record.AfterTap
	answer    = record.Answer
	unseen    = record.PlaceUnknown
)

// faults is in order: the first pattern that matches a name is its own.
//
// A NAK that is not acted on before the timer runs out makes a timeout, so
// that captures with many losses have both. A lost READ response is a packet
// lost ahead of the tap, and an answer that was lost: either name is right.
var faults = []injected{
	{"loss_uc_*", none, nil, nil},
	{"loss_ud_*", none, nil, nil},
	{"uc_loss_*", none, nil, nil},
	{"loss_ack_after_10pct", none, nil, nil},
	{"duplicate_*", none, nil, nil},
	{"reorder_ud", none, nil, nil},
	{"single_ack_mid_after", none, nil, nil},

	{"partition_heal_before", silence, nil, nil},
	{"single_send_only_tail_before", silence, nil, nil},

	{"rnr_*", some, causes{record.CauseRNR}, places{record.Refused}},
	{"rc_send_srq_4qp", some, causes{record.CauseRNR}, places{record.Refused}},

	{"loss_before_read_resp_*", some, causes{read, timeout}, places{beforeTap, answer}},
	{"ipv6_loss_before_read_1pct", some, causes{read, timeout}, places{beforeTap, answer}},
	{"single_read_resp_*_tail_*", some, causes{timeout}, places{afterTap, answer}},
	{"single_read_resp_*_before", some, causes{read}, places{beforeTap, answer}},
	{"single_read_resp_*_after", some, causes{read}, places{afterTap, answer}},
	{"loss_after_read_resp_*", some, causes{read, timeout}, places{afterTap, answer}},
	{"train_ring_4MB_single_loss_*", some, causes{read, timeout}, places{beforeTap, answer}},
	// One atomic is outstanding, and neither it nor its answer leaves a gap.
	{"loss_atomic_3pct", some, causes{timeout}, places{beforeTap, afterTap, answer, unseen}},
	{"single_atomic_ack_depth1_after", some, causes{timeout}, places{afterTap, answer}},
	{"single_atomic_ack_after", some, causes{read}, places{afterTap, answer}},
	{"single_ack_*", some, causes{timeout}, places{answer}},

	{"single_*_tail_after", some, causes{timeout}, places{afterTap}},
	{"single_*_before", some, causes{nak}, places{beforeTap}},
	{"single_*_after", some, causes{nak}, places{afterTap}},

	{"loss_before_write_*", some, causes{nak, timeout}, places{beforeTap}},
	{"large_write_2qp_loss_before_*", some, causes{nak, timeout}, places{beforeTap}},
	{"dual_vantage_write_receiver", some, causes{nak, timeout}, places{beforeTap}},
	{"incast_lossy_C_*", some, causes{nak, timeout}, places{beforeTap}},
	{"sweep_mtu*_loss_0.?*", some, causes{nak, timeout}, places{beforeTap}},
	{"corrupt_write", some, causes{nak, timeout}, places{beforeTap}},
	// Data and ACKs were altered, both ways.
	{"corrupt_send_acks", some, causes{nak, timeout}, places{beforeTap, answer}},

	{"loss_after_write_*", some, causes{nak, timeout}, places{afterTap}},
	// The responder was slow to answer at the end.
	{"loss_after_send_*", some, causes{nak, timeout}, places{afterTap, answer}},
	{"nvmeof_fio_loss_after_1pct", some, causes{nak, timeout}, places{afterTap}},
	{"dual_vantage_write_sender", some, causes{nak, timeout}, places{afterTap}},
	{"formats_write_onlyin", none, nil, nil},
	{"formats_write_onlyout", some, causes{unknown}, places{afterTap, unseen}},
	{"formats_write_*", some, causes{nak}, places{afterTap}},
	{"merged_both_ends_aligned", some, causes{nak}, places{afterTap}},
	{"any_sll2_with_mirror_duplicates", some, causes{nak}, places{afterTap}},
	{"loss_tail_*", some, causes{timeout}, places{afterTap}},
	{"incast_bottleneck_drops_segment", some, causes{nak}, places{afterTap}},
	{"incast_bottleneck_drops_sw2A", some, causes{unknown}, places{beforeTap}},
	{"vlan_two_prio_bottleneck_drops_segment", some, causes{timeout}, places{afterTap}},

	// Answers to the first resend after the partition came late.
	{"partition_*", some, causes{timeout}, places{afterTap, answer}},
	{"icmp_unreachable_reject", some, causes{timeout}, places{afterTap}},
	// There is not one answer in the file.
	{"qp_destroyed_early", some, causes{timeout, unknown}, places{afterTap, unseen}},
	// The link was down for the requests, then for the answers.
	{"link_flap", some, causes{timeout}, places{afterTap, answer}},
	// Nothing is lost: the answers came too late.
	{"latency_netem_10ms_write", some, causes{timeout}, places{answer}},
	{"large_bidir_8qp_mtu256", some, causes{timeout}, places{answer}},
	{"rc_send_lat_64B", some, causes{timeout}, places{answer}},
}

func faultOf(name string) *injected {
	for i := range faults {
		if ok, _ := path.Match(faults[i].names, name); ok {
			return &faults[i]
		}
	}
	return nil
}

// TestCausesAndPlaces: tries have the cause and the place that the name of the
// capture says.
func TestCausesAndPlaces(t *testing.T) {
	used := make(map[*injected]bool)
	for _, a := range all(t) {
		f := faultOf(a.name)
		if f == nil {
			continue
		}
		used[f] = true
		t.Run(a.name, func(t *testing.T) { f.check(t, a) })
	}
	if _, ok := capturetest.Shared(t); !ok {
		return
	}
	for i := range faults {
		if !used[&faults[i]] {
			t.Errorf("no capture is called %s", faults[i].names)
		}
	}
}

func (f *injected) check(t *testing.T, a *analysed) {
	var silences, total uint64
	var byCause [record.NumCauses]uint64
	var byPlace [record.NumPlaces]uint64
	for _, d := range sides(a.res) {
		silences += d.Silences
		for i, n := range d.Tries {
			byCause[i] += n
			total += n
		}
		for i, n := range d.Places {
			byPlace[i] += n
		}
	}
	if n := sum(byPlace[:]); n != total {
		t.Errorf("%d tries have a cause, %d a place", total, n)
	}
	switch {
	case f.tries == some && total == 0:
		t.Error("no try was found")
	case f.tries != some && total > 0:
		t.Errorf("%d tries were found where none can be seen", total)
	case f.tries == silence && silences == 0:
		t.Error("no silence was found")
	}
	for _, c := range f.causes {
		byCause[c] = 0
	}
	for _, p := range f.places {
		byPlace[p] = 0
	}
	for c, n := range byCause {
		if f.tries == some && n > 0 {
			t.Errorf("%d tries with the cause %v, want %v: %s", n, record.Cause(c), f.causes, firstTry(a, func(y *record.Try) bool { return y.Cause == record.Cause(c) }))
		}
	}
	for p, n := range byPlace {
		if f.tries == some && n > 0 {
			t.Errorf("%d tries with the place %v, want %v: %s", n, record.Place(p), f.places, firstTry(a, func(y *record.Try) bool { return y.Place == record.Place(p) }))
		}
	}
}

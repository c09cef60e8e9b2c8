package groundtruth_test

import (
	"fmt"
	"testing"

	"github.com/rocelens/rocelens/pipeline/record"
)

// firstTry describes the first try that ok accepts.
func firstTry(a *analysed, ok func(*record.Try) bool) string {
	for i := range a.res.Events {
		e := &a.res.Events[i]
		if y, is := e.Detail.(*record.Try); is && ok(y) {
			return fmt.Sprintf("the first at frame %d of %s: %+v", e.Frame.Number, e.Session, *y)
		}
	}
	return "no event tells of them"
}

// TestFailures: where the kernel says that a requester gave up, a session has
// failed, and nowhere else.
func TestFailures(t *testing.T) {
	for _, a := range all(t) {
		want := make(tally)
		for _, name := range []string{"retry_exceeded_err", "retry_rnr_exceeded_err"} {
			for h, n := range a.truth.counter(name) {
				want.add(h, n)
			}
		}
		exhausted := make(tally)
		for i := range a.res.Sessions.Len() {
			s := a.res.Sessions.At(i)
			if s.State != record.StateFailed || !hasEvent(a, s.ID, record.KindRetryExhausted) {
				continue
			}
			requester := s.A
			if s.FailedStream == 1 {
				requester = s.B
			}
			exhausted.add(host(ip(requester)), 1)
		}
		if !exhausted.equal(want) {
			t.Errorf("%s: requesters that gave up: kernel %v, found %v", a.name, want, exhausted)
		}
	}
}

func hasEvent(a *analysed, session string, k record.EventKind) bool {
	for i := range a.res.Events {
		if e := &a.res.Events[i]; e.Session == session && e.Detail.Kind() == k {
			return true
		}
	}
	return false
}

// TestNetworkDuplicates: what the network doubled is found as that, and moves
// nothing.
func TestNetworkDuplicates(t *testing.T) {
	a := named(t, "duplicate_write")
	var n uint64
	for _, d := range sides(a.res) {
		n += d.Duplicates.Network
		if d.lost() > 0 || d.Duplicates.Capture > 0 || d.Retransmitted.Packets > 0 {
			t.Errorf("%s -> %s: lost %+v, duplicates %+v, sent again %+v", endKey(d.from), d.toKey(), d.Lost, d.Duplicates, d.Retransmitted)
		}
	}
	if want := uint64(a.truth.counter("duplicate_request").total()); n != want {
		t.Errorf("%d duplicates of the network, the responder counted %d", n, want)
	}
}

// TestCorrupt: packets that were altered are counted as that. One that comes
// before any good packet of its flow belongs to no session.
func TestCorrupt(t *testing.T) {
	for name, early := range map[string]uint64{"corrupt_write": 0, "corrupt_send_acks": 1} {
		a := named(t, name)
		var bad uint64
		for _, d := range sides(a.res) {
			bad += d.ICRCBad
		}
		want := uint64(a.truth.Summary.ICRCBad)
		if all := a.res.ICRC.Bad; all != want || bad+early != want {
			t.Errorf("%s: %d packets with a bad ICRC, %d of them of sessions; %d were altered", name, all, bad, want)
		}
	}
}

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
// failed for that reason, and nowhere else.
func TestFailures(t *testing.T) {
	why := map[string]record.Failure{"retry_exceeded_err": record.FailedRetries, "retry_rnr_exceeded_err": record.FailedRNR}
	for _, a := range all(t) {
		for name, failure := range why {
			testFailures(t, a, name, failure)
		}
	}
}

func testFailures(t *testing.T, a *analysed, name string, failure record.Failure) {
	t.Helper()
	want := make(tally)
	for h, n := range a.truth.counter(name) {
		want.add(h, n)
	}
	exhausted := make(tally)
	for i := range a.res.Sessions.Len() {
		s := a.res.Sessions.At(i)
		if s.Failure != failure || s.State != record.StateFailed || !hasEvent(a, s.ID, record.KindRetryExhausted) {
			continue
		}
		requester := s.A
		if s.FailedStream == 1 {
			requester = s.B
		}
		exhausted.add(host(ip(requester)), 1)
	}
	if !exhausted.equal(want) {
		t.Errorf("%s: requesters that gave up (%s): kernel %v, found %v", a.name, name, want, exhausted)
	}
}

// TestRefusals: sessions that a NAK ended, and which one.
func TestRefusals(t *testing.T) {
	for name, failure := range map[string]record.Failure{
		"nak_invalid_request_read": record.FailedInvalidRequest, "nak_invalid_request_write": record.FailedInvalidRequest,
		"nak_remote_access_atomic": record.FailedRemoteAccess, "nak_remote_access_read": record.FailedRemoteAccess, "nak_remote_access_write": record.FailedRemoteAccess,
		"nak_remote_operational_long_send": record.FailedRemoteOperational,
	} {
		a := named(t, name)
		for s := range a.res.Sessions.All() {
			if s.State != record.StateFailed || s.Failure != failure || s.FailedStream != 0 {
				t.Errorf("%s: %s is %s, for %q", name, s.ID, s.State, s.Failure)
			}
		}
	}
}

// TestNeverAcknowledged: a responder that was never ready has acknowledged
// nothing, though its NAKs name the PSN behind the one before.
func TestNeverAcknowledged(t *testing.T) {
	a := named(t, "rnr_retry_exceeded")
	n := 0
	for i := range a.res.Events {
		if x, ok := a.res.Events[i].Detail.(record.RetryExhausted); ok {
			n++
			if x.HasAcked {
				t.Errorf("acknowledged up to %d", x.LastAcked)
			}
		}
	}
	if n != 1 {
		t.Errorf("%d gave up", n)
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

// TestOneSided: the captures that hold one direction alone, or a QP that was
// gone before it said a word; all others have both.
func TestOneSided(t *testing.T) {
	alone := map[string]bool{
		"formats_write_onlyin": true, "formats_write_onlyout": true, "qp_destroyed_early": true,
		"incast_bottleneck_drops_sw2A": true, "incast_ecn_sw2A": true, "vlan_two_prio_bottleneck_drops_sw2A": true, // what the switch sent to A
	}
	for _, a := range all(t) {
		for s := range a.res.Sessions.All() {
			reliable := s.Service == record.RC && s.AToB.Packets > 0
			if s.OneSided != (alone[a.name] && reliable) || s.State == record.StateUnanswered {
				t.Errorf("%s: %s is one-sided: %t, %s", a.name, s.ID, s.OneSided, s.State)
			}
		}
	}
}

// TestNotSelective: Soft-RoCE sends everything again. A repeat whose end is lost
// looks selective now and then, and no requester does always.
func TestNotSelective(t *testing.T) {
	for _, a := range all(t) {
		for s := range a.res.Sessions.All() {
			for _, m := range []*[record.NumModes]uint64{&s.AToB.Modes, &s.BToA.Modes} {
				if m[record.Selective] > 0 && m[record.GoBackN]+m[record.GoBack0]+m[record.ModeUnknown] == 0 {
					t.Errorf("%s: %s is said to repair selectively", a.name, s.ID)
				}
			}
		}
	}
}

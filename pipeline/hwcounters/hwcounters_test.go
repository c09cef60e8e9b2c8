package hwcounters_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/hwcounters"
	"github.com/rocelens/rocelens/pipeline/record"
)

func end(last uint64, qpn uint32) record.Endpoint {
	return record.Endpoint{Addr: decode.Addr{Lo: 0xffff_0a000000 | last}, Kind: decode.AddrIPv4, QPN: qpn, HasQPN: true}
}

// TestExpect: each figure goes to the host whose card counts it.
func TestExpect(t *testing.T) {
	one := record.Session{ID: "one", A: end(2, 0x11), B: end(1, 0x12)}
	one.AToB.Tries = [record.NumCauses]uint64{record.CauseNak: 5, record.CauseRNR: 7, record.CauseRead: 2, record.CauseTimeout: 3}
	one.AToB.Places[record.Answer] = 4
	one.AToB.Duplicates, one.AToB.DuplicateRequests = record.Duplicates{Capture: 100, Network: 3}, 1
	one.AToB.ICRCBad = 9
	one.AToB.ECN[3] = 20
	one.AToB.CNPsReceived = 6
	one.AToB.Messages.Sent = [record.NumMessageKinds]uint64{record.Send: 50, record.Write: 60, record.Read: 70, record.Atomic: 80}
	one.BToA.Naks = [5]uint64{decode.NakSequence: 8, decode.NakInvalidRequest: 1, decode.NakRemoteAccess: 2}
	one.BToA.RNRNaks = 7
	// Another session between the same hosts, the other way round.
	two := record.Session{ID: "two", A: end(1, 0x13), B: end(2, 0x14)}
	two.AToB.Tries[record.CauseTimeout] = 10
	inside := record.Session{ID: "in a tunnel", A: end(1, 0x13), B: end(2, 0x14), VNI: 7, HasVNI: true}

	got := hwcounters.Expect(record.SessionsOf(one, two, inside), []record.Event{
		{Session: "one", Detail: record.RetryExhausted{}},
		{Session: "two", Detail: record.RetryExhausted{RNR: true}},
		{Session: "two", Stream: 1, Detail: record.RetryExhausted{}},
		{Session: "left out", Detail: record.RetryExhausted{}},
	})
	want := []hwcounters.Host{
		{Addr: end(1, 0).Addr, Kind: decode.AddrIPv4, Counts: [hwcounters.NumCounters]uint64{
			hwcounters.OutOfSequence: 8, hwcounters.Duplicates: 4 + 1, hwcounters.RNRNaksSent: 7, hwcounters.AccessErrorsSent: 2,
			hwcounters.BadICRC: 9, hwcounters.CEMarked: 20, hwcounters.CNPsSent: 6, hwcounters.WriteRequests: 60, hwcounters.ReadRequests: 70,
			hwcounters.AtomicRequests: 80, hwcounters.Timeouts: 10, hwcounters.Retries: 10, hwcounters.RNRExceeded: 1,
		}},
		{Addr: end(1, 0).Addr, Kind: decode.AddrIPv4, VNI: 7, HasVNI: true},
		{Addr: end(2, 0).Addr, Kind: decode.AddrIPv4, Counts: [hwcounters.NumCounters]uint64{
			hwcounters.SequenceNaks: 8, hwcounters.Timeouts: 3, hwcounters.ImpliedNaks: 2, hwcounters.Retries: 5 + 2 + 3, hwcounters.RNRNaks: 7,
			hwcounters.InvalidRequests: 1, hwcounters.AccessErrors: 2, hwcounters.CNPsHandled: 6, hwcounters.RetriesExceeded: 2,
		}},
		{Addr: end(2, 0).Addr, Kind: decode.AddrIPv4, VNI: 7, HasVNI: true},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for i, trouble := range []bool{true, false, true, false} {
		if got[i].Trouble() != trouble {
			t.Errorf("trouble of host %d: %v", i, !trouble)
		}
	}
}

// TestOnlyRequests: those are no trouble.
func TestOnlyRequests(t *testing.T) {
	s := record.Session{A: end(1, 1), B: end(2, 2)}
	s.AToB.Messages.Sent[record.Write] = 5
	for _, h := range hwcounters.Expect(record.SessionsOf(s), nil) {
		if h.Trouble() {
			t.Errorf("%+v", h)
		}
	}
}

// TestNames: each counter has one, at least with one driver, and a meaning.
func TestNames(t *testing.T) {
	seen := make(map[string]bool)
	for id, c := range hwcounters.Counters() {
		if c.MLX5 == "" && c.RXE == "" || c.Meaning == "" {
			t.Errorf("counter %d is not described", id)
		}
		for _, name := range []string{"mlx5 " + c.MLX5, "rxe " + c.RXE} {
			if seen[name] && name != "mlx5 " && name != "rxe " {
				t.Errorf("%s is there twice", name)
			}
			seen[name] = true
		}
	}
}

// Package hwcounters says what the counters of the NICs should show for the
// traffic of a capture, so that a user can hold the wire against the card. It
// draws on sessions and events alone, and sees no packet.
//
// The names are those of Linux: mlx5's in
// /sys/class/infiniband/DEV/ports/1/hw_counters, and those of rxe (Soft-RoCE)
// where it counts the same.
package hwcounters

import (
	"cmp"
	"slices"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
)

// ID is a counter's index in Counters.
type ID uint8

// The counters.
const (
	SequenceNaks ID = iota
	Timeouts
	ImpliedNaks
	Retries
	RNRNaks
	InvalidRequests
	AccessErrors
	RetriesExceeded
	RNRExceeded
	OutOfSequence
	Duplicates
	RNRNaksSent
	AccessErrorsSent
	BadICRC
	CEMarked
	CNPsSent
	CNPsHandled
	WriteRequests
	ReadRequests
	AtomicRequests
	NumCounters
)

// Counter describes one of them. A driver that does not have it has no name
// for it.
type Counter struct {
	MLX5, RXE string
	// AtLeast says that a tap sees only part of what the card counts.
	AtLeast bool
	// Trouble says that it stands still where nothing is wrong.
	Trouble bool
	Meaning string // what is counted, on the wire
}

// Counters are all of them, by ID.
func Counters() [NumCounters]Counter { return counters }

var counters = [NumCounters]Counter{
	SequenceNaks:     {"packet_seq_err", "", false, true, "PSN sequence NAKs that came to this host. rxe's rcvd_seq_err is less: it leaves out those that acknowledge nothing new"},
	Timeouts:         {"local_ack_timeout_err", "", false, true, "times that a requester here went back because its ACK timer ran out"},
	ImpliedNaks:      {"implied_nak_seq_err", "", false, true, "times that a requester here went back because a READ response or atomic answer was missing"},
	Retries:          {"", "completer_retry_err", false, true, "times that a requester here went back, RNR NAKs aside"},
	RNRNaks:          {"rnr_nak_retry_err", "rcvd_rnr_err", false, true, "RNR NAKs that came to this host"},
	InvalidRequests:  {"req_remote_invalid_request", "", false, true, "invalid request NAKs that came to this host"},
	AccessErrors:     {"req_remote_access_errors", "", false, true, "remote access NAKs that came to this host"},
	RetriesExceeded:  {"req_transport_retries_exceeded", "retry_exceeded_err", false, true, "requesters here that gave up after retries without an answer"},
	RNRExceeded:      {"req_rnr_retries_exceeded", "retry_rnr_exceeded_err", false, true, "requesters here that gave up after RNR NAKs"},
	OutOfSequence:    {"out_of_sequence", "out_of_seq_request", true, true, "requests that arrived here ahead of a missing one: at least one for each sequence NAK sent"},
	Duplicates:       {"duplicate_request", "duplicate_request", true, true, "requests that arrived here a second time: at least one for each retry of a request that had arrived"},
	RNRNaksSent:      {"", "send_rnr_err", false, true, "RNR NAKs that this host sent"},
	AccessErrorsSent: {"resp_remote_access_errors", "", false, true, "remote access NAKs that this host sent"},
	BadICRC:          {"rx_icrc_encapsulated", "", true, true, "packets to this host with a wrong ICRC"},
	CEMarked:         {"np_ecn_marked_roce_packets", "", true, true, "packets to this host that were marked CE when they passed the tap"},
	CNPsSent:         {"np_cnp_sent", "", false, true, "CNPs that this host sent"},
	CNPsHandled:      {"rp_cnp_handled", "", false, true, "CNPs that came to this host, those in rp_cnp_ignored included"},
	WriteRequests:    {"rx_write_requests", "", true, false, "WRITE requests to this host, each once"},
	ReadRequests:     {"rx_read_requests", "", true, false, "READ requests to this host, each once"},
	AtomicRequests:   {"rx_atomic_requests", "", true, false, "atomic requests to this host, each once"},
}

// Host is what the counters of one host should show.
type Host struct {
	Addr   decode.Addr
	Kind   decode.AddrKind
	VNI    uint32 // of the tunnel that it is inside, where HasVNI
	HasVNI bool
	Counts [NumCounters]uint64
}

// Trouble says whether anything counts that stands still where nothing is
// wrong.
func (h *Host) Trouble() bool {
	for i, n := range h.Counts {
		if n > 0 && counters[i].Trouble {
			return true
		}
	}
	return false
}

// key tells hosts apart.
type key struct {
	addr   decode.Addr
	kind   decode.AddrKind
	vni    uint32
	hasVNI bool
}

// Expect adds up what sessions and events say, one Host for each address, in
// the order of the addresses.
func Expect(sessions record.Sessions, events []record.Event) []Host {
	hosts := make(map[key]*Host)
	for _, s := range sessions.Figures() {
		a, b := host(hosts, s, &s.A), host(hosts, s, &s.B)
		add(a, b, &s.AToB, &s.BToA)
		add(b, a, &s.BToA, &s.AToB)
	}
	addGivenUp(hosts, sessions, events)
	out := make([]Host, 0, len(hosts))
	for _, h := range hosts {
		out = append(out, *h)
	}
	slices.SortFunc(out, func(a, b Host) int {
		return cmp.Or(cmp.Compare(a.Addr.Hi, b.Addr.Hi), cmp.Compare(a.Addr.Lo, b.Addr.Lo), cmp.Compare(a.Kind, b.Kind),
			compareBool(a.HasVNI, b.HasVNI), cmp.Compare(a.VNI, b.VNI))
	})
	return out
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func host(hosts map[key]*Host, s *record.Session, e *record.Endpoint) *Host {
	k := key{e.Addr, e.Kind, s.VNI, s.HasVNI}
	h := hosts[k]
	if h == nil {
		h = &Host{Addr: e.Addr, Kind: e.Kind, VNI: s.VNI, HasVNI: s.HasVNI}
		hosts[k] = h
	}
	return h
}

// add counts one stream: the requests that from sent to to, and the answers.
func add(from, to *Host, req, resp *record.Direction) {
	f, t := &from.Counts, &to.Counts

	f[SequenceNaks] += resp.Naks[decode.NakSequence]
	f[Timeouts] += req.Tries[record.CauseTimeout]
	f[ImpliedNaks] += req.Tries[record.CauseRead]
	for c, n := range req.Tries {
		if record.Cause(c) != record.CauseRNR {
			f[Retries] += n
		}
	}
	f[RNRNaks] += resp.RNRNaks
	f[InvalidRequests] += resp.Naks[decode.NakInvalidRequest]
	f[AccessErrors] += resp.Naks[decode.NakRemoteAccess]
	f[CNPsHandled] += req.CNPsReceived

	t[OutOfSequence] += resp.Naks[decode.NakSequence]
	// A retry of a request that is known to have arrived: its answer was lost
	// or late, or the answers beyond it came. One try may be both.
	t[Duplicates] += max(req.Places[record.Answer], req.Tries[record.CauseRead]) + req.DuplicateRequests
	t[RNRNaksSent] += resp.RNRNaks
	t[AccessErrorsSent] += resp.Naks[decode.NakRemoteAccess]
	t[BadICRC] += req.ICRCBad
	t[CEMarked] += req.ECN[3]
	t[CNPsSent] += req.CNPsReceived
	t[WriteRequests] += req.Messages.Sent[record.Write]
	t[ReadRequests] += req.Messages.Sent[record.Read]
	t[AtomicRequests] += req.Messages.Sent[record.Atomic]
}

// addGivenUp counts requesters that gave up, which only events tell.
func addGivenUp(hosts map[key]*Host, sessions record.Sessions, events []record.Event) {
	type given struct {
		stream uint8
		id     ID
	}
	up := make(map[string][]given)
	for i := range events {
		e := &events[i]
		if d, ok := e.Detail.(record.RetryExhausted); ok {
			id := RetriesExceeded
			if d.RNR {
				id = RNRExceeded
			}
			up[e.Session] = append(up[e.Session], given{e.Stream, id})
		}
	}
	if len(up) == 0 {
		return
	}
	for _, s := range sessions.Notable() {
		for _, g := range up[s.ID] {
			if s.Failure == record.FailedUnseen { // which of the two it was can't be told
				continue
			}
			end := &s.A
			if g.stream == 1 {
				end = &s.B
			}
			host(hosts, s, end).Counts[g.id]++
		}
	}
}

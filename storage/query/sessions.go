package query

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/rocelens/rocelens/storage/schema"
)

// Sessions asks for the sessions of a queue pair or of a host, the newest first.
type Sessions struct {
	Range // that they have packets in
	Where
	// ID is that of a session. Without one, HasQPN or Addr is needed, or both: the
	// number of the queue pair at either end, and the address of that end.
	ID     string
	QPN    uint32
	HasQPN bool
	Addr   netip.Addr
	Limit  int // 100 by default
}

// Session is a row of sessions.
type Session struct {
	Probe        string    `json:"probe"`
	Run          string    `json:"run"`
	Tap          string    `json:"tap"`
	Session      string    `json:"session"`
	Version      string    `json:"version"`
	Service      string    `json:"service"`
	VNI          int32     `json:"vni"`
	Incarnation  uint32    `json:"incarnation"`
	Pairing      string    `json:"pairing"`
	Confidence   float32   `json:"confidence"`
	State        string    `json:"state"`
	Failure      string    `json:"failure"`
	FailedStream string    `json:"failed_stream"`
	OneSided     bool      `json:"one_sided"`
	Vantage      string    `json:"vantage"`
	Application  string    `json:"application"`
	First        time.Time `json:"first"`
	Last         time.Time `json:"last"`
	Updated      time.Time `json:"updated"`
	Final        bool      `json:"final"`
	FirstFrame   uint64    `json:"first_frame"`
	PathMTU      uint32    `json:"path_mtu"`
	CM           bool      `json:"cm"`
	CMServiceID  uint64    `json:"cm_service_id,string"`
	A            Side      `json:"a"`
	B            Side      `json:"b"`
}

// Side is one end of a session and what it sent.
type Side struct {
	Addr         string `json:"addr"`
	QPN          uint32 `json:"qpn"`         // 0 where it is not known
	Flow         uint64 `json:"flow,string"` // from here to the other end, 0 where there is none
	AckTimeoutNS int64  `json:"ack_timeout_ns"`

	Packets              uint64 `json:"packets"`
	WireBytes            uint64 `json:"wire_bytes"`
	PayloadBytes         uint64 `json:"payload_bytes"`
	GoodputBytes         uint64 `json:"goodput_bytes"`
	MessagesCompleted    uint64 `json:"messages_completed"`
	RetransmittedPackets uint64 `json:"retransmitted_packets"`
	RetransmittedBytes   uint64 `json:"retransmitted_bytes"`
	LostBeforeTap        uint64 `json:"lost_before_tap"`
	LostAfterTap         uint64 `json:"lost_after_tap"`
	CNPsReceived         uint64 `json:"cnps_received"`
	PeakPackets          uint64 `json:"peak_packets"`
	PeakBytes            uint64 `json:"peak_bytes"`

	DSCP     map[uint8]uint64 `json:"dscp"`     // packets
	Counters map[string]int64 `json:"counters"` // all others that are not 0

	AckLatency     Distribution `json:"ack_latency"`
	MessageLatency Distribution `json:"message_latency"`
	NakReaction    Distribution `json:"nak_reaction"`
	NPDelay        Distribution `json:"np_delay"`
	MarkWait       Distribution `json:"mark_wait"`
	CNPToSlow      Distribution `json:"cnp_to_slow"`
	SlowToRecover  Distribution `json:"slow_to_recover"`
}

// The columns of a side that are what they are in the table, and those of
// durations.
var (
	sideColumns = []string{
		"qpn", "flow", "ack_timeout_ns", "packets", "wire_bytes", "payload_bytes", "goodput_bytes", "messages_completed", "retransmitted_packets",
		"retransmitted_bytes", "lost_before_tap", "lost_after_tap", "cnps_received", "peak_packets", "peak_bytes", "dscp", "counters",
	}
	sideHistograms = []string{"ack_latency", "message_latency", "nak_reaction", "np_delay", "mark_wait", "cnp_to_slow", "slow_to_recover"}
)

// Statement is the SQL of the question.
func (q Sessions) Statement(o *schema.Options) (*Statement, error) {
	t := schema.Sessions().Table
	var b builder
	b.Table = t.Name
	if err := b.overlaps(q.Range, "s.first", "s.last"); err != nil {
		return nil, err
	}
	b.place(q.Where)
	if q.ID == "" && !q.HasQPN && !q.Addr.IsValid() {
		return nil, errors.New("which session? say its id, or the QPN or the address of one end")
	}
	b.equal("session", q.ID)
	if cond, err := q.end(&b); err != nil {
		return nil, err
	} else if cond != "" {
		b.and(cond)
	}
	var with, columns []string
	for _, side := range []string{"a_", "b_"} {
		columns = append(columns, address("s."+side+"addr")+" AS "+side+"addr")
		for _, c := range sideColumns {
			columns = append(columns, side+c)
		}
		for _, h := range sideHistograms {
			with = append(with, alone(side+h)+" AS q_"+side+h)
			columns = append(columns, distribution(side+h, "arraySum(mapValues("+side+h+"))", "q_"+side+h))
		}
	}
	return b.limited(`WITH `+strings.Join(with, ",\n    ")+`
SELECT probe, run, tap, session, version, service, vni, incarnation, pairing, confidence, state, failure, failed_stream, one_sided, vantage, application,
    first, last, updated, final, first_frame, path_mtu, cm, cm_service_id,
    `+strings.Join(columns, ",\n    ")+`
FROM `+o.Name(t)+` AS s FINAL`+b.conditions()+`
ORDER BY last DESC, session, probe, run`, q.Limit, 100)
}

// end is the condition that one end is the one asked for, "" where none is.
func (q *Sessions) end(b *builder) (string, error) {
	var a, z []string
	if q.Addr.IsValid() {
		// Addresses are kept as IPv6.
		p := b.param("addr", "IPv6", netip.AddrFrom16(q.Addr.As16()).String())
		a, z = append(a, "s.a_addr = "+p), append(z, "s.b_addr = "+p)
	}
	if q.HasQPN {
		if q.QPN > maxQPN {
			return "", fmt.Errorf("QPN %d: use a number from 0 to %d", q.QPN, maxQPN)
		}
		p := b.number("qpn", "UInt32", uint64(q.QPN))
		a, z = append(a, "s.a_qpn = "+p), append(z, "s.b_qpn = "+p)
	}
	if len(a) == 0 {
		return "", nil
	}
	return "(" + strings.Join(a, " AND ") + " OR " + strings.Join(z, " AND ") + ")", nil
}

const maxQPN = 1<<24 - 1

// Sessions answers the question.
func (s *Store) Sessions(ctx context.Context, q Sessions) (*Answer[Session], error) {
	return answer[Session](ctx, s, q)
}

// Story is a session with what happened to it and what is wrong with it.
type Story struct {
	Session  Session          `json:"session"`
	Events   *Answer[Event]   `json:"events"`
	Findings *Answer[Finding] `json:"findings"`
}

// around is how far from the packets of a session its events can be.
const around = time.Hour

// Story asks for the events of a session and the findings about it.
func (s *Store) Story(ctx context.Context, session *Session, limit int) (*Story, error) {
	w := Where{Probe: session.Probe, Run: session.Run}
	r := Range{session.First.Add(-around), session.Last.Add(around)}
	events, err := s.Events(ctx, Events{Range: r, Where: w, Session: session.Session, Limit: limit})
	if err != nil {
		return nil, err
	}
	findings, err := s.Findings(ctx, Findings{Range: r, Where: w, Session: session.Session, Limit: limit})
	if err != nil {
		return nil, err
	}
	return &Story{*session, events, findings}, nil
}

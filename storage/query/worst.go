package query

import (
	"context"
	"fmt"

	"github.com/rocelens/rocelens/storage/schema"
)

// Measure is what flows are worst by.
type Measure uint8

// The measures.
const (
	ByRetransmitted Measure = iota // packets sent again
	ByLost                         // packets lost, before the tap and behind it
	ByLatency                      // p99 of ACK latency
	ByPause                        // how long the receiver paused the flow's priority
	ByCE                           // share of packets that are marked CE
)

// MeasureNames are the names of the measures, by number.
func MeasureNames() []string { return []string{"retransmitted", "lost", "latency", "pause", "ce"} }

func (m Measure) String() string { return nameOf(MeasureNames(), m) }

// ParseMeasure is the measure of a name.
func ParseMeasure(s string) (Measure, error) {
	return parseName[Measure]("measure", MeasureNames(), s)
}

// WorstFlows asks for the worst flows of a time, each at each tap. Flows with
// nothing to complain of are left out.
type WorstFlows struct {
	Range
	Where
	Source Source
	By     Measure
	// MinPackets is how many packets a flow must have, so that one of one marked
	// packet is not the worst of all.
	MinPackets uint64
	Limit      int // 20 by default
}

// WorstFlow is a flow in the time of the question, at one tap.
type WorstFlow struct {
	FlowName
	Probe string `json:"probe"`
	Tap   string `json:"tap"`

	Packets              uint64  `json:"packets"`
	WireBytes            uint64  `json:"wire_bytes"`
	GoodputBytes         uint64  `json:"goodput_bytes"`
	RetransmittedPackets uint64  `json:"retransmitted_packets"`
	LostBeforeTap        int64   `json:"lost_before_tap"`
	LostAfterTap         int64   `json:"lost_after_tap"`
	CE                   uint64  `json:"ce"`
	CEShare              float64 `json:"ce_share"` // of the packets, 0 to 1
	CNPsReceived         uint64  `json:"cnps_received"`
	// PausedNS is, with ByPause and else 0, how long the receiver's MAC, or that
	// of the router before it, paused the priority of the flow on the same tap.
	PausedNS int64 `json:"paused_ns"`
	// AckLatency is empty with ByPause: it would take as long as all the rest.
	AckLatency Distribution `json:"ack_latency"`
}

// FlowName says which flow it is.
type FlowName struct {
	// Flow is its number, which is the same in all tables. It is text in JSON,
	// where numbers have no 64 bits.
	Flow    uint64 `json:"flow,string"`
	Service string `json:"service"`
	Src     string `json:"src"`
	SrcQPN  uint32 `json:"src_qpn"` // 0 where it is not known
	Dst     string `json:"dst"`
	DstQPN  uint32 `json:"dst_qpn"`
	VNI     int32  `json:"vni"` // -1 outside tunnels
}

// flowName are the columns of a FlowName over rows of flows.
var flowName = "flow, anyLast(service) AS service, " + address("any(src)") + " AS src, max(src_qpn) AS src_qpn, " +
	address("any(dst)") + " AS dst, any(dst_qpn) AS dst_qpn, any(vni) AS vni"

// worstBy are the expressions of what a measure sorts by.
var worstBy = [...]string{
	ByRetransmitted: "retransmitted_packets",
	ByLost:          "lost_before_tap + lost_after_tap",
	ByLatency:       "ack_latency_p99",
	ByPause:         "paused_ns",
	ByCE:            "ce_share",
}

// Statement is the SQL of the question.
func (q WorstFlows) Statement(o *schema.Options) (*Statement, error) {
	if int(q.By) >= len(worstBy) {
		return nil, fmt.Errorf("there is no measure %d", q.By)
	}
	var b builder
	if q.By == ByPause {
		switch q.Source {
		case Auto, Intervals:
			q.Source = Intervals
		default:
			return nil, fmt.Errorf("flows by pause are told by their MACs, which %v have not: use the source %v", q.Source, Intervals)
		}
	}
	from, err := b.flows(o, q.Source, q.Range)
	if err != nil {
		return nil, err
	}
	b.place(q.Where)
	paused := "toInt64(0)"
	with := "WITH " + merged("ack_latency") + " AS latency\n"
	latency := distribution("ack_latency", "sum(arraySum(mapValues(ack_latency)))", "latency")
	having := worstBy[q.By] + " > 0"
	if q.By == ByPause {
		from += "\n" + b.joinPauses(o)
		// A pause is that of a run, MAC and priority, however many intervals of the
		// flow it is found with.
		paused = "arraySum(p -> p.4, groupUniqArray((s.run, s.dst_mac, s.priority, paused[s.priority] + paused[-2])))"
		with, latency = "", distribution("ack_latency", "toUInt64(0)", "[toInt64(0), 0, 0]")
	}
	if q.MinPackets > 0 {
		having += " AND packets >= " + b.number("min_packets", "UInt64", q.MinPackets)
	}
	return b.limited(with+`SELECT `+flowName+`, probe, tap,
    sum(packets) AS packets, sum(wire_bytes) AS wire_bytes, sum(goodput_bytes) AS goodput_bytes,
    sum(retransmitted_packets) AS retransmitted_packets, sum(lost_before_tap) AS lost_before_tap, sum(lost_after_tap) AS lost_after_tap,
    sum(ce) AS ce, if(packets > 0, ce / packets, 0) AS ce_share, sum(cnps_received) AS cnps_received,
    `+paused+` AS paused_ns,
    `+latency+`
FROM `+from+b.conditions()+`
GROUP BY flow, probe, tap
HAVING `+having+`
ORDER BY `+worstBy[q.By]+` DESC, flow, probe, tap`, q.Limit, 20)
}

// joinPauses adds to the rows s how long each priority of the MAC that they go
// to was paused; priority -2 stands for all, which 802.3x pauses. It reads
// pauses that begin in the time of the rows.
func (b *builder) joinPauses(o *schema.Options) string {
	return `GLOBAL INNER JOIN
(
    SELECT probe AS p_probe, run AS p_run, tap AS p_tap, src_mac AS p_mac,
        sumMap(map(if(type = 'pfc', toInt8(priority), toInt8(-2)), paused_ns)) AS paused
    FROM ` + o.Name(schema.PauseIntervals().Table) + " AS s" + b.conditions() + `
    GROUP BY p_probe, p_run, p_tap, p_mac
) AS p ON s.probe = p_probe AND s.run = p_run AND s.tap = p_tap AND s.dst_mac = p_mac`
}

// WorstFlows answers the question.
func (s *Store) WorstFlows(ctx context.Context, q WorstFlows) (*Answer[WorstFlow], error) {
	return answer[WorstFlow](ctx, s, q)
}

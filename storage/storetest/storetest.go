// Package storetest makes records for tests and benchmarks of the store.
package storetest

import (
	"math/rand/v2"
	"net/netip"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/storage/schema"
)

// Day is when the day of Flows begins, in ns: 2026-01-01T00:00:00Z.
const Day = int64(1_767_225_600) * 1e9

// Origin is where its records come from.
var Origin = schema.Origin{
	Probe: "leaf-1", Run: "0123456789abcdef0123456789abcdef",
	Inputs: []schema.Input{{Tap: "mirror0", Interfaces: []string{"swp1", "swp2"}}},
}

// Flows are the flow intervals of one day: a number of flows, each in bursts of
// intervals of a second with pauses between, in the order in which a probe would
// write them. The same arguments give the same records.
type Flows struct {
	Histograms bool // fill in the latencies

	flows  []flow
	perSec float64
	second int64
	next   int // of flows, in this second
	made   int
	total  int
	r      *rand.Rand
}

type flow struct {
	interval record.FlowInterval // what is the same in all
	active   bool
	rate     uint64 // packets a second
	latency  int64
}

// NewFlows makes so many rows of so many flows over one day.
func NewFlows(rows, flows int) *Flows {
	f := &Flows{flows: make([]flow, flows), total: rows, perSec: float64(rows) / (86_400 * float64(flows)), r: rand.New(rand.NewPCG(1, uint64(rows)))}
	for i := range f.flows {
		// Flows come in pairs, one for each direction of a session.
		a, b := host(i/2%512), host((i/2*7+1)%512)
		if i%2 == 1 {
			a, b = b, a
		}
		f.flows[i] = flow{
			interval: record.FlowInterval{
				Length: 1e9, Version: record.V2, Kind: decode.AddrIPv4, Src: a, Dst: b, DestQPN: uint32(0x100 + i), HasPeer: true, PeerQPN: uint32(0x100 + i ^ 1),
				FlowStart: Day + int64(i)*1e6, Incarnation: 1, Pairing: record.PairAck, Service: record.RC, Application: "nvme-rdma",
				Interface: int32(i % 2), SrcMAC: mac(i / 2 % 512), DstMAC: decode.MAC{2, 1}, DSCP: []uint8{26, 26, 26, 46}[i/2%4], Priority: 3, SourcePort: uint16(49152 + i%16384),
			},
			rate: 50 + f.r.Uint64N(5000), latency: 2000 << f.r.IntN(6),
		}
	}
	return f
}

func host(i int) decode.Addr {
	return decode.AddrOf(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}))
}

func mac(i int) decode.MAC { return decode.MAC{2, 0, 0, 0, byte(i >> 8), byte(i)} }

// Next fills rows with the next records and returns how many, 0 at the end.
func (f *Flows) Next(rows []record.FlowInterval) int {
	n := 0
	for n < len(rows) && f.made < f.total {
		fl := f.step()
		if fl == nil {
			continue
		}
		f.fill(&rows[n], fl)
		n++
		f.made++
	}
	return n
}

// step is the next flow, nil if it does nothing in this second. A flow stays as
// it is for some 20 seconds.
func (f *Flows) step() *flow {
	if f.next == len(f.flows) {
		f.next = 0
		f.second = (f.second + 1) % 86_400
	}
	fl := &f.flows[f.next]
	f.next++
	const turns = 1.0 / 20
	if fl.active {
		fl.active = f.r.Float64() >= turns
	} else {
		fl.active = f.r.Float64() < turns*f.perSec/max(1-f.perSec, 1e-9)
	}
	if !fl.active {
		return nil
	}
	return fl
}

func (f *Flows) fill(iv *record.FlowInterval, fl *flow) {
	*iv = fl.interval
	iv.Start = Day + f.second*1e9
	n := fl.rate + f.r.Uint64N(fl.rate/4+1)
	iv.First, iv.Last = iv.Start+1, iv.Start+1e9-1
	iv.Packets, iv.WireBytes, iv.PayloadBytes, iv.GoodputBytes = n, n*1114, n*1024, n*1024
	iv.ECN = [4]uint64{0, 0, n, 0}
	iv.MessagesSent[record.Write], iv.MessagesCompleted = n/64, n/64
	iv.Acks = n / 16
	iv.PeakPackets, iv.PeakBytes = 128, 128*1024
	if f.r.IntN(20) == 0 { // something is wrong
		lost := 1 + f.r.Uint64N(3)
		iv.LostBeforeTap = int64(lost)
		iv.RetransmittedPackets, iv.RetransmittedBytes, iv.Fills = lost*8, lost*8*1024, lost*8
		iv.Tries[record.CauseNak], iv.Places[record.BeforeTap], iv.Modes[record.GoBackN], iv.Episodes = 1, 1, 1, 1
	}
	if f.r.IntN(10) == 0 { // congested
		marked := n / 50
		iv.ECN[2], iv.ECN[3] = n-marked, marked
		iv.CNPsReceived, iv.DataMarked = marked/8, marked
	}
	if f.Histograms {
		f.latencies(iv, fl)
	}
}

// latencies are those of ACKs and messages, a dozen buckets each, and the lags
// of a congested interval.
func (f *Flows) latencies(iv *record.FlowInterval, fl *flow) {
	for range 24 {
		iv.AckLatency.Add(fl.latency + f.r.Int64N(fl.latency*2))
	}
	for range 16 {
		iv.Latency[record.Write].Add(4*fl.latency + f.r.Int64N(fl.latency*4))
	}
	for range iv.CNPsReceived {
		iv.NPDelay.Add(10_000 + f.r.Int64N(90_000))
	}
}

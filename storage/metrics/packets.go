package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/rocelens/rocelens/pipeline"
)

// Packets tells what packets were, of flows or not. It is a prometheus.Collector.
type Packets struct{ now func() pipeline.Followed }

// NewPackets returns a collector of counts, which are asked for at each scrape.
func NewPackets(now func() pipeline.Followed) *Packets { return &Packets{now} }

var (
	packetsICRC       = prometheus.NewDesc("rocelens_icrc_packets_total", "All RoCE packets by their ICRC: good, bad, or unverifiable, as of frames that were cut. Those of senders that compute none are bad.", []string{"result"}, nil)
	packetsManagement = prometheus.NewDesc("rocelens_management_packets_total", "RoCE packets of management, to QP 0 and 1.", nil, nil)
	packetsMalformed  = prometheus.NewDesc("rocelens_malformed_packets_total", "Packets with headers that contradict one another.", nil, nil)
)

// Describe is of prometheus.Collector.
func (p *Packets) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{packetsICRC, packetsManagement, packetsMalformed} {
		ch <- d
	}
}

// Collect is of prometheus.Collector.
func (p *Packets) Collect(ch chan<- prometheus.Metric) {
	now := p.now().Decoded
	count := func(d *prometheus.Desc, n uint64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	count(packetsICRC, now.ICRCGood, "good")
	count(packetsICRC, now.ICRCBad, "bad")
	count(packetsICRC, now.ICRCUnverifiable, "unverifiable")
	count(packetsManagement, now.Management)
	count(packetsMalformed, now.Malformed)
}

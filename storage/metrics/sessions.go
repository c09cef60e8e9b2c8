package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/rocelens/rocelens/pipeline"
)

// Sessions tells what became of sessions. It is a prometheus.Collector.
type Sessions struct{ now func() pipeline.Followed }

// NewSessions returns a collector of counts, which are asked for at each scrape.
func NewSessions(now func() pipeline.Followed) *Sessions { return &Sessions{now} }

var (
	sessionsOpen    = prometheus.NewDesc("rocelens_sessions", "Sessions in memory; a flow without another direction counts as one.", nil, nil)
	sessionsEvicted = prometheus.NewDesc("rocelens_evicted_sessions_total", "Sessions that were forgotten for want of memory: what they do later counts as sessions of their own.", nil, nil)
	sessionsRefused = prometheus.NewDesc("rocelens_refused_packets_total", "Packets of flows that had but one while memory was scarce, and that were not followed.", nil, nil)
)

// Describe is of prometheus.Collector.
func (s *Sessions) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{sessionsOpen, sessionsEvicted, sessionsRefused} {
		ch <- d
	}
}

// Collect is of prometheus.Collector.
func (s *Sessions) Collect(ch chan<- prometheus.Metric) {
	now := s.now()
	ch <- prometheus.MustNewConstMetric(sessionsOpen, prometheus.GaugeValue, float64(now.Sessions))
	ch <- prometheus.MustNewConstMetric(sessionsEvicted, prometheus.CounterValue, float64(now.Evicted))
	ch <- prometheus.MustNewConstMetric(sessionsRefused, prometheus.CounterValue, float64(now.Refused))
}

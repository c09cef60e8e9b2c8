package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/rocelens/rocelens/storage/spool"
	"github.com/rocelens/rocelens/storage/writer"
)

// Store tells what became of the records of a store. It is a
// prometheus.Collector.
type Store struct {
	counts func() writer.Counts
	spool  func() spool.Size
	up     func() bool
}

// NewStore returns a collector of counts, of what the spool holds, and of whether the
// store took what was sent last. They are asked for at each scrape.
func NewStore(counts func() writer.Counts, spool func() spool.Size, up func() bool) *Store {
	return &Store{counts, spool, up}
}

var (
	storeRows     = prometheus.NewDesc("rocelens_store_rows_total", "Rows by table and what became of them: written (the store has them), dropped (they are lost).", []string{"table", "result"}, nil)
	storeFailures = prometheus.NewDesc("rocelens_store_failed_inserts_total", "Inserts that failed and were tried again, by table.", []string{"table"}, nil)
	storeUp       = prometheus.NewDesc("rocelens_store_up", "Whether the store took what was sent last: 1, or 0 while it is away and rows wait on disk.", nil, nil)
	spoolRows     = prometheus.NewDesc("rocelens_spool_rows", "Rows that wait on disk for the store.", nil, nil)
	spoolBytes    = prometheus.NewDesc("rocelens_spool_bytes", "Bytes that they take.", nil, nil)
	spoolMax      = prometheus.NewDesc("rocelens_spool_max_bytes", "Bytes that they may take: three quarters of the spool's file, as taking rows out needs room as well.", nil, nil)
)

// Describe is of prometheus.Collector.
func (s *Store) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{storeRows, storeFailures, storeUp, spoolRows, spoolBytes, spoolMax} {
		ch <- d
	}
}

// Collect is of prometheus.Collector.
func (s *Store) Collect(ch chan<- prometheus.Metric) {
	for table, c := range s.counts() {
		ch <- prometheus.MustNewConstMetric(storeRows, prometheus.CounterValue, float64(c.Written), table, "written")
		ch <- prometheus.MustNewConstMetric(storeRows, prometheus.CounterValue, float64(c.Dropped), table, "dropped")
		ch <- prometheus.MustNewConstMetric(storeFailures, prometheus.CounterValue, float64(c.Failures), table)
	}
	up := 0.0
	if s.up() {
		up = 1
	}
	size := s.spool()
	for d, v := range map[*prometheus.Desc]float64{storeUp: up, spoolRows: float64(size.Rows), spoolBytes: float64(size.Bytes), spoolMax: float64(size.Max)} {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v)
	}
}

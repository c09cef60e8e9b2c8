package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rocelens/rocelens/pipeline/finding"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/recorder"
)

// Findings counts what was found. It is a prometheus.Collector.
type Findings struct {
	leftOut func() (sessions, events uint64)

	mu     sync.Mutex
	counts map[findingKey]uint64
}

type findingKey struct {
	code     string
	severity record.Severity
}

// NewFindings returns counts of 0 for all that can be found live. leftOut is asked at
// each scrape for what was not looked at.
func NewFindings(leftOut func() (sessions, events uint64)) *Findings {
	f := &Findings{leftOut: leftOut, counts: make(map[findingKey]uint64)}
	codes := finding.Codes()
	for i := range codes {
		if c := &codes[i]; c.Live() {
			for _, s := range c.Severities {
				f.counts[findingKey{c.Code, s}] = 0
			}
		}
	}
	return f
}

// Add counts a finding.
func (f *Findings) Add(x *record.Finding) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts[findingKey{x.Code, x.Severity}]++
}

var (
	findings        = prometheus.NewDesc("rocelens_findings_total", "Findings that were told, by code and severity.", []string{"code", "severity"}, nil)
	findingsLeftOut = prometheus.NewDesc("rocelens_findings_left_out_total", "Sessions with trouble and events that no finding was made of, for want of memory.", []string{"of"}, nil)
)

// Describe is of prometheus.Collector.
func (f *Findings) Describe(ch chan<- *prometheus.Desc) {
	ch <- findings
	ch <- findingsLeftOut
}

// Collect is of prometheus.Collector.
func (f *Findings) Collect(ch chan<- prometheus.Metric) {
	sessions, events := f.leftOut()
	ch <- prometheus.MustNewConstMetric(findingsLeftOut, prometheus.CounterValue, float64(sessions), "sessions")
	ch <- prometheus.MustNewConstMetric(findingsLeftOut, prometheus.CounterValue, float64(events), "events")
	f.mu.Lock()
	defer f.mu.Unlock()
	for k, n := range f.counts {
		ch <- prometheus.MustNewConstMetric(findings, prometheus.CounterValue, float64(n), k.code, k.severity.String())
	}
}

// Recorder tells what the flight recorder does. It is a prometheus.Collector.
type Recorder struct{ counts func() recorder.Counts }

// NewRecorder returns a collector of counts, which are asked for at each scrape.
func NewRecorder(counts func() recorder.Counts) *Recorder { return &Recorder{counts} }

var (
	recordings        = prometheus.NewDesc("rocelens_recordings_total", "Recordings of evidence by what became of them: written, failed (no file), skipped (too many at a time).", []string{"result"}, nil)
	recordingsCut     = prometheus.NewDesc("rocelens_recordings_cut_total", "Recordings that were written and lack frames, for want of room on disk or in memory.", nil, nil)
	recordingsDeleted = prometheus.NewDesc("rocelens_recordings_deleted_total", "Recordings that were deleted to make room for new ones.", nil, nil)
	recordingsBytes   = prometheus.NewDesc("rocelens_recordings_bytes", "Bytes that recordings take on disk.", nil, nil)
	recordingsMax     = prometheus.NewDesc("rocelens_recordings_max_bytes", "Bytes that they may take.", nil, nil)
	recorderMemory    = prometheus.NewDesc("rocelens_recorder_memory_bytes", "Bytes that the frames in memory take.", nil, nil)
	recorderSpan      = prometheus.NewDesc("rocelens_recorder_span_seconds", "For how long the frames in memory go back.", nil, nil)
)

// Describe is of prometheus.Collector.
func (r *Recorder) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{recordings, recordingsCut, recordingsDeleted, recordingsBytes, recordingsMax, recorderMemory, recorderSpan} {
		ch <- d
	}
}

// Collect is of prometheus.Collector.
func (r *Recorder) Collect(ch chan<- prometheus.Metric) {
	c := r.counts()
	for result, n := range map[string]uint64{"written": c.Written, "failed": c.Failed, "skipped": c.Skipped} {
		ch <- prometheus.MustNewConstMetric(recordings, prometheus.CounterValue, float64(n), result)
	}
	ch <- prometheus.MustNewConstMetric(recordingsCut, prometheus.CounterValue, float64(c.Cut))
	ch <- prometheus.MustNewConstMetric(recordingsDeleted, prometheus.CounterValue, float64(c.Deleted))
	if c.Disk >= 0 {
		ch <- prometheus.MustNewConstMetric(recordingsBytes, prometheus.GaugeValue, float64(c.Disk))
	}
	for d, v := range map[*prometheus.Desc]float64{
		recordingsMax: float64(c.DiskMax), recorderMemory: float64(c.Memory), recorderSpan: float64(c.Span) / 1e9,
	} {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v)
	}
}

package metrics

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rocelens/rocelens/capture"
)

// Capture tells what came from where. It is a prometheus.Collector.
type Capture struct{ inputs func() []capture.Input }

// NewCapture returns a collector of inputs, which are asked for at each scrape.
func NewCapture(inputs func() []capture.Input) *Capture { return &Capture{inputs} }

func ofInterface(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("rocelens_capture_"+name, help, []string{"interface"}, nil)
}

var (
	captureFrames  = ofInterface("frames_total", "Frames that were captured and read.")
	captureBytes   = ofInterface("bytes_total", "Bytes of those frames on the wire.")
	captureDropped = ofInterface("dropped_frames_total", "Frames that were lost because the ring was full.")
	captureUp      = ofInterface("up", "1 where the interface is there and up, or the files can be read.")

	captureFiles   = ofInterface("files_total", "Files that reading began with.")
	captureWaiting = ofInterface("files_waiting", "Files that are there and not begun.")
	captureLost    = prometheus.NewDesc("rocelens_capture_lost_files_total",
		"Files of which something is lost: gone before they were read (missed), gone or damaged meanwhile (cut), or continued after newer ones (grown).",
		[]string{"interface", "how"}, nil)
)

// Describe is of prometheus.Collector.
func (c *Capture) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{captureFrames, captureBytes, captureDropped, captureUp, captureFiles, captureWaiting, captureLost} {
		ch <- d
	}
}

// Collect is of prometheus.Collector.
func (c *Capture) Collect(ch chan<- prometheus.Metric) {
	for _, in := range c.inputs() {
		path := label(in.Path)
		count := func(d *prometheus.Desc, n uint64) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), path)
		}
		count(captureFrames, in.Frames)
		count(captureBytes, in.Bytes)
		if in.Drops != nil {
			count(captureDropped, *in.Drops)
		}
		up := 1.0
		if len(in.Interfaces) > 0 && in.Interfaces[0].Down {
			up = 0
		}
		if f := in.Followed; f != nil {
			if f.Away != "" {
				up = 0
			}
			count(captureFiles, f.Files)
			ch <- prometheus.MustNewConstMetric(captureWaiting, prometheus.GaugeValue, float64(f.Waiting), path)
			for how, n := range map[string]uint64{"missed": f.Missed, "cut": f.Cut, "grown": f.Grown} {
				ch <- prometheus.MustNewConstMetric(captureLost, prometheus.CounterValue, float64(n), path, how)
			}
		}
		ch <- prometheus.MustNewConstMetric(captureUp, prometheus.GaugeValue, up, path)
	}
}

// NewStepsBack counts how often capture time went back.
func NewStepsBack() prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{
		Name: "rocelens_capture_steps_back_total", Help: "Times at which the time of what was captured went back by more than ten seconds: a clock was put back.",
	})
}

// NewBuild is the version that runs.
func NewBuild(version string) prometheus.Collector {
	g := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "rocelens_build_info", Help: "1; the labels say which rocelens this is.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()},
	})
	g.Set(1)
	return g
}

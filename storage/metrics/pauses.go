package metrics

import (
	"cmp"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rocelens/rocelens/pipeline/record"
)

// Pauses sums up pauses and storms. It is a prometheus.Collector.
type Pauses struct {
	name func(input, iface int32) string
	now  func() time.Time

	mu     sync.Mutex
	rows   map[pauseKey]*pauseRow
	storms map[string]storms // by interface
}

// storms are how many were found, how many of them are not over, and when the last
// one was over.
type storms struct {
	found, open uint64
	over        time.Time
}

// last is when there was a storm last, as far as is known now.
func (n *storms) last(now time.Time) float64 {
	if n.open == 0 {
		now = n.over
	}
	return float64(now.UnixMilli()) / 1e3
}

type pauseKey struct{ iface, kind, priority string }

type pauseRow struct {
	pauses, frames uint64
	paused         int64 // ns
}

// NewPauses returns sums without any pause. name is what an interface of an
// input is called where the capture says nothing.
func NewPauses(name func(input, iface int32) string) *Pauses {
	return &Pauses{name: name, now: time.Now, rows: make(map[pauseKey]*pauseRow), storms: make(map[string]storms)}
}

func (p *Pauses) iface(x *record.Pauser) string {
	return label(cmp.Or(x.Name, p.name(x.Input, x.Interface)))
}

// Add takes pauses.
func (p *Pauses) Add(list []record.PauseInterval) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range list {
		x := &list[i]
		k := pauseKey{p.iface(&x.Pauser), "pfc", strconv.Itoa(int(x.Priority))}
		if !x.PFC {
			k.kind, k.priority = "802.3x", "all"
		}
		r := p.rows[k]
		if r == nil {
			r = new(pauseRow)
			p.rows[k] = r
			p.watch(k.iface)
		}
		r.pauses++
		r.frames += x.Frames
		r.paused += x.Paused
	}
}

// Watch says that storms at an interface will be told: the count of them is there,
// and 0, before the first one. Prometheus does not see a counter rise that begins
// with 1.
func (p *Pauses) Watch(iface string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watch(label(iface))
}

func (p *Pauses) watch(iface string) {
	if _, ok := p.storms[iface]; !ok {
		p.storms[iface] = storms{}
	}
}

// Storm takes a storm that was found.
func (p *Pauses) Storm(s *record.Storm) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.storms[p.iface(&s.Pauser)]
	n.found++
	n.open++
	p.storms[p.iface(&s.Pauser)] = n
}

// StormOver takes a storm that was found, and is over.
func (p *Pauses) StormOver(s *record.Storm) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := p.storms[p.iface(&s.Pauser)]; n.open > 0 {
		n.open--
		n.over = p.now()
		p.storms[p.iface(&s.Pauser)] = n
	}
}

func ofPauses(name, help string, more ...string) *prometheus.Desc {
	return prometheus.NewDesc("rocelens_"+name, help, append([]string{"interface"}, more...), nil)
}

var (
	pauseCount   = ofPauses("pauses_total", "Pauses that have ended, by who may not send: a priority with pfc, all with 802.3x.", "type", "priority")
	pauseFrames  = ofPauses("pause_frames_total", "Frames that asked for them.", "type", "priority")
	pauseSeconds = ofPauses("paused_seconds_total", "For how long; 0 where the speed of the link is not known.", "type", "priority")
	pauseStorms  = ofPauses("pause_storms_total", "Storms of pauses that were found.")
	openStorms   = ofPauses("pause_storms_open", "Storms of pauses that were found and are not over.")
	lastStorm    = ofPauses("pause_storm_last_timestamp_seconds", "When there was a storm of pauses last, by the clock of the monitor: now, while one goes on.")
)

// Describe is of prometheus.Collector.
func (p *Pauses) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{pauseCount, pauseFrames, pauseSeconds, pauseStorms, openStorms, lastStorm} {
		ch <- d
	}
}

// Collect is of prometheus.Collector.
func (p *Pauses) Collect(ch chan<- prometheus.Metric) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for k, r := range p.rows {
		for d, v := range map[*prometheus.Desc]float64{pauseCount: float64(r.pauses), pauseFrames: float64(r.frames), pauseSeconds: float64(r.paused) / 1e9} {
			ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, k.iface, k.kind, k.priority)
		}
	}
	for iface, n := range p.storms {
		ch <- prometheus.MustNewConstMetric(pauseStorms, prometheus.CounterValue, float64(n.found), iface)
		ch <- prometheus.MustNewConstMetric(openStorms, prometheus.GaugeValue, float64(n.open), iface)
		if n.found > 0 {
			ch <- prometheus.MustNewConstMetric(lastStorm, prometheus.GaugeValue, n.last(p.now()), iface)
		}
	}
}

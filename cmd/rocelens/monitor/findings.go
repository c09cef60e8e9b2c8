package monitor

import (
	"context"
	"log/slog"
	"time"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/pipeline/finding/live"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/recorder"
	"github.com/rocelens/rocelens/storage/schema"
)

// RecordConfig says what is kept of frames, and for which findings they are written to
// files: none without a directory.
type RecordConfig struct {
	recorder.Config // but for what the monitor knows
	Level           record.Severity
}

func (m *Monitor) openRecorder() (*recorder.Recorder, error) {
	c := m.cfg.Record.Config
	c.Decode, c.Priorities, c.Links = m.cfg.Pipeline.Decode, m.cfg.Pipeline.Priorities, m.cfg.Pipeline.Links
	c.Inputs = func() []capture.Input { return *m.inputs.Load() }
	c.Application, c.Log = "rocelens "+m.cfg.Version, m.cfg.Log
	return recorder.Open(c)
}

// frames takes each batch as it was captured.
func (m *Monitor) frames(b *capture.Batch) {
	now := b.Now
	if n := len(b.Frames); n > 0 {
		now = max(now, b.Frames[n-1].Time)
	}
	for before := m.now.Load(); now > before && !m.now.CompareAndSwap(before, now); before = m.now.Load() { // see stepBack
	}
	if m.record != nil {
		m.record.Frames(b)
	}
}

// find looks for findings from now on, and once more when it is stopped.
func (m *Monitor) find() (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(m.cfg.FindEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				m.look()
			case <-done:
				m.look()
				return
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// look tells what is found by now.
func (m *Monitor) look() {
	if now := m.now.Load(); now != 0 { // else nothing was captured yet
		m.found(m.finder.Find(now, *m.inputs.Load()))
	}
}

// found counts findings, has those that are grave enough recorded, all in one file,
// and tells them: these once it is known where.
func (m *Monitor) found(list []live.Found) {
	var grave []live.Found
	for i := range list {
		m.counts.Add(&list[i].Finding)
		if m.record != nil && list[i].Severity >= m.cfg.Record.Level && (len(list[i].Ends) > 0 || len(list[i].Storms) > 0) {
			grave = append(grave, list[i])
		} else {
			m.tellFinding(&list[i])
		}
	}
	if len(grave) == 0 {
		return
	}
	e := evidence(grave)
	m.told.Add(1)
	e.Done = func(path string, err error) {
		defer m.told.Done()
		fact := record.Fact{Key: "recording", Value: path}
		if err != nil {
			fact = record.Fact{Key: "not_recorded", Value: err.Error()}
		}
		for i := range grave {
			grave[i].Evidence = append(grave[i].Evidence, fact)
			m.tellFinding(&grave[i])
		}
	}
	m.record.Record(e)
}

// evidence is what is to be recorded of findings, the worst of which comes first.
func evidence(list []live.Found) *recorder.Evidence {
	e := &recorder.Evidence{Code: list[0].Code, From: list[0].From, To: list[0].To}
	seen := make(map[record.FrameRef]bool)
	type what struct {
		frame record.FrameRef
		kind  record.EventKind
	}
	events := make(map[what]bool)
	for i := range list {
		x := &list[i]
		e.Comments = append(e.Comments, "rocelens finding "+x.Code+", "+x.Severity.String()+": "+x.Title+". "+x.Detail)
		e.From, e.To = min(e.From, x.From), max(e.To, x.To)
		e.Storms = append(e.Storms, x.Storms...)
		for k := range x.Ends {
			if s := &x.Ends[k]; !seen[s.First] {
				seen[s.First] = true
				e.Sessions = append(e.Sessions, *s)
			}
		}
		for _, event := range x.Events {
			if k := (what{event.Frame, event.Detail.Kind()}); !events[k] {
				events[k] = true
				e.Events = append(e.Events, event)
			}
		}
	}
	return e
}

// tellFinding tells a finding to the log and the store.
func (m *Monitor) tellFinding(x *live.Found) {
	level := slog.LevelInfo
	switch x.Severity {
	case record.Warning:
		level = slog.LevelWarn
	case record.Critical:
		level = slog.LevelError
	}
	args := []any{"code", x.Code, "severity", x.Severity.String()}
	for _, key := range []string{"recording", "not_recorded"} {
		if v := x.Evidence.Get(key); v != nil {
			args = append(args, key, v)
		}
	}
	m.cfg.Log.Log(context.Background(), level, x.Title, args...)
	if m.store != nil {
		m.store.finding(x)
	}
}

func (s *store) finding(x *live.Found) {
	row, err := schema.NewFinding(&x.Finding, x.From, x.To)
	if err != nil {
		s.log.Error("a finding does not go to the store", "code", x.Code, "error", err)
		return
	}
	_ = s.writer.Findings(s.ctx, &s.origin, []schema.Finding{row})
}

// stopRecorder writes what waits to be recorded, until ctx ends.
func (m *Monitor) stopRecorder(ctx context.Context) error {
	if m.record == nil {
		return nil
	}
	if err := m.record.Close(ctx); err != nil {
		return err
	}
	m.told.Wait()
	return nil
}

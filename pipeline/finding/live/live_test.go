package live_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/finding"
	"github.com/rocelens/rocelens/pipeline/finding/live"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/scenario/scenariotest"
)

// paths are all captures of the repository, and all scenarios.
func paths(t *testing.T) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for _, c := range capturetest.Committed(t) {
		all[c.Name] = c.Path
	}
	for name, path := range scenariotest.Files(t) {
		all["scenario "+name] = path
	}
	return all
}

// file are the findings of a file that are made live too.
func file(t *testing.T, path string) map[string]record.Finding {
	t.Helper()
	src, err := capture.Open(path, capture.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	res, err := pipeline.Run(context.Background(), src, pipeline.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	made := make(map[string]record.Finding)
	isLive := make(map[string]bool)
	codes := finding.Codes()
	for i := range codes {
		isLive[codes[i].Code] = codes[i].Live()
	}
	for _, x := range finding.Find(&finding.Facts{Inputs: src.Inputs(), Result: res}) {
		if isLive[x.Code] {
			made[x.Code] = x
		}
	}
	return made
}

// timed hands frames out as a live source does: a few at a time, and nothing, with
// the time that it is, where they are far apart. Before each batch it says until
// when all was taken that is before it.
type timed struct {
	capture.Source
	rest  capture.Batch
	at    int
	most  int
	gap   int64
	last  int64
	until func(now int64)

	mu sync.Mutex // others ask for the inputs while it reads
}

func (s *timed) Inputs() []capture.Input {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Source.Inputs()
}

func (s *timed) read() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Source.ReadBatch(&s.rest)
}

func (s *timed) ReadBatch(b *capture.Batch) error {
	if s.until != nil && s.last != 0 {
		s.until(s.last)
	}
	if s.at == len(s.rest.Frames) {
		s.at = 0
		if err := s.read(); err != nil {
			return err
		}
	}
	f := s.rest.Frames[s.at:]
	if s.last != 0 && s.gap > 0 && f[0].Time-s.last > s.gap {
		s.last += s.gap
		b.Frames, b.Now = b.Frames[:0], s.last
		return nil
	}
	n := min(len(f), s.most)
	s.at += n
	b.Frames = b.Frames[:0]
	for i := range f[:n] { // the batch's own, since rest is read into again
		one := f[i]
		one.Data = bytes.Clone(one.Data)
		b.Frames = append(b.Frames, one)
	}
	s.last = max(s.last, f[n-1].Time)
	b.Now = s.last
	return nil
}

// watch follows a capture as a service does. Every so many ns it looks for findings,
// and once more at the end.
func watch(t *testing.T, path string, every int64, workers int) []live.Found {
	t.Helper()
	src, err := capture.Open(path, capture.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	finder := live.New(live.DefaultConfig())
	var mu sync.Mutex
	var found []live.Found
	add := func(list []live.Found) {
		mu.Lock()
		defer mu.Unlock()
		found = append(found, list...)
	}
	var now atomic.Int64
	s := &timed{Source: src, most: 1 << 20}
	if every > 0 {
		next := int64(0)
		s.most, s.gap = 64, every
		s.until = func(at int64) {
			now.Store(at)
			if at >= next {
				next = at + every
				add(finder.Find(at, s.Inputs()))
			}
		}
	}
	cfg := pipeline.DefaultConfig()
	cfg.Workers = workers
	cfg.Track.MaxEvents, cfg.Track.Admission = 100_000, true
	cfg.Track.Tell.Sessions, cfg.Track.Tell.Trouble, cfg.Track.Tell.Events = finder.Session, finder.Trouble, finder.Events
	cfg.Pause.Tell.Storm = func(e record.Event, over bool) { add(finder.Storm(e, over, s.Inputs())) }
	cfg.Track.Intervals.Length, cfg.Track.Intervals.Sink = int64(time.Second), func([]record.FlowInterval) {}
	res, err := pipeline.Run(context.Background(), s, cfg)
	if err != nil {
		t.Fatal(err)
	}
	add(finder.Find(max(res.Last, now.Load())+1, src.Inputs()))
	if err := errors.Join(err, src.Close()); err != nil {
		t.Fatal(err)
	}
	return found
}

// early is what is found while a capture goes on, and not in its file, and why.
var early = map[string]string{
	"partition_retry_cnt7_infinite_write answer-lost": "one of the first tries was for a lost answer, and few of all tries are",
	"corrupt_send_acks answer-late":                   "the answers of the first try are late, and later ones are corrupt",
}

// gaveUpLater says whether a requester went back on timeouts, which is told by and by,
// and what all of it led to, in the end: that is all that the file says.
func gaveUpLater(code string, file map[string]record.Finding) bool {
	_, ok := file["retry-exhausted"]
	return ok && (code == "ack-timeout" || code == "go-back-n")
}

// TestFiles: of a capture that is over before anybody looks, the findings are those of
// the file. Whenever one looks, nothing is found that the file does not have, and all
// of it is found in the end.
func TestFiles(t *testing.T) {
	for name, path := range paths(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := file(t, path)
			whole(t, watch(t, path, 0, 2), want)
			for _, every := range []int64{20e6, 5e9} {
				found := make(map[string]bool)
				for _, x := range watch(t, path, every, 1) {
					if _, ok := want[x.Code]; !ok && !gaveUpLater(x.Code, want) && early[name+" "+x.Code] == "" {
						t.Errorf("every %v: %s is found, and is not in the file: %s", time.Duration(every), x.Code, x.Title)
					}
					found[x.Code] = true
				}
				for code, w := range want {
					if !found[code] {
						t.Errorf("every %v: %s is not found: %s", time.Duration(every), code, w.Title)
					}
				}
			}
		})
	}
}

// whole holds what is found at the end against the findings of the file.
func whole(t *testing.T, found []live.Found, want map[string]record.Finding) {
	t.Helper()
	got := make(map[string]bool)
	for _, x := range found {
		got[x.Code] = true
		w, ok := want[x.Code]
		switch {
		case !ok:
			t.Errorf("%s is found, and is not in the file: %s", x.Code, x.Title)
		case w.Severity != x.Severity, x.Code != "pfc-storm" && w.Title != x.Title:
			t.Errorf("%s %s: %s\nin the file %s: %s", x.Code, x.Severity, x.Title, w.Severity, w.Title)
		case !slices.Equal(w.Sessions, x.Sessions):
			t.Errorf("%s is about %v, and in the file about %v", x.Code, x.Sessions, w.Sessions)
		}
		if len(x.Ends) != len(x.Sessions) {
			t.Errorf("%s has %d sessions, and %d ids of some", x.Code, len(x.Ends), len(x.Sessions))
		}
	}
	for code, w := range want {
		if !got[code] {
			t.Errorf("%s is not found: %s", code, w.Title)
		}
	}
}

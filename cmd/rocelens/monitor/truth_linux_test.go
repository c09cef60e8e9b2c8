package monitor_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
)

// records are what is told of a capture, each as the fields that it has and what
// is in them.
type records struct {
	mu       sync.Mutex
	sessions map[string]fields // by ID
	others   []fields          // events and pauses
}

// fields are those of a record that are not zero, by their names.
type fields map[string]string

func (f fields) add(name string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			f.add(name, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f.add(name+"."+v.Type().Field(i).Name, v.Field(i))
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			f.add(fmt.Sprintf("%s.%d", name, i), v.Index(i))
		}
	default:
		if !v.IsZero() {
			f[name] = fmt.Sprint(v)
		}
	}
}

func (r *records) session(s *record.Session) {
	f := make(fields)
	f.add("", reflect.ValueOf(s))
	if r.sessions == nil {
		r.sessions = make(map[string]fields)
	}
	r.sessions[s.ID] = f
}

func (r *records) event(e *record.Event) {
	f := fields{"kind": string(e.Detail.Kind())}
	f.add("", reflect.ValueOf(e))
	r.others = append(r.others, f)
}

func (r *records) pause(p *record.PauseInterval) {
	f := fields{"kind": "interval of a pause"}
	f.add("", reflect.ValueOf(p))
	r.others = append(r.others, f)
}

// listen has a monitor tell r what it tells.
func (r *records) listen(cfg *pipeline.Config) {
	cfg.Track.Tell.Sessions = func(u *record.SessionUpdate) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if u.End == record.SessionJoined {
			delete(r.sessions, u.ID)
		} else {
			r.session(u.Session)
		}
	}
	cfg.Track.Tell.Events = func(list []record.Event) {
		r.mu.Lock()
		defer r.mu.Unlock()
		for i := range list {
			r.event(&list[i])
		}
	}
	cfg.Pause.Tell.Events = cfg.Track.Tell.Events
	cfg.Pause.Tell.Intervals = func(list []record.PauseInterval) {
		r.mu.Lock()
		defer r.mu.Unlock()
		for i := range list {
			r.pause(&list[i])
		}
	}
}

// recordsOf are what analyze finds.
func recordsOf(t *testing.T, src capture.Source) *records {
	t.Helper()
	cfg := pipeline.DefaultConfig()
	cfg.Track.MaxEvents = 1 << 30
	res, err := pipeline.Run(context.Background(), src, cfg)
	if err != nil {
		t.Fatal(err)
	}
	r := new(records)
	for i := range res.Sessions.Len() {
		r.session(res.Sessions.At(i))
	}
	for i := range res.Events {
		r.event(&res.Events[i])
	}
	for i := range res.Pause.Intervals {
		r.pause(&res.Pause.Intervals[i])
	}
	return r
}

// text is a record in one line.
func (f fields) text() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(f)) {
		all = append(all, name+"="+f[name])
	}
	return strings.Join(all, " ")
}

// differences are what r has otherwise than want has.
func (r *records) differences(want *records) (list []string) {
	ids := make(map[string]bool)
	for id := range r.sessions {
		ids[id] = true
	}
	for id := range want.sessions {
		ids[id] = true
	}
	for id := range ids {
		got, want := r.sessions[id], want.sessions[id]
		if got == nil || want == nil {
			list = append(list, fmt.Sprintf("session %s: told %t, found %t", id, got != nil, want != nil))
			continue
		}
		for name, value := range got {
			if want[name] != value {
				list = append(list, fmt.Sprintf("session %s: %s is %s, not %q", id, name, value, want[name]))
			}
		}
		for name, value := range want {
			if got[name] == "" {
				list = append(list, fmt.Sprintf("session %s: %s is not %s", id, name, value))
			}
		}
	}
	count := make(map[string]int)
	for _, f := range r.others {
		count[f.text()]++
	}
	for _, f := range want.others {
		count[f.text()]--
	}
	for text, n := range count {
		if n != 0 {
			list = append(list, fmt.Sprintf("%+d: %s", n, text))
		}
	}
	slices.Sort(list)
	return list
}

// retimed is a live source whose frames have the times and the places that they
// have in a file. Frames of others are left out.
type retimed struct {
	capture.Source
	file []capture.Frame
	next int
	last int64 // time of the last frame in the file
	at   int64 // when it came
}

func (s *retimed) ReadBatch(b *capture.Batch) error {
	if err := s.Source.ReadBatch(b); err != nil {
		return err
	}
	now := b.Now
	kept := b.Frames[:0]
	for _, f := range b.Frames {
		i := s.next
		for i < len(s.file) && !bytes.Equal(f.Data, s.file[i].Data) {
			i++ // the kernel leaves out what is of no use
		}
		if i == len(s.file) {
			continue
		}
		s.at = f.Time
		f.Time, f.Number, f.Offset = s.file[i].Time, s.file[i].Number, s.file[i].Offset
		s.last, s.next = f.Time, i+1
		kept = append(kept, f)
	}
	b.Frames = kept
	if b.Now = s.last; s.last != 0 {
		b.Now += max(0, now-s.at)
	}
	return nil
}

// framesOf are those of a file, which stay.
func framesOf(t *testing.T, path string) (all []capture.Frame) {
	t.Helper()
	src, err := capture.Open(path, capture.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	for {
		var b capture.Batch
		if err := src.ReadBatch(&b); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, b.Frames...)
	}
}

// gaveUp are the fields and events that tell that a requester gave up.
var gaveUp = regexp.MustCompile(`kind=(retry_exhausted|failed)$|: \.(State|Failure|AToB\.Marks\.(GaveUp|Firsts\.1\.\S+)) is not `)

// judge holds what was told of a capture that was replayed against the file. That a
// requester was abandoned need not be known yet: it is where the machine took long.
func (r *records) judge(t *testing.T, path string, abandoned bool) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	src, err := capture.Open(path, capture.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	for _, d := range r.differences(recordsOf(t, src)) {
		if !abandoned || !gaveUp.MatchString(d) {
			t.Errorf("other than of the file: %s", d)
		}
	}
}

package recorder_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/frametest"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/recorder"
	"github.com/rocelens/rocelens/pipeline/scenario/scenariotest"
)

// tape is a recorder that has the frames of a scenario, and what is known of them.
type tape struct {
	*recorder.Recorder
	dir    string
	res    *pipeline.Result
	storms []record.Storm
	frames []frame
}

type frame struct {
	number   uint64
	time     int64
	pfc      bool
	priority int // -1 without a tag
}

func taped(t *testing.T, name string, change func(*recorder.Config)) *tape {
	t.Helper()
	path, _ := scenariotest.File(t, name)
	src, err := capture.Open(path, capture.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	x := &tape{dir: filepath.Join(t.TempDir(), "evidence")}
	var inputs []capture.Input
	cfg := recorder.DefaultConfig()
	cfg.Dir, cfg.Around, cfg.Inputs = x.dir, 0, func() []capture.Input { return inputs }
	if change != nil {
		change(&cfg)
	}
	if x.Recorder, err = recorder.Open(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close(context.Background()) })
	dec := decode.New(decode.Config{})
	var pkt decode.Packet
	run := pipeline.DefaultConfig()
	run.Frames = func(b *capture.Batch) {
		x.Frames(b)
		for i := range b.Frames {
			f := &b.Frames[i]
			dec.Decode(f, &pkt)
			k := frame{number: f.Number, time: f.Time, pfc: pkt.Kind == decode.KindPFC, priority: -1}
			if pkt.Encap&decode.EncapVLAN != 0 {
				k.priority = int(pkt.VLAN >> 13)
			}
			x.frames = append(x.frames, k)
		}
	}
	if x.res, err = pipeline.Run(t.Context(), src, run); err != nil {
		t.Fatal(err)
	}
	for i := range x.res.Pause.Storms {
		x.storms = append(x.storms, x.res.Pause.Storms[i].Storm)
	}
	inputs = src.Inputs()
	return x
}

// record has evidence recorded, and waits for it.
func (x *tape) record(e *recorder.Evidence) (string, error) {
	type done struct {
		path string
		err  error
	}
	told := make(chan done, 1)
	e.Done = func(path string, err error) { told <- done{path, err} }
	if e.To == 0 {
		e.From, e.To = x.res.First, x.res.Last
	}
	x.Record(e)
	d := <-told
	return d.path, d.err
}

// read are the frames of a file by their times, with their comments, and its own.
func read(t *testing.T, path string) (frames map[int64]string, in capture.Input) {
	t.Helper()
	frames = make(map[int64]string)
	in = frametest.Each(t, path, func(f *capture.Frame) {
		frames[f.Time] = strings.Join(f.Comments(), "|")
		if len(f.Data) > recorder.DefaultSnapLen {
			t.Errorf("frame %d has %d bytes", f.Number, len(f.Data))
		}
	})
	return frames, in
}

// TestSession: all frames of a session are evidence, and none of another.
func TestSession(t *testing.T) {
	x := taped(t, "random_loss", nil)
	s := x.res.Sessions.At(0)
	var events []record.Event
	for _, e := range x.res.Events {
		if e.Session == s.ID && e.Detail.Kind() == record.KindTry {
			events = append(events, e)
		}
	}
	path, err := x.record(&recorder.Evidence{Code: "go-back-n", Comments: []string{"why"}, Sessions: []record.Session{*s}, Events: events})
	if err != nil {
		t.Fatal(err)
	}
	frames, in := read(t, path)
	if want := s.AToB.Packets + s.BToA.Packets; uint64(len(frames)) != want || want == x.res.Packets {
		t.Errorf("%d frames, want %d of %d", len(frames), want, x.res.Packets)
	}
	for _, e := range events {
		if want := "rocelens event: try of session " + s.ID; !strings.Contains(frames[e.Time], want) {
			t.Errorf("frame %d says %q, not %q", e.Frame.Number, frames[e.Time], want)
		}
	}
	if len(in.Comments) < 2 || in.Comments[0] != "why" || !strings.Contains(in.Comments[1], "the first 192 bytes") || in.Interfaces[0].Name != "tap0" {
		t.Errorf("%q of %+v", in.Comments, in.Interfaces)
	}
	if filepath.Dir(path) != x.dir || !strings.HasSuffix(path, "Z-go-back-n.pcapng") {
		t.Error(path)
	}
	if c := x.Counts(); c.Written != 1 || c.Failed+c.Skipped+c.Deleted+c.Cut != 0 || c.Disk == 0 || c.Memory == 0 || c.Span == 0 {
		t.Errorf("%+v", c)
	}
}

// TestStorm: flow control and what it stops are evidence of a storm, and other
// priorities are not.
func TestStorm(t *testing.T) {
	x := taped(t, "pfc_storm", func(c *recorder.Config) { c.Links.All = 40_000_000_000 })
	path, err := x.record(&recorder.Evidence{Code: "pfc-storm", Storms: x.storms})
	if err != nil {
		t.Fatal(err)
	}
	frames, in := read(t, path)
	seen, at := make(map[int]int), make(map[int64]int)
	for _, f := range x.frames {
		at[f.time]++
	}
	for _, f := range x.frames {
		if at[f.time] > 1 { // which of them it is can't be told
			continue
		}
		_, ok := frames[f.time]
		want := f.pfc || f.priority == 3 || f.priority == 4
		if ok != want {
			t.Fatalf("frame %d of priority %d is there: %v", f.number, f.priority, ok)
		}
		seen[f.priority]++
	}
	if seen[0] == 0 || seen[3] == 0 || seen[-1] == 0 {
		t.Errorf("frames by priority: %v", seen)
	}
	if in.Interfaces[0].Speed != 40_000_000_000 {
		t.Errorf("the speed is %d", in.Interfaces[0].Speed)
	}
}

// TestBudget: the oldest recordings make room for new ones, and nothing else does.
func TestBudget(t *testing.T) {
	const budget = 1_000_000
	x := taped(t, "random_loss", func(c *recorder.Config) { c.Disk = budget })
	other := filepath.Join(x.dir, "mine.pcapng")
	if err := os.WriteFile(other, make([]byte, budget), 0o600); err != nil {
		t.Fatal(err)
	}
	var paths []string
	once := func(session int) {
		t.Helper()
		path, err := x.record(&recorder.Evidence{Code: "go-back-n", From: x.res.First, To: x.res.Last + int64(len(paths)), Sessions: []record.Session{*x.res.Sessions.At(session)}})
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
		if c := x.Counts(); c.Disk > budget || c.Disk == 0 {
			t.Errorf("%d bytes are in use", c.Disk)
		}
	}
	for range 12 {
		once(0)
	}
	c := x.Counts()
	left := 0
	for i, p := range paths {
		_, err := os.Stat(p)
		if gone := errors.Is(err, fs.ErrNotExist); gone != (i < int(c.Deleted)) {
			t.Errorf("file %d is gone: %v, of %d", i, gone, c.Deleted)
		}
		if err == nil {
			left++
		}
	}
	if c.Deleted == 0 || left < 1 || c.Written != 12 || c.Cut != 0 {
		t.Errorf("%+v, %d left", c, left)
	}
	if _, err := os.Stat(other); err != nil {
		t.Errorf("a file of somebody else: %v", err)
	}
	// One that is too large for all of the room is cut, and can be read.
	all := make([]record.Session, 0, x.res.Sessions.Len())
	for s := range x.res.Sessions.All() {
		all = append(all, *s)
	}
	path, err := x.record(&recorder.Evidence{Code: "lost-before-tap", From: x.res.First, To: x.res.Last + 100, Sessions: all})
	if err != nil {
		t.Fatal(err)
	}
	frames, _ := read(t, path)
	if c := x.Counts(); c.Cut != 1 || c.Disk > budget || len(frames) == 0 || uint64(len(frames)) >= x.res.Packets {
		t.Errorf("%d frames, %+v", len(frames), c)
	}
}

// TestLeftovers: what a run that was killed had begun to write goes when the next one
// begins, and what it wrote counts.
func TestLeftovers(t *testing.T) {
	dir := t.TempDir()
	names := []string{"rocelens-20260101T000000.000000000Z-pfc-storm.pcapng", "rocelens-20260101T000001.000000000Z-pfc-storm.pcapng.part", "notes.part"}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, 1000), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg := recorder.DefaultConfig()
	cfg.Dir = dir
	r, err := recorder.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := []string{names[2], names[0]}; !slices.Equal(left, want) {
		t.Errorf("%q, want %q", left, want)
	}
	if c := r.Counts(); c.Disk != 1000 {
		t.Errorf("%d bytes", c.Disk)
	}
	// Another one would take away what this one has begun.
	if runtime.GOOS != "windows" {
		if _, err := recorder.Open(cfg); err == nil || !strings.Contains(err.Error(), "another one records to "+dir) {
			t.Errorf("a second recorder: %v", err)
		}
	}
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	again, err := recorder.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close(t.Context())
	cfg.Dir = filepath.Join(dir, names[0], "x")
	if _, err := recorder.Open(cfg); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("a directory that can't be: %v", err)
	}
}

// TestFails: what can't be recorded is told, counted, and leaves nothing.
func TestFails(t *testing.T) {
	x := taped(t, "loss_before", nil)
	if _, err := x.record(&recorder.Evidence{Code: "go-back-n", From: 1, To: 2, Sessions: []record.Session{*x.res.Sessions.At(0)}}); err == nil {
		t.Error("there is no frame of that time")
	}
	if err := os.RemoveAll(x.dir); err != nil {
		t.Fatal(err)
	}
	e := func() *recorder.Evidence {
		return &recorder.Evidence{Code: "go-back-n", Sessions: []record.Session{*x.res.Sessions.At(0)}}
	}
	if _, err := x.record(e()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a directory: %v", err)
	}
	if err := os.Mkdir(x.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := x.record(e()); err != nil {
		t.Errorf("it is back: %v", err)
	}
	if c := x.Counts(); c.Failed != 2 || c.Written != 1 {
		t.Errorf("%+v", c)
	}
	entries, err := os.ReadDir(x.dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestBusy: what comes too fast is counted, and what waits is written in a hurry at the
// end.
func TestBusy(t *testing.T) {
	x := taped(t, "loss_before", func(c *recorder.Config) { c.Around = time.Hour })
	told := make(chan error, 100)
	const n = 30
	for i := range n {
		x.Record(&recorder.Evidence{
			Code: "go-back-n", From: x.res.First, To: x.res.Last + int64(i), Sessions: []record.Session{*x.res.Sessions.At(0)},
			Done: func(_ string, err error) { told <- err },
		})
	}
	if err := x.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	x.Record(&recorder.Evidence{Done: func(_ string, err error) { told <- err }})
	kinds := make(map[string]int)
	for range n + 1 {
		kinds[fmt.Sprint(<-told)]++
	}
	c := x.Counts()
	if kinds["<nil>"] != int(c.Written) || kinds[recorder.ErrBusy.Error()] != int(c.Skipped) || c.Written < 16 || c.Written > 17 || c.Written+c.Skipped != n+1 {
		t.Errorf("%v, %+v", kinds, c)
	}
}

// TestCutAtTheEnd: a recording that is larger than all of the room is kept as far as
// it fits, whichever of its writes is the first that does not: one in the middle, the last, or
// the only one. It ends with a whole block.
func TestCutAtTheEnd(t *testing.T) {
	whole := func(disk int64) (path string, c recorder.Counts, err error) {
		t.Helper()
		dir := t.TempDir()
		older := filepath.Join(dir, "rocelens-20200101T000000.000000000Z-x.pcapng")
		if err := os.WriteFile(older, make([]byte, 1000), 0o600); err != nil {
			t.Fatal(err)
		}
		x := taped(t, "random_loss", func(c *recorder.Config) { c.Disk, c.Dir = disk, dir })
		var all []record.Session
		for s := range x.res.Sessions.All() {
			all = append(all, *s)
		}
		path, err = x.record(&recorder.Evidence{Code: "go-back-n", Sessions: all})
		return path, x.Counts(), err
	}
	path, _, err := whole(recorder.DefaultDisk)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	full, _ := read(t, path)
	for _, disk := range []int64{info.Size() - 1, info.Size() - 1000, 500_000, 60_000, 1000} {
		path, c, err := whole(disk)
		if err != nil {
			t.Errorf("with room for %d bytes: %v, %+v", disk, err, c)
			continue
		}
		frames, _ := read(t, path)
		if len(frames) == 0 || len(frames) > len(full) || disk < info.Size()-500 && len(frames) == len(full) || c.Cut != 1 || c.Written != 1 || c.Disk > disk || c.Disk < disk-500 {
			t.Errorf("with room for %d bytes: %d of %d frames, %+v", disk, len(frames), len(full), c)
		}
	}
	// No frame fits.
	if path, c, err := whole(300); err == nil || c.Failed != 1 || c.Disk != 0 {
		t.Errorf("%s, %v, %+v", path, err, c)
	}
}

// TestUnreadable: how much recordings take is not said where it can't be told, and once
// that it can't.
func TestUnreadable(t *testing.T) {
	var log bytes.Buffer
	cfg := recorder.DefaultConfig()
	cfg.Dir, cfg.Log = filepath.Join(t.TempDir(), "evidence"), slog.New(slog.NewTextHandler(&log, nil))
	r, err := recorder.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close(context.Background()) }()
	for i, want := range []int64{0, -1, -1, 0, -1} {
		switch {
		case want < 0:
			err = os.RemoveAll(cfg.Dir)
		default:
			err = os.MkdirAll(cfg.Dir, 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
		if c := r.Counts(); c.Disk != want {
			t.Errorf("%d: %d bytes", i, c.Disk)
		}
	}
	if n := strings.Count(log.String(), "can't be read"); n != 2 {
		t.Errorf("%d times: %s", n, log.String())
	}
}

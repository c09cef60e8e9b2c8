package groundtruth_test

import (
	"context"
	"net/netip"
	"runtime"
	"sync"
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/track"
)

// analysed is a capture, what is known of it and what the pipeline says.
type analysed struct {
	name  string
	path  string
	truth *truth
	res   *pipeline.Result
	notes *noteTally
	err   error
}

var cache struct {
	sync.Once
	list []*analysed
}

// all runs the pipeline on every capture, once for all tests.
func all(tb testing.TB) []*analysed {
	tb.Helper()
	cache.Do(func() {
		for _, c := range capturetest.All(tb) {
			cache.list = append(cache.list, &analysed{name: c.Name, path: c.Path, truth: loadTruth(tb, c)})
		}
		var wg sync.WaitGroup
		next := make(chan *analysed)
		for range runtime.GOMAXPROCS(0) {
			wg.Go(func() {
				for a := range next {
					a.run()
				}
			})
		}
		for _, a := range cache.list {
			next <- a
		}
		close(next)
		wg.Wait()
	})
	for _, a := range cache.list {
		if a.err != nil {
			tb.Fatalf("%s: %v", a.name, a.err)
		}
	}
	if len(cache.list) == 0 {
		tb.Fatal("no captures")
	}
	return cache.list
}

// named is one capture of the large collection.
func named(tb testing.TB, name string) *analysed {
	tb.Helper()
	capturetest.NeedShared(tb)
	for _, a := range all(tb) {
		if a.name == name {
			return a
		}
	}
	tb.Fatalf("no capture %s", name)
	return nil
}

func (a *analysed) run() {
	f, err := capture.Open(a.path, capture.DefaultConfig())
	if err != nil {
		a.err = err
		return
	}
	defer f.Close()
	cfg := pipeline.DefaultConfig()
	cfg.Track.Notes = track.NewNotes()
	a.res, a.err = pipeline.Run(context.Background(), f, cfg)
	a.notes = tallyNotes(cfg.Track.Notes, a.res.Packets)
}

// side is one direction of a session: what an end sent, and the stream in
// which that end is the requester.
type side struct {
	s        *record.Session
	stream   uint8
	from, to record.Endpoint
	*record.Direction
}

// sides are all directions in which something was sent. A session whose other
// half was not found has one.
func sides(r *pipeline.Result) []side {
	var list []side
	for i := range r.Sessions.Len() {
		s := r.Sessions.At(i)
		list = append(list, side{s, 0, s.A, s.B, &s.AToB}, side{s, 1, s.B, s.A, &s.BToA})
	}
	return list
}

func ip(e record.Endpoint) netip.Addr { return e.Addr.IP().Unmap() }

// toKey names the QP that this side's packets go to, "?" where it is unknown.
func (d side) toKey() string { return endKey(d.to) }

func endKey(e record.Endpoint) string {
	if !e.HasQPN {
		return "?"
	}
	return flowKey(ip(e), e.QPN)
}

// tries counts the tries of the stream without those that an RNR NAK caused.
func (d side) tries() int {
	n := uint64(0)
	for cause, k := range d.Tries {
		if record.Cause(cause) != record.CauseRNR {
			n += k
		}
	}
	return int(n)
}

// lost sums what the stream lost, wherever.
func (d side) lost() uint64 {
	return d.Lost.BeforeTap + d.Lost.AfterTap + d.Lost.Capture + d.Lost.Corrupt
}

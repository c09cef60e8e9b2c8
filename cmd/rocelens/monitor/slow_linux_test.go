package monitor_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/cmd/benchlive/sender"
	"github.com/rocelens/rocelens/cmd/rocelens/monitor"
)

// slowed is a source that takes its time while it is told to.
type slowed struct {
	capture.Source
	slow *atomic.Bool
}

func (s *slowed) ReadBatch(b *capture.Batch) error {
	if s.slow.Load() {
		time.Sleep(300 * time.Millisecond)
	}
	return s.Source.ReadBatch(b)
}

// TestSlow: where the monitor can't keep up, each frame that is lost is counted,
// and what the ring has room for is not lost.
func TestSlow(t *testing.T) {
	network(t)
	var slow atomic.Bool
	slow.Store(true)
	s := startAround(t, func(c *monitor.Config) { c.Live.BufferBytes = 4 << 20 },
		func(src capture.Source) capture.Source { return &slowed{src, &slow} })
	traffic, err := sender.Open("va", 16)
	if err != nil {
		t.Fatal(err)
	}
	defer traffic.Close()
	const burst, sent = 512, 60 * 1024
	for range sent / burst {
		if err := traffic.Send(burst); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Millisecond) // for the cable, which has room for a thousand
	}
	slow.Store(false)
	var seen, dropped float64
	for deadline := time.Now().Add(20 * time.Second); seen+dropped < sent && time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		got := s.scrape(t)
		seen, dropped = got["rocelens_packets_total"], got["rocelens_capture_dropped_frames_total"]
	}
	const room = 10_000 // of the ring of 4 MiB, whose blocks need not be full
	if seen+dropped != sent || dropped == 0 || seen < room {
		t.Errorf("%d frames were sent, %v packets seen, %v dropped", sent, seen, dropped)
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
}

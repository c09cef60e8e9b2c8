package recorder

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/rocelens/rocelens/capture"
)

// batchOf are n frames of some size, a microsecond apart, the first one with a number.
func batchOf(n, size int, number uint64) *capture.Batch {
	b := &capture.Batch{Frames: make([]capture.Frame, n)}
	for i := range b.Frames {
		k := number + uint64(i)
		data := bytes.Repeat([]byte{byte(k)}, size)
		b.Frames[i] = capture.Frame{Data: data, Time: int64(k) * 1000, Number: k, OrigLen: uint32(size) + 4, Input: int32(k % 3), Interface: int32(k % 2), Link: capture.LinkEthernet, FCSLen: -1}
	}
	return b
}

// TestRing: the last frames are there, headers alone, and no more than there is room
// for.
func TestRing(t *testing.T) {
	const segments, snap, size = 8, 100, 500
	r := newRing(segments*segmentBytes, 1e15, snap)
	n := uint64(1)
	for range 40 {
		r.take(batchOf(1000, size, n))
		n += 1000
	}
	last := uint64(0)
	err := r.each(0, 1<<62, func(f *capture.Frame) error {
		want := batchOf(1, size, f.Number).Frames[0]
		want.Data = want.Data[:snap]
		if last != 0 && f.Number != last+1 {
			return fmt.Errorf("frame %d comes after %d", f.Number, last)
		}
		last = f.Number
		if !bytes.Equal(f.Data, want.Data) {
			return fmt.Errorf("frame %d has other bytes", f.Number)
		}
		if got := *f; got.Time != want.Time || got.OrigLen != want.OrigLen || got.Input != want.Input || got.Interface != want.Interface || got.Link != want.Link || got.FCSLen != -1 {
			return fmt.Errorf("%+v, want %+v", got, want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	since := r.since()
	kept := int64(last) - since/1000 + 1
	if room := int64(segments * (segmentBytes / (snap + headerBytes))); last != n-1 || kept > room || kept < room*3/4 {
		t.Errorf("the last is %d, and %d are kept of %d there is room for", last, kept, room)
	}
	if size, span := r.size(); size != segments*segmentBytes || span != int64(last)*1000-since {
		t.Errorf("%d bytes, for %d ns", size, span)
	}
	got := 0
	if err := r.each(int64(last-10)*1000, int64(last-5)*1000, func(*capture.Frame) error { got++; return nil }); err != nil || got != 6 {
		t.Errorf("%d frames of a time, %v", got, err)
	}
}

// TestSpan: where little comes, little is kept.
func TestSpan(t *testing.T) {
	r := newRing(1<<30, 10_000_000, maxSnap) // 10,000 frames
	for n := uint64(1); n < 100_000; n += 500 {
		r.take(batchOf(500, 64, n))
	}
	size, span := r.size()
	perSegment := int64(segmentBytes / (64 + headerBytes) * 1000)
	if span < 10_000_000 || span > 10_000_000+2*perSegment || size > 7*segmentBytes {
		t.Errorf("%d ns are kept in %d bytes", span, size)
	}
}

// TestSizes: frames of any size are kept, the largest cut.
func TestSizes(t *testing.T) {
	r := newRing(0, 1e15, 0)
	rnd := rand.New(rand.NewPCG(1, 2))
	n := uint64(1)
	for range 300 {
		r.take(batchOf(rnd.IntN(20), rnd.IntN(1<<rnd.IntN(19)), n))
		n += 20
	}
	frames := 0
	if err := r.each(0, 1<<62, func(f *capture.Frame) error {
		frames++
		if len(f.Data) > maxSnap || len(f.Data) > int(f.OrigLen) {
			return fmt.Errorf("%d bytes of %d", len(f.Data), f.OrigLen)
		}
		return nil
	}); err != nil || frames == 0 {
		t.Errorf("%d frames, %v", frames, err)
	}
}

// TestReadWhileFilled: who reads gets whole frames in their order, while others come
// and overwrite what was there.
func TestReadWhileFilled(t *testing.T) {
	r := newRing(4*segmentBytes, 1e15, 128)
	var all sync.WaitGroup
	stop := make(chan struct{})
	all.Go(func() {
		for n := uint64(1); ; n += 500 {
			select {
			case <-stop:
				return
			default:
				r.take(batchOf(500, 200, n))
			}
		}
	})
	for range 50 {
		last := uint64(0)
		if err := r.each(0, 1<<62, func(f *capture.Frame) error {
			if f.Number <= last {
				return fmt.Errorf("frame %d comes after %d", f.Number, last)
			}
			last = f.Number
			for _, b := range f.Data {
				if b != byte(f.Number) {
					return fmt.Errorf("frame %d has bytes of another one", f.Number)
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	all.Wait()
}

// TestAllocations: keeping frames allocates nothing once the ring is full.
func TestAllocations(t *testing.T) {
	r := newRing(4*segmentBytes, 1e15, 192)
	b := batchOf(2048, 1000, 1)
	for range 10 {
		r.take(b)
	}
	if n := testing.AllocsPerRun(100, func() { r.take(b) }); n != 0 {
		t.Errorf("%v allocations a batch", n)
	}
}

// BenchmarkTake is what a frame costs that is kept and not looked at any more. It was
// copied out of the kernel's ring just before, so that its bytes are in the cache.
func BenchmarkTake(b *testing.B) {
	for _, size := range []int{128, 1100, 4200} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			r := newRing(256<<20, 1e15, DefaultSnapLen)
			batch := batchOf(capture.BatchFrames, size, 1)
			for range 1000 { // the ring is full
				r.take(batch)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; i < b.N; i += len(batch.Frames) {
				r.take(batch)
			}
		})
	}
}

package capture

import (
	"strconv"
	"testing"
)

// The parser alone, over pages that are mapped already.
func BenchmarkParseMapped(b *testing.B) {
	for _, frames := range []int{1_000_000, 2_000, 510} { // beyond the caches, and in them
		b.Run(strconv.Itoa(frames), func(b *testing.B) {
			f := openFile(b, writeFile(b, "f", largePcap(b, frames, erfNow)), MapAlways)
			var batch Batch
			var read uint64
			b.ReportAllocs()
			for b.Loop() {
				f.pos, f.dropped, f.err = pcapHeader, f.in.Size, nil
				size := f.in.Frames
				for f.pos < int64(len(f.mapped.data)) {
					if err := f.ReadBatch(&batch); err != nil {
						b.Fatal(err)
					}
				}
				read += f.in.Frames - size
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(read), "ns/packet")
		})
	}
}

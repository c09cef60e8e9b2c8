package capture

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// benchFile is a million frames of 128 bytes, 144 MB.
func benchFile(b *testing.B, pack func([]byte) []byte) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "f")
	file := largePcap(b, 1_000_000, erfNow)
	if pack != nil {
		file = pack(file)
	}
	if err := os.WriteFile(path, file, 0o600); err != nil {
		b.Fatal(err)
	}
	return path
}

// benchRead reads one file again and again, from the page cache.
func benchRead(b *testing.B, path string, policy MapPolicy) {
	b.Helper()
	b.ReportAllocs()
	var batch Batch
	var frames, bytes uint64
	for b.Loop() {
		f, err := Open(path, Config{Map: policy})
		if err != nil {
			b.Fatal(err)
		}
		for f.ReadBatch(&batch) == nil {
			frames += uint64(len(batch.Frames))
		}
		bytes = uint64(f.Inputs()[0].Size)
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(bytes))
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(frames), "ns/packet")
}

func BenchmarkReadMapped(b *testing.B) { benchRead(b, benchFile(b, nil), MapAlways) }

func BenchmarkReadPread(b *testing.B) { benchRead(b, benchFile(b, nil), MapNever) }

func BenchmarkReadZstd(b *testing.B) {
	benchRead(b, benchFile(b, func(file []byte) []byte {
		w, err := zstd.NewWriter(nil)
		if err != nil {
			b.Fatal(err)
		}
		return w.EncodeAll(file, nil)
	}), MapAuto)
}

func BenchmarkReadGzip(b *testing.B) {
	benchRead(b, benchFile(b, func(file []byte) []byte { return gzipped(b, file) }), MapAuto)
}

func BenchmarkReadPcapNG(b *testing.B) {
	n := ng{little}
	data := string(make([]byte, 128))
	file := append(n.section(), n.face(LinkEthernet, 128, n.option(ifTSResol, "\x09"))...)
	for i := range uint64(1_000_000) {
		file = append(file, n.packet(0, erfNow*nsPerSecond+i, 4200, data)...)
	}
	path := filepath.Join(b.TempDir(), "f")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		b.Fatal(err)
	}
	benchRead(b, path, MapAlways)
}

func BenchmarkReadMerged(b *testing.B) {
	path := benchFile(b, nil)
	b.ReportAllocs()
	var batch Batch
	frames := 0
	for b.Loop() {
		s, err := OpenAll([]string{path, path}, DefaultConfig())
		if err != nil {
			b.Fatal(err)
		}
		for s.ReadBatch(&batch) == nil {
			frames += len(batch.Frames)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(frames), "ns/packet")
}

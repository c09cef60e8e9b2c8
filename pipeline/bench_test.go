package pipeline_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/scenario"
)

// benchSizes are the captures that BenchmarkRun makes, 1 KiB of payload a
// packet. The larger one shows that time is linear and memory constant. It
// takes 10 GB of disk where temporary files go; "make bench" is where that is
// worth it, ROCELENS_BENCH_BYTES sets another size.
func benchSizes(b *testing.B) []int64 {
	if s := os.Getenv("ROCELENS_BENCH_BYTES"); s != "" {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			b.Fatalf("ROCELENS_BENCH_BYTES: %v", err)
		}
		return []int64{n}
	}
	return []int64{1e9, 10e9}
}

// BenchmarkRun is the whole of analyze but for the writing of the report: it
// reads, decodes, checks every ICRC and counts. RssAnon is the process's peak
// of anonymous memory, which is what it takes from the machine: mapped pages
// of the file are the kernel's cache.
func BenchmarkRun(b *testing.B) {
	for _, size := range benchSizes(b) {
		b.Run(strconv.FormatInt(size/1e6, 10)+"MB", func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "bench.pcap")
			packets := writeCapture(b, path, size)
			peak := capturetest.WatchAnonymous(0)
			for b.Loop() {
				src, err := capture.Open(path, capture.DefaultConfig())
				if err != nil {
					b.Fatal(err)
				}
				c, err := pipeline.Run(context.Background(), src, pipeline.DefaultConfig())
				if err != nil {
					b.Fatal(err)
				}
				if err := src.Close(); err != nil {
					b.Fatal(err)
				}
				if c.ICRC.Good != packets {
					b.Fatalf("%d of %d ICRCs are good", c.ICRC.Good, packets)
				}
			}
			b.SetBytes(size)
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(packets), "ns/packet")
			b.ReportMetric(float64(peak())/1e6, "MB-RssAnon")
		})
	}
}

// BenchmarkScenarios is the same on simulated captures of the kinds that
// docs/performance.md measures, a tenth of their size. "make pgo" takes its
// profile.
func BenchmarkScenarios(b *testing.B) {
	for _, tc := range []struct {
		name, scenario string
		options        scenario.Options
	}{
		{"headers", "bulk_write", scenario.Options{Packets: 1_000_000, Snaplen: 128}},
		{"icrc", "bulk_write", scenario.Options{Packets: 400_000}},
		{"sessions", "bulk_sessions", scenario.Options{Sessions: 100_000, Packets: 600_000, Snaplen: 128}},
		{"hosts", "bulk_write", scenario.Options{Sessions: 64, Packets: 1_000_000, Snaplen: 128}},
		{"loss", "bulk_write", scenario.Options{Packets: 1_000_000, Snaplen: 128, Loss: 0.01}},
	} {
		b.Run(tc.name, func(b *testing.B) {
			sc, err := scenario.Find(tc.scenario)
			if err != nil {
				b.Fatal(err)
			}
			path := filepath.Join(b.TempDir(), "c.pcap")
			f, err := os.Create(path)
			if err != nil {
				b.Fatal(err)
			}
			truth, err := sc.Write(f, tc.options, scenario.Pcap, "")
			if err := errors.Join(err, f.Close()); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				src, err := capture.Open(path, capture.DefaultConfig())
				if err != nil {
					b.Fatal(err)
				}
				r, err := pipeline.Run(context.Background(), src, pipeline.DefaultConfig())
				if err := errors.Join(err, src.Close()); err != nil {
					b.Fatal(err)
				}
				if r.Packets != truth.Frames || r.Sessions.Len() != truth.SessionCount {
					b.Fatalf("%d of %d packets, %d of %d sessions", r.Packets, truth.Frames, r.Sessions.Len(), truth.SessionCount)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(truth.Frames), "ns/packet")
		})
	}
}

// Where the headers of middle are.
const ip, udp, bth = 14, 34, 42

// middle makes an RC WRITE Middle packet of a frame.
func middle(frame []byte) {
	be := binary.BigEndian
	be.PutUint16(frame[12:], 0x0800)
	frame[ip] = 0x45
	be.PutUint16(frame[ip+2:], uint16(len(frame)-ip))
	frame[ip+8], frame[ip+9] = 64, 17
	copy(frame[ip+12:], []byte{10, 0, 0, 1, 10, 0, 0, 2})
	be.PutUint16(frame[udp+2:], 4791)
	be.PutUint16(frame[udp+4:], uint16(len(frame)-udp))
	frame[bth] = 0x07
}

// writeCapture writes a pcap file of about size bytes: RC WRITE Middle packets
// of 64 queue pairs with ICRCs that are right.
func writeCapture(b *testing.B, path string, size int64) (packets uint64) {
	b.Helper()
	const payload, qps = 1024, 64
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	le, be := binary.LittleEndian, binary.BigEndian
	header := make([]byte, 24)
	le.PutUint32(header, 0xa1b23c4d)
	le.PutUint16(header[4:], 2)
	le.PutUint16(header[6:], 4)
	le.PutUint32(header[16:], 262144)
	le.PutUint32(header[20:], 1)
	_, _ = w.Write(header) // bufio keeps the error for Flush

	record := make([]byte, 16+bth+12+payload+4)
	frame := record[16:]
	le.PutUint32(record[8:], uint32(len(frame)))
	le.PutUint32(record[12:], uint32(len(frame)))
	middle(frame)
	masked := bytes.Clone(frame)
	for _, i := range []int{ip + 1, ip + 8, ip + 10, ip + 11, udp + 6, udp + 7, bth + 4} {
		masked[i] = 0xff
	}
	seed := crc32.ChecksumIEEE(bytes.Repeat([]byte{0xff}, 8))
	for n := int64(len(header)); n < size; n += int64(len(record)) {
		le.PutUint32(record, uint32(1.8e9+packets/1e6))
		le.PutUint32(record[4:], uint32(packets%1e6)*1000)
		frame[bth+7], masked[bth+7] = byte(packets%qps), byte(packets%qps)
		be.PutUint32(frame[bth+8:], uint32(packets/qps)&0xffffff)
		copy(masked[bth+8:], frame[bth+8:bth+12])
		sum := crc32.Update(seed, crc32.IEEETable, masked[ip:len(masked)-4])
		le.PutUint32(frame[len(frame)-4:], sum)
		_, _ = w.Write(record)
		packets++
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	return packets
}

package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/rocelens/rocelens/pipeline/scenario"
)

// simulate writes a capture as the cases have it.
func simulate(t testing.TB, o scenario.Options) (path string, truth *scenario.Truth) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "c.pcap")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	sc, err := scenario.Find("bulk_write")
	if err != nil {
		t.Fatal(err)
	}
	truth, err = sc.Write(f, o, scenario.Pcap, "")
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return path, truth
}

// TestBare: the loop sees all packets and flows, and what is wrong with an ICRC.
func TestBare(t *testing.T) {
	path, truth := simulate(t, scenario.Options{Seed: 1, Packets: 5000, Sessions: 3000})
	n, err := bare(path, true)
	if err != nil || n.packets != truth.Frames || n.flows != 6000 || n.bad != 0 {
		t.Errorf("%+v of %d packets, error %v", n, truth.Frames, err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[fileHeader+recordHeader+payloadAt+20] ^= 1
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if n, err := bare(path, true); err != nil || n.bad != 1 {
		t.Errorf("%+v, error %v", n, err)
	}
	if _, err := bare(os.Args[0], false); err == nil {
		t.Error("a program is taken for a capture")
	}
}

func TestHead(t *testing.T) {
	path, truth := simulate(t, scenario.Options{Seed: 1, Packets: 5000})
	part := filepath.Join(t.TempDir(), "part.pcap")
	for most, want := range map[uint64]uint64{100: 100, 1e6: truth.Frames} {
		n, size, err := head(path, part, most)
		if err != nil || n != want {
			t.Errorf("%d records of %d, error %v", n, want, err)
		}
		if again, bytes, err := countRecords(part); err != nil || again != n || bytes != size {
			t.Errorf("%d records, %d bytes written; %d, %d read, error %v", n, size, again, bytes, err)
		}
	}
}

// BenchmarkBare is the bare loop.
func BenchmarkBare(b *testing.B) {
	for name, o := range map[string]scenario.Options{
		"headers": {Seed: 1, Packets: 2_000_000, Snaplen: 128}, "icrc": {Seed: 1, Packets: 500_000},
	} {
		b.Run(name, func(b *testing.B) {
			path, truth := simulate(b, o)
			for b.Loop() {
				if _, err := bare(path, name == "icrc"); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(truth.Frames), "ns/packet")
		})
	}
}

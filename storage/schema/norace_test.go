//go:build !race

package schema_test

import (
	"testing"

	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/storage/schema"
	"github.com/rocelens/rocelens/storage/storetest"
)

// TestNoAllocation: once a batch has grown, rows go in and out of it without an
// allocation.
func TestNoAllocation(t *testing.T) {
	flows := storetest.NewFlows(1000, 100)
	flows.Histograms = true
	intervals := make([]record.FlowInterval, 1000)
	flows.Next(intervals)
	allocates(t, schema.FlowIntervals().Batch(), intervals)

	s := new(record.Session)
	s.AToB.Congestion = new(record.Congestion)
	s.AToB.Packets, s.AToB.Acks = 7, 3
	s.AToB.AckLatency.Add(100)
	allocates(t, schema.Sessions().Batch(), []schema.Session{{Session: s}, {Session: s}})

	allocates(t, schema.Events().Batch(), []record.Event{
		{Session: "a", Detail: &record.Try{Opcode: "RC_SEND_ONLY"}}, {Session: "b", Detail: record.Nak{Code: "sequence"}}, {Detail: &record.CNP{}},
	})
	allocates(t, schema.PauseIntervals().Batch(), []record.PauseInterval{{Pauser: record.Pauser{Name: "swp1"}}, {Pauser: record.Pauser{Name: "swp2"}}})
}

func allocates[R any](t *testing.T, b *schema.Batch[R], rows []R) {
	t.Helper()
	var buf []byte
	once := func() {
		b.Reset()
		b.Append(&storetest.Origin, rows)
		var err error
		if buf, err = b.Encode(buf[:0]); err != nil {
			t.Fatal(err)
		}
	}
	once()
	if n := testing.AllocsPerRun(20, once); n > 0 {
		t.Errorf("%s: %v allocations for %d rows", b.Table().Name, n, len(rows))
	}
}

// BenchmarkBatch is our own part of a write: records into columns, and columns
// into the bytes that are sent.
func BenchmarkBatch(b *testing.B) {
	for _, c := range []struct {
		name       string
		histograms bool
	}{{"raw", false}, {"histograms", true}} {
		b.Run(c.name, func(b *testing.B) {
			flows := storetest.NewFlows(10_000_000, 10_000)
			flows.Histograms = c.histograms
			rows := make([]record.FlowInterval, 10_000)
			rows = rows[:flows.Next(rows)]
			batch := schema.FlowIntervals().Batch()
			var buf []byte
			once := func() {
				batch.Reset()
				for i := 0; i < len(rows); i += 500 {
					batch.Append(&storetest.Origin, rows[i:i+500])
				}
				var err error
				if buf, err = batch.Encode(buf[:0]); err != nil {
					b.Fatal(err)
				}
			}
			once()
			b.ReportAllocs()
			began := storetest.CPU()
			for b.Loop() {
				once()
			}
			b.ReportMetric(float64(storetest.CPU()-began)/float64(b.N*len(rows)), "cpu-ns/row")
			b.ReportMetric(float64(len(buf))/float64(len(rows)), "bytes/row")
		})
	}
}

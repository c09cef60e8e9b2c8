package runs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/storage/client"
	"github.com/rocelens/rocelens/storage/engine/enginetest"
	"github.com/rocelens/rocelens/storage/migrate"
	"github.com/rocelens/rocelens/storage/schema"
	"github.com/rocelens/rocelens/storage/storetest"
	"github.com/rocelens/rocelens/storage/writer"
)

func TestMain(m *testing.M) { os.Exit(enginetest.Main(m)) }

// TestInput: the same content is the same input, and another size or another
// piece is not.
func TestInput(t *testing.T) {
	seen := map[[sha256.Size]byte]string{}
	for _, size := range []int{0, 1, pieceSize - 1, pieceSize, pieceSize + 1, 3 * pieceSize, 100 * pieceSize, 100*pieceSize + 1} {
		data := bytes.Repeat([]byte("rocelens"), size/8+1)[:size]
		one, err := Input(bytes.NewReader(data), int64(size))
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := Input(bytes.NewReader(data), int64(size)); again != one {
			t.Errorf("%d bytes: two hashes", size)
		}
		sums := [][sha256.Size]byte{one}
		for _, at := range []int{0, size - 1, min(size-1, 5)} {
			if size == 0 {
				continue
			}
			data[at] ^= 1
			other, err := Input(bytes.NewReader(data), int64(size))
			if err != nil {
				t.Fatal(err)
			}
			if other == one {
				t.Errorf("%d bytes: byte %d makes no difference", size, at)
			}
			data[at] ^= 1
		}
		for _, s := range sums {
			if seen[s] != "" {
				t.Errorf("%d bytes: the hash of %s", size, seen[s])
			}
			seen[s] = "another size"
		}
		if size > 0 {
			if _, err := Input(bytes.NewReader(data[:0]), int64(size)); err == nil {
				t.Errorf("%d bytes that are not there: no error", size)
			}
		}
	}
	a, b := sha256.Sum256([]byte("a")), sha256.Sum256([]byte("b"))
	ids := map[string]bool{}
	for _, id := range []string{ID([][32]byte{a, b}, "x"), ID([][32]byte{b, a}, "x"), ID([][32]byte{a}, "x"), ID([][32]byte{a, b}, "y"), NewID(), NewID()} {
		if len(id) != 32 || ids[id] {
			t.Errorf("id %s", id)
		}
		ids[id] = true
	}
}

// TestRuns: a finished run is refused, a run that is being loaded too, and one
// that was broken off is taken out, roll-ups and all, and loaded again.
func TestRuns(t *testing.T) {
	cfg := client.FromEngine(enginetest.Start(t, "", false).Endpoint())
	c, err := client.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	o := schema.DefaultOptions()
	if _, err := migrate.Run(t.Context(), c, migrate.Config{Options: o}); err != nil {
		t.Fatal(err)
	}
	begin := func(run string) (*Run, error) {
		origin := storetest.Origin
		origin.Run = run
		return Begin(t.Context(), c, o, origin, schema.Run{Tool: "test", Inputs: []string{"a.pcap"}, Options: "{}"})
	}
	load := func(r *Run, rows int) writer.Count {
		t.Helper()
		wc := writer.DefaultConfig()
		wc.Run, wc.Attempt, wc.MaxRows = r.origin.Run, r.Attempt(), 100
		w, err := writer.New(wc, o, c, writer.NewMemory(1<<20, true), nil)
		if err != nil {
			t.Fatal(err)
		}
		w.Start(&r.origin)
		all := make([]record.FlowInterval, rows)
		storetest.NewFlows(1000, 10).Next(all)
		if err := w.Intervals(t.Context(), &r.origin, all); err != nil {
			t.Fatal(err)
		}
		counts, err := w.Close(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return counts["flow_intervals"]
	}
	// age makes the run look as if nobody had loaded it for a while.
	age := func() {
		t.Helper()
		if err := c.Exec(t.Context(), "ALTER TABLE rocelens.runs UPDATE loaded = loaded - 120 WHERE 1 SETTINGS mutations_sync = 1"); err != nil {
			t.Fatal(err)
		}
	}
	rows := func(want uint64) {
		t.Helper()
		for _, sql := range []string{"SELECT count() FROM rocelens.flow_intervals", "SELECT toUInt64(sum(length_ns) / 1e9) FROM rocelens.flow_1h"} {
			var n uint64
			if err := c.Row(t.Context(), []any{&n}, sql); err != nil || n != want {
				t.Errorf("%s: %d, want %d (%v)", sql, n, want, err)
			}
		}
	}

	other, err := begin("other")
	if err != nil {
		t.Fatal(err)
	}
	load(other, 50)
	first, err := begin("one")
	if err != nil {
		t.Fatal(err)
	}
	load(first, 300) // and then it breaks off
	rows(350)
	var busy *BusyError
	if _, err := begin("one"); !errors.As(err, &busy) || !strings.Contains(err.Error(), "leaf-1 is loading the same") {
		t.Errorf("loaded by two: %v", err)
	}
	age()
	second, err := begin("one")
	if err != nil {
		t.Fatal(err)
	}
	rows(50)
	if second.Attempt() == first.Attempt() {
		t.Error("two attempts have one name: the store would take the rows of the second for those of the first")
	}
	count := load(second, 300)
	rows(350)
	if err := second.Finish(t.Context(), count.Written, 7); err != nil {
		t.Fatal(err)
	}
	age()
	third, err := begin("one") // as rows were dropped
	if err != nil {
		t.Fatal(err)
	}
	rows(50)
	count = load(third, 300)
	if err := third.Finish(t.Context(), count.Written, 0); err != nil {
		t.Fatal(err)
	}
	age()
	var finished *FinishedError
	if _, err := begin("one"); !errors.As(err, &finished) || finished.Rows != 300 {
		t.Errorf("finished: %v", err)
	}
	rows(350)
}

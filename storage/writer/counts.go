package writer

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rocelens/rocelens/storage/schema"
)

// Count is what became of the rows of one table.
type Count struct {
	Taken    uint64 // came, or were left by the last program in a queue on disk and are dealt with
	Written  uint64 // the store has them
	Dropped  uint64 // they are lost, those included of which the last program could not tell the store
	Failures uint64 // inserts that failed, and were tried again
}

// Counts are counts by the name of the table.
type Counts map[string]Count

// Left is how many rows were taken, and are neither written nor dropped.
func (c Counts) Left() (n uint64) {
	for _, t := range c {
		if gone := t.Written + t.Dropped; t.Taken > gone {
			n += t.Taken - gone
		}
	}
	return n
}

// Total is the sum over all tables.
func (c Counts) Total() (t Count) {
	for _, one := range c {
		t.Taken += one.Taken
		t.Written += one.Written
		t.Dropped += one.Dropped
		t.Failures += one.Failures
	}
	return t
}

type what uint8

const (
	taken what = iota
	written
	dropped
	failures
)

type counts struct {
	mu sync.Mutex
	m  Counts
}

func (c *counts) add(table string, w what, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m == nil {
		c.m = Counts{}
	}
	t := c.m[table]
	*[...]*uint64{&t.Taken, &t.Written, &t.Dropped, &t.Failures}[w] += uint64(n)
	c.m[table] = t
}

func (c *counts) all() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.m)
}

// Counts are those so far.
func (w *Writer) Counts() Counts { return w.counts.all() }

// writeStats queues the writer's counters. What was dropped is known in the store
// as soon as it takes rows again.
func (w *Writer) writeStats(o *schema.Origin) {
	w.telling.Lock()
	defer w.telling.Unlock()
	all := w.counts.all()
	tells := make(map[string]uint64)
	now := time.Now().UnixNano()
	var rows []schema.Stat
	for _, table := range slices.Sorted(maps.Keys(all)) {
		t := all[table]
		if n := t.Dropped - w.told[table]; n > 0 {
			tells[table] = n
		}
		for _, s := range []struct {
			name  string
			value uint64
		}{{"store_rows_written", t.Written}, {"store_rows_dropped", t.Dropped}, {"store_inserts_failed", t.Failures}} {
			rows = append(rows, schema.Stat{Time: now, Input: -1, Name: s.name, Of: table, Value: s.value})
		}
	}
	kept, err := w.counters.tell(w.ctx, o, rows, tells)
	if err != nil && w.ctx.Err() == nil {
		w.log.Warn("the store: counters could not be queued", "error", err)
	}
	if kept {
		for table, n := range tells {
			w.told[table] += n
		}
	}
}

package pause

import (
	"cmp"
	"slices"
	"time"

	"github.com/rocelens/rocelens/pipeline/record"
)

// Result is what was found.
type Result struct {
	// Rows are in the order of input, interface and sender, PAUSE before PFC,
	// then priority.
	Rows []Row
	// LeftOut counts what frames said of priorities, by senders beyond those
	// that are told apart.
	LeftOut uint64
	// Intervals are the first pauses, in the order in which they ended;
	// IntervalsLeftOut are those beyond a bound.
	Intervals        []record.PauseInterval
	IntervalsLeftOut uint64
	// Runs and Storms are in the order of their starts.
	Runs          []Run
	RunsLeftOut   uint64 // runs beyond a bound
	Storms        []Storm
	StormsLeftOut uint64
	// Relations are pauses that began while others lasted.
	Relations        []Relation
	RelationsLeftOut uint64 // pairs of rows
	// Spreads are those of them that lead from one link to the next.
	Spreads []Spread
	Circles []Circle
	// Traffic is by row, of flows that went to the row's sender.
	Traffic        []Traffic
	TrafficLeftOut uint64 // packets of flows beyond a bound
	flows          map[Flow][]*Traffic
}

// Row is what one sender said of one priority, or, with PAUSE, of all traffic.
// A PFC frame counts once for each priority that it names.
type Row struct {
	record.Pauser
	Priority uint8  // 0 with PAUSE
	Speed    uint64 // of the link, bits a second; 0 where unknown

	XOff, XOn uint64 // frames that stop it, and that let it go on
	// QuantaSum and QuantaMax are of the frames in XOff.
	QuantaSum uint64
	QuantaMax uint16
	First     record.FrameRef

	// These are known where Speed is.
	Pauses  uint64 // intervals
	Expired uint64 // of them, ended because their time was up
	Paused  int64  // ns
	Longest int64  // ns
	Storms  uint64
	Late    Late // packets that came all the same
}

// Known says whether it is known how long the priority was paused: what only
// lets traffic go on never is.
func (r *Row) Known() bool { return r.Speed > 0 }

// A Run is a run of pauses of one priority, with less than a millisecond
// between any two.
type Run struct {
	First record.FrameRef
	Count uint64
	record.Pauses
}

const runGap = int64(time.Millisecond)

// Relation counts the pauses of a row that began while another row's lasted.
type Relation struct {
	First, Then int // rows
	Began       uint64
	Frame       record.FrameRef // of the first of them
}

// Close ends what lasts at the end of the capture, and returns what was found.
func (t *Tracker) Close(end int64) *Result {
	for _, r := range t.rows {
		if r.Speed == 0 {
			continue
		}
		now := max(min(end, maxTime), r.last)
		t.advance(r, now)
		if r.paused {
			t.end(r, now, record.PauseCaptured)
		}
	}
	t.finish(end)
	t.sortRows()
	for _, run := range t.runs {
		t.result.Runs = append(t.result.Runs, *run)
	}
	slices.SortStableFunc(t.result.Runs, func(a, b Run) int { return a.First.Compare(b.First) })
	for _, s := range t.storms {
		s.finish(end)
		t.result.Storms = append(t.result.Storms, *s)
	}
	slices.SortStableFunc(t.result.Storms, func(a, b Storm) int { return a.First.Compare(b.First) })
	t.markStorms()
	t.traffic()
	e := t.ends()
	t.spreads(e)
	t.circles(e)
	return &t.result
}

// sortRows puts the rows into an order that depends on their keys alone, and
// the relations between them too.
func (t *Tracker) sortRows() {
	slices.SortFunc(t.rows, func(a, b *row) int {
		return cmp.Or(a.by.key.compare(b.by.key), cmp.Compare(a.class, b.class))
	})
	place := make([]int, len(t.rows))
	for i, r := range t.rows {
		place[r.order] = i
		t.result.Rows = append(t.result.Rows, r.Row)
	}
	for _, rel := range t.relations {
		rel.First, rel.Then = place[rel.First], place[rel.Then]
		t.result.Relations = append(t.result.Relations, *rel)
	}
	slices.SortFunc(t.result.Relations, func(a, b Relation) int {
		return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.Then, b.Then))
	})
}

func (k pauserKey) compare(o pauserKey) int {
	if c := cmp.Or(cmp.Compare(k.input, o.input), cmp.Compare(k.iface, o.iface), slices.Compare(k.mac[:], o.mac[:])); c != 0 {
		return c
	}
	switch {
	case k.pfc == o.pfc:
		return 0
	case o.pfc:
		return -1
	}
	return 1
}

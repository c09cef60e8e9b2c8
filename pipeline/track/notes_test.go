package track_test

import (
	"testing"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/track"
)

// TestNoteNames: causes, places and modes have the same names and numbers in
// notes and in records.
func TestNoteNames(t *testing.T) {
	for c := range record.NumCauses {
		if got := decode.NoteCause(c).String(); got != c.String() {
			t.Errorf("cause %d is %s and %s", c, c, got)
		}
	}
	for p := range record.NumPlaces {
		if got := decode.NotePlace(p).String(); got != p.String() {
			t.Errorf("place %d is %s and %s", p, p, got)
		}
	}
	for m := range record.NumModes {
		if got := decode.NoteMode(m).String(); got != m.String() {
			t.Errorf("mode %d is %s and %s", m, m, got)
		}
	}
}

// numbered are the packets of a traffic with the numbers of their frames.
type numbered struct {
	*traffic
	n uint64
}

func (g *numbered) packets() []*track.Packet {
	packets := g.traffic.packets()
	for i := range packets {
		g.n++
		packets[i].Number = g.n
	}
	return packets
}

// TestNotesOfForgotten: packets keep their notes when the flows that they were
// of are forgotten, and those that wait for a pairing have theirs too.
func TestNotesOfForgotten(t *testing.T) {
	for name, memory := range map[string]int64{"all kept": 0, "forgotten": 1} {
		t.Run(name, func(t *testing.T) {
			const sessions = 3000
			notes := track.NewNotes()
			tr := track.New(track.Config{Notes: notes, MaxMemory: memory})
			g := &numbered{traffic: newTraffic(sessions)}
			for range 10 * sessions / len(g.batch) {
				tr.Add(g.packets())
			}
			tr.Close(g.now)
			list, _, _ := track.Records(track.Config{Notes: notes}, tr)
			if (tr.Evicted > 0) != (memory > 0) {
				t.Errorf("%d sessions were forgotten", tr.Evicted)
			}
			if notes.Len() != g.n {
				t.Errorf("%d notes of %d packets", notes.Len(), g.n)
			}
			names := map[string]bool{}
			var n decode.Note
			for number := uint64(1); number <= g.n; number++ {
				if !notes.Get(0, number, &n) {
					t.Fatalf("packet %d has no note", number)
				}
				if n.Session == "" || n.Role != decode.RoleRequest && n.Role != decode.RoleAck {
					t.Fatalf("packet %d: %+v", number, n)
				}
				names[n.Session] = true
			}
			if memory == 0 {
				if len(names) != list.Len() {
					t.Errorf("%d names, %d sessions", len(names), list.Len())
				}
				for s := range list.All() {
					if !names[s.ID] {
						t.Fatalf("%s is in no note", s.ID)
					}
				}
			}
			for _, number := range []uint64{0, g.n + 1, g.n + 1<<20} {
				if notes.Get(0, number, &n) || notes.Get(1, 1, &n) || notes.Get(-1, 1, &n) {
					t.Errorf("a note of packet %d", number)
				}
			}
		})
	}
}

// TestNotesNoAllocation: notes lie in chunks, and nothing else is allocated
// for a packet.
func TestNotesNoAllocation(t *testing.T) {
	tr := track.New(track.Config{Notes: track.NewNotes()})
	g := &numbered{traffic: newTraffic(100)}
	for range 200 {
		tr.Add(g.packets())
	}
	if n := testing.AllocsPerRun(1000, func() { tr.Add(g.packets()) }); n > 0 {
		t.Errorf("%v allocations for %d packets", n, len(g.batch))
	}
}

// BenchmarkTrackNotes is BenchmarkTrack with notes.
func BenchmarkTrackNotes(b *testing.B) {
	tr := track.New(track.Config{Notes: track.NewNotes()})
	g := &numbered{traffic: newTraffic(1000)}
	for range 200 {
		tr.Add(g.packets())
	}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N/len(g.batch) + 1 {
		tr.Add(g.packets())
	}
}

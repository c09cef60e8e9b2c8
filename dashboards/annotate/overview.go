package annotate

import (
	"maps"
	"slices"
	"strings"

	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/words"
)

// Overview is the comment on the file as a whole: what was found, and how many
// events of which kind there are. tool is who says it.
func Overview(tool string, r *pipeline.Result, findings []record.Finding) string {
	var b strings.Builder
	b.WriteString(tool + ": " + words.Plural(r.Packets, "packet") + ", " + words.Plural(uint64(r.Sessions.Len()), "session"))
	if len(findings) == 0 {
		b.WriteString(". Nothing is wrong as far as the packets show.")
	} else {
		b.WriteString(", " + words.Plural(uint64(len(findings)), "finding") + ":")
	}
	for i := range findings {
		f := &findings[i]
		b.WriteString("\n" + f.Severity.String() + " " + f.Code + ": " + f.Title + ".")
		if first, ok := f.Evidence.Get("first").(record.FrameRef); ok && first.Number > 0 {
			b.WriteString(" First: " + frames(first.Number, first.Number) + ".")
		}
	}
	counts := make(map[record.EventKind]uint64)
	for i := range r.Events {
		counts[r.Events[i].Detail.Kind()] += max(r.Events[i].Count, 1)
	}
	if len(counts) == 0 {
		return b.String()
	}
	var all []string
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, words.Count(counts[k])+" "+kindText(k))
	}
	b.WriteString("\nEvents: " + strings.Join(all, ", ") + ".")
	if n := r.EventsLeftOut + r.PausesLeftOut; n > 0 {
		b.WriteString(" " + words.Count(n) + " more were left out.")
	}
	b.WriteString("\nEach packet of an event has a comment; the display filter frame.comment contains \"rocelens try\" finds the beginnings of retransmissions.")
	return b.String()
}

func pausesText(e *record.Event, d *record.Pauses) string {
	text := d.MAC.String() + " pauses " + priority(d.PFC, d.Priority) + " for " + words.Duration(d.Paused)
	if e.Count > 1 {
		text += " in " + words.Count(e.Count) + " pauses within " + words.Duration(d.Lasted) + ", the longest of " + words.Duration(d.Longest)
	}
	return text
}

func stormText(d *record.Storm) string {
	var all []string
	for _, p := range d.Priorities {
		all = append(all, priority(d.PFC, p.Priority)+" "+words.Duration(p.Paused))
	}
	text := d.MAC.String() + " begins a pause storm of " + words.Duration(d.Lasted) + ": " + strings.Join(all, ", ")
	if !d.Ended {
		text += "; it goes on when the capture ends"
	}
	return text
}

func priority(pfc bool, n uint8) string {
	if !pfc {
		return "all traffic"
	}
	return "priority " + words.Count(uint64(n))
}

package finding

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/rocelens/rocelens/pipeline/pause"
	"github.com/rocelens/rocelens/pipeline/record"
)

// place is where a pauser was captured.
func (f *Facts) place(p *record.Pauser) string {
	name := cmp.Or(p.Name, strconv.Itoa(int(p.Interface)))
	if len(f.Inputs) > 1 {
		return strconv.Itoa(int(p.Input)+1) + ":" + name
	}
	return name
}

// priority is what a row is about, for people.
func priority(r *pause.Row) string {
	if !r.PFC {
		return "all traffic"
	}
	return "priority " + strconv.Itoa(int(r.Priority))
}

// pauserEvidence names a pauser.
func (f *Facts) pauserEvidence(p *record.Pauser) record.Evidence {
	return record.Evidence{
		{Key: "src_mac", Value: p.MAC.String()}, {Key: "input", Value: uint64(p.Input)},
		{Key: "interface", Value: cmp.Or(p.Name, strconv.Itoa(int(p.Interface)))}, {Key: "type", Value: pauseType(p)},
	}
}

func pauseType(p *record.Pauser) string {
	if p.PFC {
		return "pfc"
	}
	return "802.3x"
}

// rowEvidence names a row.
func (f *Facts) rowEvidence(r *pause.Row) record.Evidence {
	e := f.pauserEvidence(&r.Pauser)
	if r.PFC {
		e = append(e, record.Fact{Key: "priority", Value: uint64(r.Priority)})
	}
	return e
}

// pfcStorm says who keeps others paused.
func pfcStorm(f *Facts) []record.Finding {
	storms := slices.Clone(f.Pause.Storms)
	if len(storms) == 0 {
		return nil
	}
	slices.SortStableFunc(storms, func(a, b pause.Storm) int { return cmp.Compare(b.Lasted, a.Lasted) })
	list := []record.Evidence{}
	first := storms[0].First
	var say []string
	open := false
	for i := range storms {
		s := &storms[i]
		if s.First.Before(first) {
			first = s.First
		}
		open = open || !s.Ended
		var names []string
		var numbers []uint64
		var paused int64
		var frames uint64
		for _, p := range s.Priorities {
			names = append(names, strconv.Itoa(int(p.Priority)))
			numbers = append(numbers, uint64(p.Priority))
			paused, frames = max(paused, p.Paused), max(frames, p.Frames)
		}
		what := "all traffic"
		if s.PFC {
			if what = "priority " + names[0]; len(names) > 1 {
				what = "priorities " + strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
			}
		}
		say = append(say, s.MAC.String()+" kept "+what+" paused at "+f.place(&s.Pauser)+" for "+duration(s.Lasted))
		if i < maxListed {
			e := f.pauserEvidence(&s.Pauser)
			if s.PFC {
				e = append(e, record.Fact{Key: "priorities", Value: numbers})
			}
			list = append(list, append(e, record.Evidence{
				{Key: "lasted_ns", Value: s.Lasted}, {Key: "paused_ns", Value: paused}, {Key: "frames", Value: frames}, {Key: "ended", Value: s.Ended}, {Key: "frame", Value: s.First},
			}...))
		}
	}
	title, detail := say[0], ""
	if n := uint64(len(storms)) + f.Pause.StormsLeftOut; len(storms) > 1 {
		title = plural(n, "pause storm") + ", the longest: " + say[0]
		detail = "Others: " + strings.Join(say[1:min(len(say), maxNamed)], "; ") + ". "
	}
	switch {
	case open && f.live:
		detail += "It has not ended yet. "
	case open:
		detail += "It had not ended when the capture did. "
	}
	return one(record.Finding{
		Severity: record.Critical, Code: "pfc-storm", Title: title,
		Detail: detail + "Whoever is at the other end of that link can send nothing of it meanwhile, fills up, and pauses others in turn. Such a pause is no congestion that passes: " +
			"look at who sends it. A host: whether it hangs, is being debugged or reset, or takes what it gets too slowly; its NIC's tx pause counters and storm events. A switch: " +
			"where its egress for that priority goes, and who pauses that. PFC watchdogs on switches (SONiC, Junos: after 200 ms by default) and NICs end such storms.",
		Evidence: record.Evidence{
			{Key: "storms", Value: uint64(len(storms)) + f.Pause.StormsLeftOut}, {Key: "lasted_ns", Value: storms[0].Lasted}, {Key: "worst", Value: list}, {Key: "first", Value: first},
		},
	})
}

// How much of the time a priority is paused to be worth a finding, and one that
// warns; and at least for how long.
const (
	somePaused = 0.01
	muchPaused = 0.10
	minPaused  = int64(1_000_000) // ns
)

// pauseTime says who is paused for much of the time, storms aside.
func pauseTime(f *Facts) []record.Finding {
	lasted := f.Last - f.First
	if lasted <= 0 {
		return nil
	}
	var rows []*pause.Row
	for i := range f.Pause.Rows {
		if r := &f.Pause.Rows[i]; r.Storms == 0 && r.Paused >= minPaused && float64(r.Paused) >= somePaused*float64(lasted) {
			rows = append(rows, r)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	slices.SortStableFunc(rows, func(a, b *pause.Row) int { return cmp.Compare(b.Paused, a.Paused) })
	list := []record.Evidence{}
	var say []string
	first := rows[0].First
	global := false
	for i, r := range rows {
		if r.First.Before(first) {
			first = r.First
		}
		global = global || !r.PFC
		say = append(say, r.MAC.String()+" paused "+priority(r)+" at "+f.place(&r.Pauser)+" for "+timeShare(r.Paused, lasted)+" of the time")
		if i < maxListed {
			list = append(list, append(f.rowEvidence(r), record.Evidence{
				{Key: "paused_ns", Value: r.Paused}, {Key: "share", Value: share(uint64(r.Paused), uint64(lasted))}, {Key: "pauses", Value: r.Pauses}, {Key: "longest_ns", Value: r.Longest},
			}...))
		}
	}
	severity := record.Info
	if float64(rows[0].Paused) >= muchPaused*float64(lasted) {
		severity = record.Warning
	}
	detail := ""
	if len(rows) > 1 {
		detail = "Others: " + strings.Join(say[1:min(len(say), maxNamed)], "; ") + ". "
	}
	w := rows[0]
	title := say[0]
	if n := uint64(len(rows) - 1); n > 0 {
		title += ", and " + plural(n, "other") + " like it"
	}
	detail += "The worst one did so in " + plural(w.Pauses, "pause") + ", the longest of " + duration(w.Longest) + ". The other end of that link could not send meanwhile: it has so much less of " +
		"the link, and what waits there delays others. No packet is dropped for it, so drop counters stay at zero. Look at where the sender's traffic goes, which is where the congestion is; " +
		"ECN should slow senders down before PFC has to: compare its thresholds with those of PFC."
	if global {
		detail += " 802.3x PAUSE stops all priorities, that of CNPs and control traffic too: use PFC for RoCE."
	}
	return one(record.Finding{
		Severity: severity, Code: "pause-time", Title: title, Detail: detail,
		Evidence: record.Evidence{{Key: "rows", Value: uint64(len(rows))}, {Key: "worst", Value: list}, {Key: "first", Value: first}},
	})
}

// pauseSpeedUnknown says that pauses have no length, for want of a speed.
func pauseSpeedUnknown(f *Facts) []record.Finding {
	var n, frames uint64
	var first record.FrameRef
	var names []string
	for i := range f.Pause.Rows {
		r := &f.Pause.Rows[i]
		if r.Known() || r.XOff == 0 {
			continue
		}
		if n == 0 || r.First.Before(first) {
			first = r.First
		}
		n++
		frames = max(frames, r.XOff)
		if name := f.place(&r.Pauser); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if n == 0 {
		return nil
	}
	return one(record.Finding{
		Severity: record.Info, Code: "pause-speed-unknown",
		Title: "It can't be told how long traffic was paused at " + listed(names) + ": the speed of the link is not known",
		Detail: "The times in PFC and PAUSE frames are in units of 512 bit times. Give the speed with --link-speed, as in --link-speed 100G or --link-speed " +
			names[0] + "=100G; without it pause storms are not found either.",
		Evidence: record.Evidence{{Key: "rows", Value: n}, {Key: "frames", Value: frames}, {Key: "first", Value: first}},
	})
}

// circular are the rows of circles.
func (f *Facts) circular() map[int]bool {
	in := make(map[int]bool)
	for _, c := range f.Pause.Circles {
		for _, r := range c.Rows {
			in[r] = true
		}
	}
	return in
}

// pauseDeadlock says who pauses one another in a circle.
func pauseDeadlock(f *Facts) []record.Finding {
	if len(f.Pause.Circles) == 0 {
		return nil
	}
	circles := slices.Clone(f.Pause.Circles)
	slices.SortStableFunc(circles, func(a, b pause.Circle) int { return cmp.Compare(b.End-b.Start, a.End-a.Start) })
	list := []record.Evidence{}
	var first record.FrameRef
	for i, c := range circles {
		rows := []record.Evidence{}
		for k, n := range c.Rows {
			r := &f.Pause.Rows[n]
			if i == 0 && (k == 0 || r.First.Before(first)) {
				first = r.First
			}
			rows = append(rows, f.rowEvidence(r))
		}
		if i < maxListed {
			list = append(list, record.Evidence{{Key: "lasted_ns", Value: c.End - c.Start}, {Key: "pausers", Value: rows}})
		}
	}
	c := &circles[0]
	worst := &f.Pause.Rows[c.Rows[0]]
	var say []string
	for k, n := range c.Rows {
		next := &f.Pause.Rows[c.Rows[(k+1)%len(c.Rows)]]
		say = append(say, f.Pause.Rows[n].MAC.String()+" pauses "+next.MAC.String()+" at "+f.place(&f.Pause.Rows[n].Pauser))
	}
	title := strconv.Itoa(len(c.Rows)) + " stations kept one another from sending " + priority(worst) + " in a circle, for " + duration(c.End-c.Start) + ": this looks like a deadlock"
	return one(record.Finding{
		Severity: record.Critical, Code: "pause-deadlock-suspect", Title: title,
		Detail: strings.Join(say, ", ") + ". While all of these pauses last none of them can empty the buffers that the next one waits for. It ends only by a watchdog that drops packets, a reset, or " +
			"because there was room after all. Look for routes that form a circle: a link that failed, so that traffic goes down and up again, flooding of unknown MAC addresses, a loop.",
		Evidence: record.Evidence{{Key: "circles", Value: uint64(len(circles))}, {Key: "worst", Value: list}, {Key: "first", Value: first}},
	})
}

// pauseTree says where a pause spreads from.
func pauseTree(f *Facts) []record.Finding {
	circular := f.circular()
	next := make(map[int][]pause.Spread)
	led := make(map[int]bool)
	for _, s := range f.Pause.Spreads {
		if circular[s.First] || circular[s.Then] {
			continue
		}
		next[s.First] = append(next[s.First], s)
		led[s.Then] = true
	}
	type tree struct {
		root  int
		edges []pause.Spread
	}
	var trees []tree
	for i := range f.Pause.Rows {
		if len(next[i]) == 0 || led[i] {
			continue
		}
		t := tree{root: i}
		seen := map[int]bool{i: true}
		for at := []int{i}; len(at) > 0; at = at[1:] {
			for _, s := range next[at[0]] {
				if seen[s.Then] {
					continue
				}
				seen[s.Then] = true
				t.edges = append(t.edges, s)
				at = append(at, s.Then)
			}
		}
		trees = append(trees, t)
	}
	if len(trees) == 0 {
		return nil
	}
	slices.SortStableFunc(trees, func(a, b tree) int { return cmp.Compare(len(b.edges), len(a.edges)) })
	list := []record.Evidence{}
	first := trees[0].edges[0].Frame
	for i, t := range trees {
		edges := []record.Evidence{}
		for k, s := range t.edges {
			if s.Frame.Before(first) {
				first = s.Frame
			}
			if a, b := &f.Pause.Rows[s.First], &f.Pause.Rows[s.Then]; k < maxListed {
				edges = append(edges, record.Evidence{
					{Key: "paused_by", Value: a.MAC.String()}, {Key: "at", Value: f.place(&a.Pauser)}, {Key: "src_mac", Value: b.MAC.String()}, {Key: "then", Value: f.place(&b.Pauser)},
					{Key: "began", Value: s.Began}, {Key: "pauses", Value: b.Pauses},
				})
			}
		}
		if i < maxListed {
			list = append(list, append(f.rowEvidence(&f.Pause.Rows[t.root]), record.Fact{Key: "links", Value: uint64(len(t.edges))}, record.Fact{Key: "spreads", Value: edges}))
		}
	}
	t := &trees[0]
	root := &f.Pause.Rows[t.root]
	var say []string
	for _, s := range t.edges[:min(len(t.edges), maxListed)] {
		a, b := &f.Pause.Rows[s.First], &f.Pause.Rows[s.Then]
		say = append(say, b.MAC.String()+", paused by "+a.MAC.String()+" at "+f.place(&a.Pauser)+", paused others at "+f.place(&b.Pauser)+" ("+count(s.Began)+" of "+plural(b.Pauses, "pause")+" began meanwhile)")
	}
	title := "Congestion at " + root.MAC.String() + " spreads: it pauses " + priority(root) + " at " + f.place(&root.Pauser) + ", and that goes on to " + plural(uint64(len(t.edges)), "more link")
	if n := uint64(len(trees) - 1); n > 0 {
		title += "; likewise from " + plural(n, "other station")
	}
	return one(record.Finding{
		Severity: record.Warning, Code: "pause-tree", Title: title,
		Detail: strings.Join(say, "; ") + ". Traffic that does not go to " + root.MAC.String() + " stands still as well where it shares a link with traffic that does. The cause is at the root: " +
			"look at why that station does not take what it gets.",
		Evidence: record.Evidence{{Key: "trees", Value: uint64(len(trees))}, {Key: "worst", Value: list}, {Key: "first", Value: first}},
	})
}

// minLate is how many packets have to come while they should not.
const minLate = 8

// pauseIgnored says who goes on sending.
func pauseIgnored(f *Facts) []record.Finding {
	var rows []*pause.Row
	for i := range f.Pause.Rows {
		// What several stations send, or goes where more than two pause others,
		// is of no single link: there others have to pause than those seen.
		r := &f.Pause.Rows[i]
		if r.Late.Packets < minLate || r.Late.Mixed {
			continue
		}
		stations := make(map[[6]byte]bool)
		for k := range f.Pause.Rows {
			if o := &f.Pause.Rows[k]; o.Input == r.Input && o.Interface == r.Interface {
				stations[o.MAC] = true
			}
		}
		if len(stations) <= 2 {
			rows = append(rows, r)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	slices.SortStableFunc(rows, func(a, b *pause.Row) int { return cmp.Compare(b.Late.Packets, a.Late.Packets) })
	list := []record.Evidence{}
	var n uint64
	first := rows[0].Late.First
	for i, r := range rows {
		n += r.Late.Packets
		if r.Late.First.Before(first) {
			first = r.Late.First
		}
		if i < maxListed {
			list = append(list, append(f.rowEvidence(r), record.Evidence{
				{Key: "from", Value: r.Late.From.String()}, {Key: "packets", Value: r.Late.Packets}, {Key: "pauses", Value: r.Late.Pauses}, {Key: "of_pauses", Value: r.Pauses},
				{Key: "latest_ns", Value: r.Late.Longest}, {Key: "frame", Value: r.Late.First},
			}...))
		}
	}
	w := rows[0]
	return one(record.Finding{
		Severity: record.Warning, Code: "pause-ignored",
		Title: w.Late.From.String() + " goes on sending " + priority(w) + " while " + w.MAC.String() + " pauses it: " + plural(n, "packet") + " came after the time that is allowed for stopping",
		Detail: "That was so in " + count(w.Late.Pauses) + " of " + plural(w.Pauses, "pause") + " at " + f.place(&w.Pauser) + ", up to " + duration(w.Late.Longest) + " after the pause began. Where buffers are full these packets are dropped. " +
			"See whether flow control is on at that sender, for this priority and for received frames (rx), and whether it classifies packets as the other end does: by VLAN priority or by DSCP. " +
			"If the interface mirrors several ports it may be that those packets were captured where they came from.",
		Evidence: record.Evidence{{Key: "packets", Value: n}, {Key: "worst", Value: list}, {Key: "first", Value: first}},
	})
}

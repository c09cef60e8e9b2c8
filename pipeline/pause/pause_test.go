package pause_test

import (
	gocmp "cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/pause"
	"github.com/rocelens/rocelens/pipeline/record"
)

const (
	gbit = 1_000_000_000
	us   = int64(time.Microsecond)
	ms   = int64(time.Millisecond)
)

// feed is a tracker of links that all have one speed.
type feed struct {
	*pause.Tracker
	n uint64
}

func newFeed(cfg pause.Config, speed uint64) *feed {
	return &feed{Tracker: pause.New(cfg, func(_, iface int32) pause.Link {
		return pause.Link{Name: []string{"eth0", "eth1", "eth2", "eth3"}[iface&3], Speed: speed}
	})}
}

// pfc adds a PFC frame of a sender about one priority.
func (f *feed) pfc(at int64, iface int32, sender, priority uint8, quanta uint16) {
	x := pause.Frame{Time: at, Interface: iface, MAC: decode.MAC{2, 5: sender}, PFC: true, Enable: 1 << priority}
	x.Quanta[priority] = quanta
	f.add(x)
}

func (f *feed) add(x pause.Frame) {
	f.n++
	x.Number = f.n
	f.Add(&x)
}

// span is an interval with what it should be.
type span struct {
	Start, Paused  int64
	Frames, Quanta uint64
	End            string
}

func spans(r *pause.Result) []span {
	var list []span
	for _, i := range r.Intervals {
		list = append(list, span{i.Start.Time, i.Paused, i.Frames, i.Quanta, i.End.String()})
	}
	return list
}

// TestIntervals: from a frame with a time to one without, to the end of the
// time, or of the capture; a refresh replaces. At 100 Gbit/s a quantum is
// 5.12 ns, 65,535 of them 335,539 ns.
func TestIntervals(t *testing.T) {
	for _, c := range []struct {
		name   string
		frames [][2]int64 // time, quanta
		end    int64
		want   []span
	}{
		{"resumed", [][2]int64{{1000, 65535}, {5000, 0}}, 9000, []span{{1000, 4000, 1, 65535, "xon"}}},
		{"expired", [][2]int64{{1000, 100}}, 9000, []span{{1000, 512, 1, 100, "expired"}}},
		{"to the end", [][2]int64{{1000, 65535}}, 9000, []span{{1000, 8000, 1, 65535, "capture_end"}}},
		{"refreshed", [][2]int64{{0, 100}, {300, 100}, {700, 100}}, 9000, []span{{0, 1212, 3, 300, "expired"}}},
		{"a shorter time replaces", [][2]int64{{0, 65535}, {1000, 100}}, 9000, []span{{0, 1512, 2, 65635, "expired"}}},
		{"refreshed as it expires", [][2]int64{{0, 100}, {512, 100}}, 9000, []span{{0, 1024, 2, 200, "expired"}}},
		{"too late a refresh", [][2]int64{{0, 100}, {513, 100}}, 9000, []span{{0, 512, 1, 100, "expired"}, {513, 512, 1, 100, "expired"}}},
		{"nothing to resume", [][2]int64{{0, 0}, {100, 0}}, 9000, nil},
		{"resumed after it expired", [][2]int64{{0, 100}, {600, 0}}, 9000, []span{{0, 512, 1, 100, "expired"}}},
		{"time goes back", [][2]int64{{1000, 65535}, {900, 0}}, 9000, []span{{1000, 0, 1, 65535, "xon"}}},
		{"rounded to the nearest", [][2]int64{{0, 1}}, 9000, []span{{0, 5, 1, 1, "expired"}}},
		{"the longest", [][2]int64{{0, 65535}}, ms, []span{{0, 335539, 1, 65535, "expired"}}},
		{"before the epoch", [][2]int64{{-5000, 65535}, {-1000, 0}}, -10, []span{{-5000, 4000, 1, 65535, "xon"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFeed(pause.DefaultConfig(), 100*gbit)
			for _, x := range c.frames {
				f.pfc(x[0], 0, 1, 3, uint16(x[1]))
			}
			r := f.Close(c.end)
			if d := cmp.Diff(c.want, spans(r)); d != "" {
				t.Error(d)
			}
			var paused int64
			for _, i := range c.want {
				paused += i.Paused
			}
			if row := r.Rows[0]; row.Paused != paused || row.Pauses != uint64(len(c.want)) || row.Priority != 3 || row.Name != "eth0" {
				t.Errorf("%+v", row)
			}
		})
	}
}

// TestMixedFrame: one frame that stops some priorities and lets others go on
// ends pauses and begins others, each of them at the time of the frame; what it
// does not enable it leaves as it is. A zero address is a sender of its own. At
// 10 Gbit/s a quantum is 51.2 ns.
func TestMixedFrame(t *testing.T) {
	f := newFeed(pause.DefaultConfig(), 10*gbit)
	all := func(n uint16) [8]uint16 { return [8]uint16{n, n, n, n, n, n, n, n} }
	mac, zero := decode.MAC{5: 7}, decode.MAC{}
	f.add(pause.Frame{Time: 0, MAC: mac, PFC: true, Enable: 0xf0, Quanta: all(65535)})
	f.add(pause.Frame{Time: 10 * us, MAC: zero, PFC: true, Enable: 0x18, Quanta: all(65535)})
	// The vector that others made: 0 to 3 are stopped, 4 to 7 go on.
	f.add(pause.Frame{Time: 100 * us, MAC: mac, PFC: true, Enable: 0xff, Quanta: [8]uint16{0x0807, 0x0605, 0x0403, 0x0201}})
	// 0 goes on, 3 is stopped for longer; what it says of 1 and 2 does not count.
	f.add(pause.Frame{Time: 110 * us, MAC: mac, PFC: true, Enable: 0x09, Quanta: [8]uint16{0, 0, 60000, 1000}})
	f.add(pause.Frame{Time: 200 * us, MAC: zero, PFC: true, Enable: 0x10})
	type pausedSpan struct {
		MAC           decode.MAC
		Priority      uint8
		Start, Paused int64
		End           string
	}
	var got []pausedSpan
	for _, i := range f.Close(ms).Intervals {
		got = append(got, pausedSpan{i.MAC, i.Priority, i.Start.Time, i.Paused, i.End.String()})
	}
	slices.SortFunc(got, func(a, b pausedSpan) int {
		return gocmp.Or(slices.Compare(a.MAC[:], b.MAC[:]), int(a.Priority)-int(b.Priority))
	})
	want := []pausedSpan{
		{zero, 3, 10 * us, 990 * us, "capture_end"},
		{zero, 4, 10 * us, 190 * us, "xon"},
		{mac, 0, 100 * us, 10 * us, "xon"},
		{mac, 1, 100 * us, 78_899, "expired"}, // 0x605 quanta
		{mac, 2, 100 * us, 52_582, "expired"},
		{mac, 3, 100 * us, 10*us + 51_200, "expired"},
		{mac, 4, 0, 100 * us, "xon"},
		{mac, 5, 0, 100 * us, "xon"},
		{mac, 6, 0, 100 * us, "xon"},
		{mac, 7, 0, 100 * us, "xon"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestSpeeds: a quantum is 512 bit times.
func TestSpeeds(t *testing.T) {
	for speed, want := range map[uint64]int64{
		10 * gbit: 3_355_392, 25 * gbit: 1_342_157, 40 * gbit: 838_848, 100 * gbit: 335_539, 200 * gbit: 167_770, 400 * gbit: 83_885, 800 * gbit: 41_942,
	} {
		f := newFeed(pause.DefaultConfig(), speed)
		f.pfc(0, 0, 1, 3, 65535)
		if got := f.Close(10 * ms).Rows[0].Paused; got != want {
			t.Errorf("%d bit/s: %d ns, want %d", speed, got, want)
		}
	}
}

// TestRows: a PFC frame speaks of the priorities that it enables and of no
// other, PAUSE of all traffic; rows are in order, whoever came first.
func TestRows(t *testing.T) {
	f := newFeed(pause.DefaultConfig(), 10*gbit)
	f.add(pause.Frame{Time: 9, Interface: 1, MAC: decode.MAC{5: 1}, PFC: true, Enable: 1, Quanta: [8]uint16{7}})
	f.add(pause.Frame{Time: 10, MAC: decode.MAC{5: 1}, PFC: true, Enable: 0x09, Quanta: [8]uint16{100, 200, 0, 300}})
	f.add(pause.Frame{Time: 11, MAC: decode.MAC{5: 1}, PFC: true, Enable: 0x08, Quanta: [8]uint16{3: 500}})
	f.add(pause.Frame{Time: 12, MAC: decode.MAC{5: 1}, PFC: true, Enable: 0x08})
	f.add(pause.Frame{Time: 13, MAC: decode.MAC{5: 1}, PFC: true}) // says nothing
	f.add(pause.Frame{Time: 14, MAC: decode.MAC{5: 1}, Enable: 0xff, Quanta: [8]uint16{65535, 9}})
	f.add(pause.Frame{Time: 15, MAC: decode.MAC{5: 1}, Enable: 1})
	r := f.Close(10 * ms)
	type row struct {
		Interface int32
		PFC       bool
		Priority  uint8
		XOff, XOn uint64
		Sum       uint64
		Max       uint16
		Paused    int64
		First     int64
	}
	var got []row
	for _, x := range r.Rows {
		got = append(got, row{x.Interface, x.PFC, x.Priority, x.XOff, x.XOn, x.QuantaSum, x.QuantaMax, x.Paused, x.First.Time})
	}
	want := []row{
		{0, false, 0, 1, 1, 65535, 65535, 1, 14},
		{0, true, 0, 1, 0, 100, 100, 5120, 10},
		{0, true, 3, 2, 1, 800, 500, 2, 10},
		{1, true, 0, 1, 0, 7, 7, 358, 9},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestUnknownSpeed: frames and quanta count, and nothing is said of times.
func TestUnknownSpeed(t *testing.T) {
	for _, speed := range []uint64{0, 1000} { // nobody has so slow a link
		f := newFeed(pause.DefaultConfig(), speed)
		f.pfc(0, 0, 1, 3, 65535)
		f.pfc(100, 0, 1, 3, 0)
		r := f.Close(ms)
		row := r.Rows[0]
		if row.Known() || row.XOff != 1 || row.XOn != 1 || row.QuantaSum != 65535 || row.Pauses != 0 || row.Paused != 0 {
			t.Errorf("%+v", row)
		}
		if len(r.Intervals)+len(r.Runs)+len(r.Storms) > 0 {
			t.Errorf("%+v", r)
		}
	}
}

// TestRead takes over a decoded packet.
func TestRead(t *testing.T) {
	p := decode.Packet{}
	p.Kind, p.SrcMAC = decode.KindPFC, decode.MAC{5: 7}
	p.Frame = &capture.Frame{Time: 5, Number: 6, Offset: 7, Input: 1, Interface: 2}
	p.Pause.Enable, p.Pause.Quanta = 0x08, [8]uint16{3: 99}
	f := pause.Frame{Number: 99}
	f.Read(&p)
	want := pause.Frame{Time: 5, Number: 6, Offset: 7, Input: 1, Interface: 2, MAC: decode.MAC{5: 7}, PFC: true, Enable: 0x08, Quanta: [8]uint16{3: 99}}
	if f != want {
		t.Errorf("%+v", f)
	}
}

// storm keeps a priority paused from one time to another, refreshing it.
func (f *feed) storm(from, to int64, priority uint8) {
	for at := from; at < to; at += 300 * us {
		f.pfc(at, 0, 1, priority, 65535)
	}
	f.pfc(to, 0, 1, priority, 0)
}

func stormOf(r *pause.Result) (list [][3]int64) {
	for _, s := range r.Storms {
		list = append(list, [3]int64{s.First.Time, s.Lasted, int64(len(s.Priorities))})
	}
	return list
}

// TestStorms: too long a pause is one storm, whatever its refreshes.
func TestStorms(t *testing.T) {
	for _, c := range []struct {
		name string
		feed func(f *feed)
		want [][3]int64 // start, lasted, priorities
	}{
		{"short", func(f *feed) { f.storm(5*ms, 150*ms, 3) }, nil},
		{"long", func(f *feed) { f.storm(5*ms, 405*ms, 3) }, [][3]int64{{5 * ms, 400 * ms, 1}}},
		{"two priorities", func(f *feed) {
			for at := 5 * ms; at < 405*ms; at += 300 * us {
				f.add(pause.Frame{Time: at, MAC: decode.MAC{2, 5: 1}, PFC: true, Enable: 0x18, Quanta: [8]uint16{3: 65535, 4: 65535}})
			}
			f.add(pause.Frame{Time: 405 * ms, MAC: decode.MAC{2, 5: 1}, PFC: true, Enable: 0x18})
		}, [][3]int64{{5 * ms, 400 * ms, 2}}},
		{"one after the other", func(f *feed) { f.storm(5*ms, 405*ms, 3); f.storm(405*ms, 905*ms, 4) }, [][3]int64{{5 * ms, 900 * ms, 2}}},
		{"a short break", func(f *feed) { f.storm(5*ms, 405*ms, 3); f.storm(505*ms, 905*ms, 3) }, [][3]int64{{5 * ms, 900 * ms, 1}}},
		{"a long break", func(f *feed) { f.storm(5*ms, 405*ms, 3); f.storm(1005*ms, 1405*ms, 3) }, [][3]int64{{5 * ms, 400 * ms, 1}, {1005 * ms, 400 * ms, 1}}},
		{"paused for half of the time", func(f *feed) {
			for at := int64(0); at < 1000*ms; at += 600 * us {
				f.pfc(at, 0, 1, 3, 58594) // 300 us
			}
		}, nil},
		{"with short gaps", func(f *feed) {
			for at := int64(0); at < 1000*ms; at += 310 * us {
				f.pfc(at, 0, 1, 3, 58594)
			}
		}, [][3]int64{{0, 1_000_050*us + 1, 1}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFeed(pause.DefaultConfig(), 100*gbit)
			c.feed(f)
			r := f.Close(2000 * ms)
			if d := cmp.Diff(c.want, stormOf(r)); d != "" {
				t.Error(d)
			}
			for i := range r.Storms {
				if !r.Storms[i].Ended {
					t.Error("not ended")
				}
			}
			for _, i := range r.Intervals {
				if i.Storm != (len(c.want) > 0) {
					t.Errorf("%+v", i)
				}
			}
			rows := uint64(0)
			for _, row := range r.Rows {
				rows += row.Storms
			}
			priorities := uint64(0)
			for _, s := range c.want {
				priorities += uint64(s[2])
			}
			if rows != priorities {
				t.Errorf("rows have %d storms", rows)
			}
		})
	}
}

// TestStormFigures: how long, how many frames, and whether it ended.
func TestStormFigures(t *testing.T) {
	f := newFeed(pause.DefaultConfig(), 100*gbit)
	for at := 5 * ms; at < 500*ms; at += 300 * us {
		f.pfc(at, 2, 1, 3, 65535)
	}
	r := f.Close(500 * ms)
	if len(r.Storms) != 1 {
		t.Fatalf("%+v", r.Storms)
	}
	s := r.Storms[0]
	want := record.Storm{
		Pauser:     record.Pauser{Interface: 2, Name: "eth2", MAC: decode.MAC{2, 5: 1}, PFC: true},
		Priorities: []record.StormPriority{{Priority: 3, Start: 5 * ms, End: 500 * ms, Paused: 495 * ms, Frames: 1650}},
		Lasted:     495 * ms,
	}
	if d := cmp.Diff(want, s.Storm); d != "" {
		t.Error(d)
	}
	if s.First.Number != 1 || s.End != 500*ms {
		t.Errorf("%+v", s)
	}
}

// TestRuns: pauses one after the other are one event with a count.
func TestRuns(t *testing.T) {
	f := newFeed(pause.DefaultConfig(), 100*gbit)
	for i := range int64(10) {
		f.pfc(i*100*us, 0, 1, 3, 65535)
		f.pfc(i*100*us+30*us, 0, 1, 3, 0)
	}
	f.pfc(10*ms, 0, 1, 3, 100)
	r := f.Close(20 * ms)
	got, leftOut := r.Events(2)
	for i := range got {
		got[i].Frame = record.FrameRef{}
	}
	by := record.Pauser{Name: "eth0", MAC: decode.MAC{2, 5: 1}, PFC: true}
	want := []record.Event{
		{Time: 0, Count: 10, Detail: &record.Pauses{Pauser: by, Priority: 3, Lasted: 930 * us, Paused: 300 * us, Longest: 30 * us, Frames: 10, Quanta: 655350}},
		{Time: 10 * ms, Count: 1, Detail: &record.Pauses{Pauser: by, Priority: 3, Lasted: 512, Paused: 512, Longest: 512, Frames: 1, Quanta: 100, End: record.PauseExpired}},
	}
	if d := cmp.Diff(want, got); d != "" || leftOut != 0 {
		t.Errorf("%d left out; %s", leftOut, d)
	}
	if got, leftOut := r.Events(1); len(got) != 1 || got[0].Count != 10 || leftOut != 1 {
		t.Errorf("%+v, %d left out", got, leftOut)
	}
}

// TestRelations: which pauses began while another one lasted.
func TestRelations(t *testing.T) {
	f := newFeed(pause.DefaultConfig(), 100*gbit)
	for i := range int64(5) {
		at := i * ms
		f.pfc(at, 1, 1, 3, 65535)
		f.pfc(at+10*us, 0, 2, 3, 65535)
		f.pfc(at+15*us, 2, 3, 4, 65535) // another priority
		f.pfc(at+20*us, 1, 1, 3, 0)
		f.pfc(at+30*us, 0, 2, 3, 0)
		f.pfc(at+40*us, 2, 3, 3, 100) // after both
		f.pfc(at+50*us, 2, 3, 4, 0)
	}
	r := f.Close(20 * ms)
	// The rows are eth0 2, eth1 1, eth2 3 with priority 3 and with 4.
	var got [][4]int64
	for _, x := range r.Relations {
		got = append(got, [4]int64{int64(x.First), int64(x.Then), int64(x.Began), x.Frame.Time})
	}
	if d := cmp.Diff([][4]int64{{1, 0, 5, 10 * us}}, got); d != "" {
		t.Error(d)
	}
}

// TestBounds: whatever a capture says, a tracker stays small, and counts what
// it leaves out.
func TestBounds(t *testing.T) {
	cfg := pause.DefaultConfig()
	cfg.MaxIntervals = 100
	f := newFeed(cfg, 100*gbit)
	const senders, rounds = 400, 20
	for i := range int64(rounds) {
		for s := range int64(senders) {
			x := pause.Frame{Time: i*5*ms + s, PFC: true, MAC: decode.MAC{4: byte(s >> 8), 5: byte(s)}, Enable: 0xff}
			for p := range x.Quanta {
				x.Quanta[p] = 65535
			}
			f.add(x)
		}
	}
	r := f.Close(rounds * 5 * ms)
	if len(r.Rows) != 256*8 || r.LeftOut != (senders-256)*8*rounds {
		t.Errorf("%d rows, %d left out", len(r.Rows), r.LeftOut)
	}
	if n := uint64(len(r.Intervals)); n != 100 || n+r.IntervalsLeftOut != 256*8*rounds {
		t.Errorf("%d intervals, %d left out", n, r.IntervalsLeftOut)
	}
	if n := uint64(len(r.Runs)); n != 4096 || n+r.RunsLeftOut != 256*8*rounds {
		t.Errorf("%d runs, %d left out", n, r.RunsLeftOut)
	}
	if len(r.Relations) != 4096 || r.RelationsLeftOut == 0 {
		t.Errorf("%d relations, %d left out", len(r.Relations), r.RelationsLeftOut)
	}
	// Times at the ends of time.
	f = newFeed(cfg, 1_000_000)
	for _, at := range []int64{-1 << 63, 0, 1<<63 - 1, 1<<63 - 1} {
		f.pfc(at, 0, 1, 3, 65535)
	}
	f.Close(1<<63 - 1)
}

// TestRandom holds the tracker against a simple model that looks at each
// nanosecond. A quantum is 10 ns, a window 1,600 ns.
func TestRandom(t *testing.T) {
	const (
		speed = 512_000_000_000 / 10
		total = 40_000
		slot  = 100
	)
	cfg := pause.Config{StormShare: 0.8, StormWindow: 16 * slot, MaxIntervals: 1 << 16}
	storms := 0
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		f := newFeed(cfg, speed)
		var paused [total]bool
		cuts := map[int64]bool{} // where a pause begins anew though the one before ends there
		every, most := 1+rng.Int64N(400), 1+rng.IntN(60)
		until := int64(0)
		for at := rng.Int64N(5 * slot); at < total; at += 1 + rng.Int64N(every) {
			if rng.IntN(60) == 0 {
				at += rng.Int64N(40 * slot)
			}
			if at >= total {
				break
			}
			quanta := uint16(rng.IntN(most + 1))
			if rng.IntN(5) == 0 {
				quanta = 0
			}
			f.pfc(at, 0, 1, 3, quanta)
			for i := at; i < min(until, total); i++ {
				paused[i] = false
			}
			if at > until {
				cuts[at] = true
			}
			until = at + 10*int64(quanta)
			for i := at; i < min(until, total); i++ {
				paused[i] = true
			}
		}
		r := f.Close(total)
		var want [][2]int64
		sum := int64(0)
		for i := int64(0); i < total; i++ {
			if !paused[i] {
				continue
			}
			sum++
			if i == 0 || !paused[i-1] {
				want = append(want, [2]int64{i, 0})
			}
			want[len(want)-1][1]++
		}
		var got [][2]int64
		for _, x := range r.Intervals {
			if x.Paused > 0 {
				got = append(got, [2]int64{x.Start.Time, x.Paused})
			}
		}
		// A frame that resumes and one that stops at once are two pauses, and
		// one in the model.
		got = slices.Clip(joined(got))
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("seed %d: %s", seed, d)
		}
		if len(r.Rows) > 0 && r.Rows[0].Paused != sum {
			t.Fatalf("seed %d: paused for %d, want %d", seed, r.Rows[0].Paused, sum)
		}
		if d := cmp.Diff(modelStorms(paused[:], slot, int64(0.8*16*slot)), stormSpans(r)); d != "" {
			t.Fatalf("seed %d: %s", seed, d)
		}
		storms += len(r.Storms)
	}
	if storms < 100 {
		t.Errorf("only %d storms", storms)
	}
}

func joined(list [][2]int64) (out [][2]int64) {
	for _, x := range list {
		if n := len(out); n > 0 && out[n-1][0]+out[n-1][1] == x[0] {
			out[n-1][1] += x[1]
		} else {
			out = append(out, x)
		}
	}
	return out
}

func stormSpans(r *pause.Result) (list [][2]int64) {
	for _, s := range r.Storms {
		p := s.Priorities[0]
		list = append(list, [2]int64{p.End, p.Paused})
	}
	return list
}

// modelStorms are ends of storms, and for how long was paused in them, looked
// at in the ends of parts of a window.
func modelStorms(paused []bool, slot int, need int64) (list [][2]int64) {
	on := false
	from := 0 // a new window begins here
	lastEnd := -100 * slot * 16
	count := func(a, b int) (n int64) {
		for i := max(a, 0); i < min(b, len(paused)); i++ {
			if paused[i] {
				n++
			}
		}
		return n
	}
	end := func(b int) int64 {
		for b = min(b, len(paused)); b > 0 && !paused[b-1]; b-- {
		}
		return int64(b)
	}
	for edge := slot; edge <= len(paused); edge += slot {
		sum := count(max(edge-16*slot, from), edge)
		switch {
		case !on && sum >= need:
			on = true
			begin := max(edge-16*slot, from)
			for !paused[begin] {
				begin++
			}
			for begin > from && paused[begin-1] {
				begin--
			}
			if begin-lastEnd > 16*slot {
				list = append(list, [2]int64{})
			}
			list[len(list)-1][1] += count(begin, edge)
			list[len(list)-1][0] = end(edge)
		case on && 2*sum < need:
			n := &list[len(list)-1]
			n[1] += count(edge-slot, edge)
			n[0] = end(edge)
			on, from, lastEnd = false, edge, int(end(edge))
		case on:
			n := &list[len(list)-1]
			n[1] += count(edge-slot, edge)
			n[0] = end(edge)
		}
	}
	return list
}

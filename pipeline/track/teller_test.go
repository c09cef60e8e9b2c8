package track_test

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/cm"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/sketch"
	"github.com/rocelens/rocelens/pipeline/track"
)

// told is what was told of sessions and events.
type told struct {
	mu       sync.Mutex
	sessions map[record.FrameRef]*record.Session // as they were told last
	ends     map[record.FrameRef]record.SessionEnd
	order    []record.SessionEnd
	events   []record.Event
	wrong    []string
}

func (x *told) of(pace, idle, late int64) track.Tell {
	x.sessions, x.ends = make(map[record.FrameRef]*record.Session), make(map[record.FrameRef]record.SessionEnd)
	return track.Tell{Sessions: x.session, Events: x.event, Pace: pace, Idle: idle, Late: late}
}

func (x *told) session(u *record.SessionUpdate) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if end := x.ends[u.First]; end != record.SessionGoesOn && (end != record.SessionJoined || x.sessions[u.First] != nil) {
		x.wrong = append(x.wrong, fmt.Sprintf("%s from %d: %s after %s", u.ID, u.First.Number, u.End, end))
	}
	if u.End == record.SessionJoined {
		if x.sessions[u.First] == nil {
			x.wrong = append(x.wrong, fmt.Sprintf("%s from %d is taken back, and was not told", u.ID, u.First.Number))
		}
		delete(x.sessions, u.First)
	} else {
		x.sessions[u.First] = copied(reflect.ValueOf(u.Session)).Interface().(*record.Session)
	}
	x.ends[u.First] = u.End
	x.order = append(x.order, u.End)
}

func (x *told) event(list []record.Event) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.events = append(x.events, list...)
}

// copied is a copy that shares no memory with what it is of.
func copied(v reflect.Value) reflect.Value {
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	switch {
	case v.Type() == reflect.TypeFor[sketch.Histogram]():
		h := v.Interface().(sketch.Histogram)
		c.Set(reflect.ValueOf(h.Clone()))
	case v.Kind() == reflect.Pointer && !v.IsNil():
		c.Set(reflect.New(v.Type().Elem()))
		c.Elem().Set(copied(v.Elem()))
	case v.Kind() == reflect.Slice && !v.IsNil():
		c.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		fallthrough
	case v.Kind() == reflect.Array:
		for i := range v.Len() {
			c.Index(i).Set(copied(v.Index(i)))
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				c.Field(i).Set(copied(v.Field(i)))
			}
		}
	}
	return c
}

// list are the sessions told, in their order.
func (x *told) list() []*record.Session {
	var list []*record.Session
	for _, s := range x.sessions {
		list = append(list, s)
	}
	byFirst(list)
	return list
}

func byFirst(list []*record.Session) {
	slices.SortFunc(list, func(a, b *record.Session) int {
		return cmp.Or(cmp.Compare(a.First.Time, b.First.Time), cmp.Compare(a.First.Input, b.First.Input), cmp.Compare(a.First.Number, b.First.Number))
	})
}

// sortedEvents are events in an order that depends on what they say.
func sortedEvents(list []record.Event) []string {
	var out []string
	for i := range list {
		e := &list[i]
		detail := reflect.Indirect(reflect.ValueOf(e.Detail))
		var fields []any
		for i := range detail.NumField() {
			if v := reflect.Indirect(detail.Field(i)); v.IsValid() {
				fields = append(fields, v.Interface())
			}
		}
		out = append(out, fmt.Sprintf("%d %s/%d %v x%d %s %v", e.Time, e.Session, e.Stream, e.Frame, e.Count, e.Detail.Kind(), fields))
	}
	slices.Sort(out)
	return out
}

func runTold(t *testing.T, src func() capture.Source, workers int, tell track.Tell) *pipeline.Result {
	t.Helper()
	f := src()
	defer f.Close()
	cfg := pipeline.DefaultConfig()
	cfg.Workers, cfg.Track.Tell, cfg.Track.MaxEvents = workers, tell, 1<<30
	if tell.On() { // as a service has it
		cfg.Track.Intervals.Sink = func([]record.FlowInterval) {}
	}
	r, err := pipeline.Run(context.Background(), f, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// sessionsOf are those of a result, in the order in which told.list has them.
func sessionsOf(r *pipeline.Result) []*record.Session {
	var list []*record.Session
	for i := range r.Sessions.Len() {
		list = append(list, r.Sessions.At(i))
	}
	byFirst(list)
	return list
}

// hour is longer than any capture here.
const hour = 3_600_000_000_000

// judgeTold holds what was told against what Run returns where nothing is.
func judgeTold(t *testing.T, name string, src func() capture.Source) {
	t.Helper()
	want := runTold(t, src, 2, track.Tell{})
	sessions := sessionsOf(want)
	events := sortedEvents(want.Events)
	for _, workers := range []int{1, 2, 5} {
		var x told
		r := runTold(t, src, workers, x.of(1_000_000, hour, hour))
		for _, s := range x.wrong {
			t.Errorf("%s: %s", name, s)
		}
		if r.Sessions.Len() > 0 || len(r.Signs) > 0 {
			t.Errorf("%s: %d sessions and %d signs are left to the end", name, r.Sessions.Len(), len(r.Signs))
		}
		if diff := gocmp.Diff(sessions, x.list(), sameSums); diff != "" {
			t.Errorf("%s, %d workers: sessions (- Run, + told):\n%s", name, workers, diff)
		}
		if diff := gocmp.Diff(events, sortedEvents(append(x.events, r.Events...))); diff != "" {
			t.Errorf("%s, %d workers: events (- Run, + told):\n%s", name, workers, diff)
		}
	}
}

func sourceOf(t *testing.T, path string) func() capture.Source {
	return func() capture.Source {
		f, err := capture.Open(path, capture.DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
}

// TestTell: what is told of all captures is what Run returns where nothing is
// told, field by field, whatever the number of workers.
func TestTell(t *testing.T) {
	for i, c := range capturetest.All(t) {
		if i%underRace == 0 {
			judgeTold(t, c.Name, sourceOf(t, c.Path))
		}
	}
}

// TestTellScenarios is TestTell of simulated captures.
func TestTellScenarios(t *testing.T) {
	for i, sc := range withRoCE() {
		if i%underRace != 0 {
			continue
		}
		c := simulate(t, &sc, 1)
		judgeTold(t, sc.Name, func() capture.Source { return &reader{list: c.frames} })
	}
}

// TestTellEarly: with the usual waits, what is told of captures is the same too,
// though a part of it is told before the end. Sessions with trouble are told right after
// their events.
func TestTellEarly(t *testing.T) {
	before, troubles := 0, 0
	for i, c := range capturetest.All(t) {
		if i%underRace != 0 {
			continue
		}
		src := sourceOf(t, c.Path)
		want := runTold(t, src, 2, track.Tell{})
		var x told
		tell := x.of(0, 0, 0)
		tell.Trouble = func(u *record.SessionUpdate) {
			x.mu.Lock()
			defer x.mu.Unlock()
			troubles++
			if u.End != record.SessionGoesOn || u.AToB.Packets+u.BToA.Packets == 0 || !slices.ContainsFunc(x.events, func(e record.Event) bool { return e.Session == u.ID && e.Detail.Kind() != record.KindCE }) {
				x.wrong = append(x.wrong, fmt.Sprintf("%s is told, %s, and no event of it", u.ID, u.End))
			}
		}
		r := runTold(t, src, 2, tell)
		for _, s := range x.wrong {
			t.Errorf("%s: %s", c.Name, s)
		}
		if diff := gocmp.Diff(sessionsOf(want), x.list(), sameSums); diff != "" {
			t.Errorf("%s: sessions (- Run, + told):\n%s", c.Name, diff)
		}
		if diff := gocmp.Diff(sortedEvents(want.Events), sortedEvents(append(x.events, r.Events...))); diff != "" {
			t.Errorf("%s: events (- Run, + told):\n%s", c.Name, diff)
		}
		for _, end := range x.order {
			if end != record.SessionCaptured {
				before++
			}
		}
	}
	if least := max(20/underRace, 1); before < least || troubles < least {
		t.Errorf("%d updates, and %d of sessions with trouble, were told before the end", before, troubles)
	}
}

// feed is what a test gives a tracker, the same again each time it is called.
type feed func(tr *track.Tracker)

// tellOf is what was told of a feed, and returned at its end where nothing was.
func tellOf(t *testing.T, cfg track.Config, x *told, tell track.Tell, to feed) (sessions []*record.Session, events []record.Event, evicted uint64) {
	t.Helper()
	plain := cfg
	plain.MaxEvents = 1 << 30
	tr := track.New(plain)
	to(tr)
	list, events, _ := track.Records(plain, tr)
	for s := range list.All() {
		sessions = append(sessions, copied(reflect.ValueOf(s)).Interface().(*record.Session))
	}
	cfg.Tell = tell
	tr = track.New(cfg)
	to(tr)
	left, more, _ := track.Records(cfg, tr)
	if left.Len() > 0 || len(more) > 0 {
		t.Errorf("%d sessions and %d events are left to the end", left.Len(), len(more))
	}
	for _, s := range x.wrong {
		t.Error(s)
	}
	return sessions, events, tr.Evicted
}

// unnumber takes the numbers out of names: of lives that overlap, and no others
// do, the one that ends first has the lower number where they are told.
func unnumber(sessions []*record.Session, events []record.Event) {
	for _, s := range sessions {
		s.ID, _, _ = strings.Cut(s.ID, "#")
	}
	for i := range events {
		events[i].Session, _, _ = strings.Cut(events[i].Session, "#")
	}
}

// packetsIn are the packets in sessions.
func packetsIn(list []*record.Session) (n uint64) {
	for _, s := range list {
		n += s.AToB.Packets + s.BToA.Packets
	}
	return n
}

// TestTellChaos: of packets that follow no rule the same is told as is returned,
// and where sessions are cut where they are silent, no packet is in none.
func TestTellChaos(t *testing.T) {
	cut, joined := 0, 0
	var inSessions, inIntervals uint64
	for seed := range uint64(40 / underRace) {
		corrupt := true
		to := func(tr *track.Tracker) {
			c := newChaos(seed)
			n := uint64(0)
			for range 60 {
				list := c.packets()
				for _, p := range list {
					n++
					p.Number, p.Corrupt = n, p.Corrupt && corrupt
				}
				tr.Add(list)
			}
			tr.Close(c.now)
		}
		var x told
		sessions, events, _ := tellOf(t, track.Config{}, &x, x.of(1_000_000, hour, hour), to)
		byFirst(sessions)
		unnumber(sessions, events)
		unnumber(x.list(), x.events)
		if diff := gocmp.Diff(sessions, x.list(), sameSums); diff != "" {
			t.Fatalf("seed %d: sessions (- Records, + told):\n%s", seed, diff)
		}
		if diff := gocmp.Diff(sortedEvents(events), sortedEvents(x.events)); diff != "" {
			t.Fatalf("seed %d: events (- Records, + told):\n%s", seed, diff)
		}
		var y told
		corrupt = false // those that no flow is known of are of none
		var intervals taken
		sessions, _, _ = tellOf(t, track.Config{Intervals: intervals.of(1_000_000)}, &y, y.of(1_000_000, 20_000_000, 5_000_000), to)
		for i := range intervals.list { // of both
			inIntervals += intervals.list[i].Packets
		}
		inSessions += packetsIn(sessions) + packetsIn(y.list())
		if got, want := packetsIn(y.list()), packetsIn(sessions); got < want {
			t.Fatalf("seed %d: %d of %d packets are in sessions that were told", seed, got, want)
		}
		for _, end := range y.order {
			switch end {
			case record.SessionSilent:
				cut++
			case record.SessionJoined:
				joined++
			}
		}
		for k, end := range y.ends {
			if end == record.SessionGoesOn {
				t.Fatalf("seed %d: the session from %d was never ended", seed, k.Number)
			}
		}
	}
	if inIntervals > inSessions || inSessions-inIntervals > inSessions/100_000 { // a packet that waits while its flow is forgotten has no interval
		t.Errorf("%d packets in sessions, %d in intervals", inSessions, inIntervals)
	}
	if cut < 20 || joined == 0 {
		t.Errorf("%d sessions were cut where they were silent, %d taken back", cut, joined)
	}
}

// TestTellEvicted: what is forgotten to make room is told, each packet once.
func TestTellEvicted(t *testing.T) {
	const sessions = 20_000
	var x told
	packets := uint64(0)
	_, _, evicted := tellOf(t, track.Config{MaxMemory: 2 << 20}, &x, x.of(0, 0, 0), func(tr *track.Tracker) {
		g := newTraffic(sessions)
		packets = 0
		for range 5 * sessions / 64 {
			list := g.packets()
			tr.Add(list)
			packets += uint64(len(list))
		}
		tr.Close(g.now)
	})
	told := uint64(0)
	for _, end := range x.order {
		if end == record.SessionEvicted {
			told++
		}
	}
	if evicted == 0 || told != evicted || packetsIn(x.list()) != packets {
		t.Errorf("%d of %d sessions that were evicted were told, with %d of %d packets", told, evicted, packetsIn(x.list()), packets)
	}
}

// TestTellForEver: memory does not grow with all that ever was: sessions that end
// and others that begin, new lives of QPNs, connections, and events, while a few
// sessions stay.
func TestTellForEver(t *testing.T) {
	if underRace > 1 {
		t.Skip("memory is not what it is without the race detector")
	}
	const second = 1_000_000_000
	inUse := func(rounds int) (bytes, told uint64) {
		var updates, events uint64
		tr := track.New(track.Config{Tell: track.Tell{
			Sessions: func(*record.SessionUpdate) { updates++ }, Events: func(list []record.Event) { events += uint64(len(list)) },
			Pace: second, Idle: 5 * second, Late: second,
		}})
		one := []*track.Packet{new(track.Packet)}
		n := uint64(0)
		say := func(a, b uint64, qp, psn uint32, op decode.Opcode) {
			n++
			*one[0] = track.Packet{
				Time: int64(n) * 100_000, Number: n, Kind: decode.AddrIPv4, Version: record.V2, Src: decode.Addr{Lo: a}, Dst: decode.Addr{Lo: b}, DestQP: qp,
				PSN: psn, Opcode: op, Payload: 64, WireLen: 130, ID: uint16(n), TOS: uint8(n % 4), SrcPort: 50000,
			}
			if op == 0x64 {
				one[0].SrcQP = 77
			}
			one[0].Hash()
			tr.Add(one)
		}
		for i := range uint64(rounds) {
			a, b := 1_000+2*i, 1_001+2*i
			qp := uint32(i) & 0xffff
			ref := record.FrameRef{Number: n, Time: int64(n) * 100_000}
			conn := &cm.Conn{A: record.Endpoint{Addr: decode.Addr{Lo: a}, Kind: decode.AddrIPv4, QPN: qp + 7, HasQPN: true}, B: record.Endpoint{Addr: decode.Addr{Lo: b}, Kind: decode.AddrIPv4, QPN: qp + 8, HasQPN: true}, Version: record.V2, First: ref, Last: ref}
			conn.CM.Requested, conn.CM.Requests = ref.Time, 1
			tr.Connection(&cm.Change{What: cm.Established, Conn: conn, New: true}, ref)
			say(a, b, qp+8, 100, 0x04) // what CM told of
			say(b, a, qp+7, 100, 0x11)
			say(a, b, qp+9, 100, 0x04)                            // without a peer
			say(a, b, 0x20, 1, 0x64)                              // datagrams
			say(1, 2, 0x30+uint32(i%50), uint32(i)*200_000, 0x04) // lives of the same QPNs
			say(2, 1, 0x30+uint32(i%50), uint32(i)*200_000, 0x81)
			say(3, 4, 0x100, uint32(i), 0x04) // what stays
			say(4, 3, 0x200, uint32(i), 0x11)
			if i%5 == 0 {
				say(3, 4, 0x100, uint32(i), 0x04)
			}
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		runtime.KeepAlive(tr)
		return m.HeapAlloc, updates + events
	}
	few, _ := inUse(20_000)
	many, told := inUse(120_000)
	if many > few+few/4+2<<20 || told < 500_000 {
		t.Errorf("%d bytes in use after 20,000 rounds, %d after six times as many, %d updates and events", few, many, told)
	}
}

// TestTellTroubleInOrder: sessions with trouble are told in the order in which they had
// it, however many there are.
func TestTellTroubleInOrder(t *testing.T) {
	const second, sessions = 1_000_000_000, 500
	var told []uint32
	tr := track.New(track.Config{MaxEvents: 1 << 20, Tell: track.Tell{Trouble: func(u *record.SessionUpdate) { told = append(told, u.B.QPN) }, Late: second}})
	one := []*track.Packet{new(track.Packet)}
	n, now := uint64(0), int64(0)
	say := func(from, to uint64, qp, psn uint32, op decode.Opcode, syndrome decode.Syndrome) {
		n++
		now += 1000
		*one[0] = track.Packet{
			Time: now, Number: n, Kind: decode.AddrIPv4, Version: record.V2, Src: decode.Addr{Lo: from}, Dst: decode.Addr{Lo: to}, DestQP: qp,
			PSN: psn, Opcode: op, Syndrome: syndrome, Payload: 64, WireLen: 130, ID: uint16(n), SrcPort: 50000,
		}
		one[0].Hash()
		tr.Add(one)
	}
	const send, ack, sequence = 0x04, 0x11, 0x60
	var want []uint32
	for i := range uint32(sessions) {
		qp := 0x1000 + i*7919%sessions
		want = append(want, qp)
		for psn := range uint32(20) { // who answers whom is certain
			say(1, 2, qp, psn, send, 0)
			say(2, 1, qp+0x10000, psn, ack, 0x1f)
		}
		say(1, 2, qp, 21, send, 0) // 20 was lost
		say(2, 1, qp+0x10000, 20, ack, sequence)
		for _, psn := range []uint32{20, 21} {
			say(1, 2, qp, psn, send, 0)
			say(2, 1, qp+0x10000, psn, ack, 0x1f)
		}
	}
	for psn := range uint32(100) {
		now += second
		say(3, 4, 1, psn, send, 0)
	}
	if d := gocmp.Diff(want, told); d != "" {
		t.Errorf("sessions (- with trouble, + told):\n%s", d)
	}
}

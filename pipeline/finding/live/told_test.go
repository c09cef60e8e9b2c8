package live_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/finding/live"
	"github.com/rocelens/rocelens/pipeline/record"
)

const second = int64(time.Second)

// lossy is a session that lost so many of its packets by a time, and began long ago.
func lossy(n int, packets, lost uint64, at int64) *record.SessionUpdate {
	first := record.FrameRef{Number: uint64(n), Time: int64(n)}
	s := &record.Session{
		ID: fmt.Sprint("s", n), Service: record.RC, Version: record.V2, First: first, Last: record.FrameRef{Time: at},
		A: record.Endpoint{Addr: decode.Addr{Lo: 1}, Kind: decode.AddrIPv4, QPN: uint32(n), HasQPN: true},
		B: record.Endpoint{Addr: decode.Addr{Lo: 2}, Kind: decode.AddrIPv4, QPN: uint32(n), HasQPN: true},
	}
	d := &s.AToB
	d.Packets, d.First, d.Last = packets, 1, at
	d.Lost.BeforeTap = lost
	d.Marks = &record.Marks{Firsts: []record.FirstOfKind{{Kind: record.KindTry, Frame: record.FrameRef{Time: at}}}}
	s.BToA.Packets, s.BToA.First, s.BToA.Last = packets, 1, at
	return &record.SessionUpdate{Session: s}
}

// codes are the findings with their severities.
func codes(found []live.Found) string {
	var list []string
	for _, x := range found {
		list = append(list, x.Code+" "+x.Severity.String())
	}
	return strings.Join(list, ", ")
}

// TestOnce: what is found again and again is told when it is new, when it is worse, of
// as many others as before, and after it was gone.
func TestOnce(t *testing.T) {
	f := live.New(live.DefaultConfig())
	now := int64(0)
	packets, lost := uint64(0), make(map[int]uint64)
	const warning, critical = "lost-before-tap warning", "lost-before-tap critical"
	for i, step := range []struct {
		sessions []int
		lost     uint64
		wait     int64
		want     string
	}{
		{nil, 0, 5, ""},
		{[]int{1}, 1, 5, warning},
		{[]int{1}, 1, 5, ""},
		{[]int{1}, 200, 5, critical}, // though most of the session was well
		{[]int{1}, 200, 5, ""},
		{[]int{1}, 1, 5, ""},
		{[]int{2}, 1, 5, warning},       // one more than one
		{[]int{1, 2, 3}, 1, 5, ""},      // one more than two
		{[]int{1, 3, 4}, 1, 5, warning}, // two more
		{nil, 0, 50, ""},
		{[]int{1}, 1, 5, ""}, // a minute has not passed
		{nil, 0, 61, ""},
		{[]int{1}, 1, 5, warning},
	} {
		now += step.wait * second
		packets += 10_000
		for _, n := range step.sessions {
			lost[n] += step.lost
			f.Trouble(lossy(n, packets, lost[n], now-second))
		}
		if got := codes(f.Find(now, nil)); got != step.want {
			t.Errorf("step %d: %q, want %q", i, got, step.want)
		}
	}
}

// TestLongAgo: what a session did before it was known to have trouble does not count,
// but from the time on when it is known.
func TestLongAgo(t *testing.T) {
	f := live.New(live.DefaultConfig())
	f.Find(1000*second, nil)
	u := lossy(1, 1_000_000, 50, 1001*second)
	u.AToB.Marks.Firsts[0].Frame.Time = 500 * second
	f.Trouble(u)
	if got := codes(f.Find(1005*second, nil)); got != "" {
		t.Errorf("what was lost long ago is told: %s", got)
	}
	f.Trouble(lossy(1, 1_001_000, 51, 1006*second))
	found := f.Find(1010*second, nil)
	if codes(found) != "lost-before-tap warning" || found[0].Evidence.Get("lost") != uint64(1) {
		t.Errorf("%s %v", codes(found), found)
	}
}

// TestBounds: memory is bounded, and what did not fit is counted.
func TestBounds(t *testing.T) {
	cfg := live.DefaultConfig()
	cfg.MaxSessions, cfg.MaxEvents = 100, 10
	f := live.New(cfg)
	for n := range 1000 {
		f.Trouble(lossy(n+1, 1000, 1, int64(n)))
	}
	list := make([]record.Event, 30)
	for i := range list {
		list[i] = record.Event{Session: "s1", Detail: record.Silence{}}
	}
	f.Events(list)
	found := f.Find(second, nil)
	if len(found) != 1 || found[0].Evidence.Get("sessions_affected").(uint64) > 100 {
		t.Errorf("%v", found)
	}
	if sessions, events := f.LeftOut(); sessions < 900 || sessions > 975 || events != 20 {
		t.Errorf("%d sessions and %d events left out", sessions, events)
	}
}

// TestDrops: what the interfaces lose is told as of the time, and once.
func TestDrops(t *testing.T) {
	f := live.New(live.DefaultConfig())
	var got []string
	for i, drops := range []uint64{0, 5, 9, 9} {
		found := f.Find(int64(i+1)*5*second, []capture.Input{{Path: "eth0", Frames: 100, Drops: &drops}})
		for _, x := range found {
			got = append(got, fmt.Sprint(i, " ", x.Code, " ", x.Evidence.Get("drops")))
		}
	}
	if want := []string{"1 capture-drops 5"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestStorm: each that storms is told once, and again after a minute without.
func TestStorm(t *testing.T) {
	f := live.New(live.DefaultConfig())
	storm := func(mac byte, priority uint8, at int64, over bool) string {
		s := &record.Storm{Pauser: record.Pauser{MAC: decode.MAC{5: mac}, PFC: true, Name: "eth0"}, Priorities: []record.StormPriority{{Priority: priority, Paused: second}}, Lasted: second}
		found := f.Storm(record.Event{Time: at, Frame: record.FrameRef{Time: at}, Detail: s}, over, nil)
		f.Find(at+second, nil)
		if len(found) > 0 && (len(found[0].Storms) != 1 || !strings.Contains(found[0].Detail, "not ended yet")) {
			t.Errorf("%+v", found[0])
		}
		return codes(found)
	}
	const told = "pfc-storm critical"
	for i, step := range []struct {
		mac      byte
		priority uint8
		at       int64
		over     bool
		want     string
	}{
		{1, 3, 10, false, told},
		{1, 3, 12, true, ""},
		{1, 3, 20, false, ""},
		{2, 3, 20, false, told},
		{1, 4, 21, false, told},
		{1, 3, 70, true, ""}, // the one from 20 on
		{1, 3, 100, false, ""},
		{1, 3, 170, false, told},
	} {
		if got := storm(step.mac, step.priority, step.at*second, step.over); got != step.want {
			t.Errorf("step %d: %q, want %q", i, got, step.want)
		}
	}
}

// BenchmarkTrouble is what a session in trouble costs each second, with more of them
// than there is room for.
func BenchmarkTrouble(b *testing.B) {
	f := live.New(live.DefaultConfig())
	list := make([]*record.SessionUpdate, 10_000)
	for i := range list {
		list[i] = lossy(i+1, 10_000, 3, int64(i))
		for k := range int64(1000) {
			list[i].AToB.AckLatency.Add(k * k)
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		f.Trouble(list[i%len(list)])
	}
}

// TestOnceStepBack: when a clock was put back, what was told counts as told just before,
// and is told again once it was gone.
func TestOnceStepBack(t *testing.T) {
	f := live.New(live.DefaultConfig())
	const warning, hour = "lost-before-tap warning", 3600 * second
	now, packets := 2*hour, uint64(0)
	f.Find(now, nil)
	look := func(wait int64, want string) []live.Found {
		t.Helper()
		now += wait * second
		packets += 10_000
		f.Trouble(lossy(1, packets, packets/10_000, now-second))
		found := f.Find(now, nil)
		if got := codes(found); got != want {
			t.Errorf("at %d s: %q, want %q", now/second, got, want)
		}
		return found
	}
	look(5, warning)
	now -= hour
	f.StepBack(now)
	look(5, "")
	found := look(61, warning)
	if len(found) == 1 && (found[0].From < now-61*second || found[0].To != now) {
		t.Errorf("from %d to %d s, at %d s", found[0].From/second, found[0].To/second, now/second)
	}
}

package pause_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/pause"
	"github.com/rocelens/rocelens/pipeline/record"
)

func mac(n byte) decode.MAC { return decode.MAC{2, 5: n} }

// packet adds a packet of a flow.
func (f *feed) packet(at int64, iface int32, src, dst byte, priority int8, qpn uint32) {
	f.n++
	f.Packet(&pause.Packet{Time: at, Number: f.n, Interface: iface, Src: mac(src), Dst: mac(dst), Priority: priority, WireLen: 1000, Flow: pause.Flow{DestQP: qpn}})
}

// TestLate: a station may take some time to stop, at 100 Gbit/s 11.5 us with
// all that may be on its way. What still comes then is late.
func TestLate(t *testing.T) {
	f := newFeed(pause.DefaultConfig(), 100*gbit)
	f.packet(0, 0, 2, 1, 3, 7) // nothing is known yet
	f.pfc(1000, 0, 1, 3, 65535)
	f.packet(2000, 0, 2, 1, 3, 7)
	f.packet(12_474, 0, 2, 1, 3, 7) // 11,474 ns: 10 us and 1,474 ns for two frames
	f.packet(12_475, 0, 2, 1, 3, 7)
	f.packet(20_000, 0, 2, 1, 4, 7)                // another priority
	f.packet(20_000, 0, 2, 1, pause.NoPriority, 7) // an unknown one
	f.packet(20_000, 0, 1, 2, 3, 8)                // the other way
	f.packet(20_000, 1, 2, 1, 3, 7)                // elsewhere
	f.packet(30_000, 0, 3, 1, 3, 9)
	f.pfc(40_000, 0, 1, 3, 0)
	f.packet(50_000, 0, 2, 1, 3, 7) // goes on
	f.pfc(60_000, 0, 1, 3, 65535)
	f.packet(100_000, 0, 2, 1, 3, 7)
	f.packet(390_000, 0, 2, 1, 3, 7) // within 335,539
	f.packet(395_539, 0, 2, 1, 3, 7) // after it
	f.packet(400_000, 0, 2, 1, 3, 7) //
	r := f.Close(ms)
	want := pause.Late{Packets: 4, Pauses: 2, Longest: 330_000, First: record.FrameRef{Number: 5, Time: 12_475}, From: mac(2), Mixed: true}
	if d := cmp.Diff(want, r.Rows[0].Late); d != "" {
		t.Error(d)
	}
	traffic := []pause.Traffic{
		{Flow: pause.Flow{DestQP: 7}, Packets: 5, Bytes: 5000, First: 2000, Last: 400_000, PausedBefore: 1000, Paused: 39_000 + 335_539, Waits: 2, Waited: 27_525 + 5539},
		{Flow: pause.Flow{DestQP: 9}, Packets: 1, Bytes: 1000, First: 30_000, Last: 30_000, PausedBefore: 29_000, Paused: 29_000},
	}
	if d := cmp.Diff(traffic, r.Traffic); d != "" {
		t.Error(d)
	}
}

// TestWhoHasToPause: PAUSE stops all, and behind a switch that only forwards it
// is the direction that says who has to.
func TestWhoHasToPause(t *testing.T) {
	f := newFeed(pause.DefaultConfig(), 100*gbit)
	f.add(pause.Frame{Time: 0, MAC: mac(1), Enable: 1, Quanta: [8]uint16{65535}})
	f.packet(20_000, 0, 2, 1, pause.NoPriority, 7)
	f.packet(20_000, 0, 2, 9, pause.NoPriority, 8) // to a station behind 1, for all that is known
	f.pfc(21_000, 0, 2, 3, 100)                    // 2 is the other end
	f.packet(22_000, 0, 2, 9, pause.NoPriority, 8)
	f.packet(22_000, 0, 9, 2, pause.NoPriority, 6) // from there
	f.pfc(23_000, 0, 5, 3, 100)                    // and 5: this is no link
	f.packet(24_000, 0, 2, 9, pause.NoPriority, 8)
	r := f.Close(100_000)
	if len(r.Traffic) != 2 || r.Traffic[0].Flow.DestQP != 7 || r.Traffic[0].Packets != 1 || r.Traffic[1].Flow.DestQP != 8 || r.Traffic[1].Packets != 1 {
		t.Errorf("%+v", r.Traffic)
	}
	if l := r.Rows[0].Late; l.Packets != 2 {
		t.Errorf("%+v", l)
	}
}

// TestTrafficBounds: there may be any number of flows and stations.
func TestTrafficBounds(t *testing.T) {
	f := newFeed(pause.DefaultConfig(), 100*gbit)
	f.pfc(0, 0, 1, 3, 65535)
	for i := range uint32(10_000) {
		f.packet(1000, 0, 2, 1, 3, i)
	}
	for i := range int32(10_000) {
		f.packet(1000, i, 2, byte(i), 3, 5)
	}
	r := f.Close(ms)
	if len(r.Traffic) != 4096 || r.TrafficLeftOut != 10_000-4096 {
		t.Errorf("%d flows, %d packets left out", len(r.Traffic), r.TrafficLeftOut)
	}
}

// chain is a receiver 1 that pauses 2 at one link, which pauses 3 at another
// while it is paused.
func chain(f *feed, second int32, sender byte) {
	for i := range int64(4) {
		at := i * ms
		f.pfc(at, 0, 1, 3, 65535)
		f.pfc(at+10*us, second, sender, 3, 65535)
		f.pfc(at+200*us, 0, 1, 3, 0)
		f.pfc(at+220*us, second, sender, 3, 0)
	}
}

// TestSpreads: only where something proves that the one who is paused is the
// one who pauses.
func TestSpreads(t *testing.T) {
	for _, c := range []struct {
		name string
		feed func(f *feed)
		want int
	}{
		{"nothing says who is at the other end", func(f *feed) { chain(f, 1, 2) }, 0},
		{"packets", func(f *feed) { chain(f, 1, 2); f.packet(5*ms, 0, 2, 1, 3, 7) }, 1},
		{"packets the other way", func(f *feed) { chain(f, 1, 2); f.packet(5*ms, 0, 1, 2, 3, 7) }, 1},
		{"packets of others", func(f *feed) { chain(f, 1, 2); f.packet(5*ms, 0, 3, 1, 3, 7) }, 0},
		{"packets that pass both links", func(f *feed) { chain(f, 1, 2); f.packet(5*ms, 0, 2, 1, 3, 7); f.packet(5*ms, 1, 2, 1, 3, 7) }, 0},
		{"it sends PFC there as well", func(f *feed) { chain(f, 1, 2); f.pfc(5*ms, 0, 2, 5, 0) }, 1},
		{"one link, captured twice", func(f *feed) {
			chain(f, 1, 2)
			f.pfc(5*ms, 0, 2, 5, 0)
			f.pfc(5*ms, 1, 1, 5, 0)
		}, 0},
		{"the same link", func(f *feed) { chain(f, 0, 2); f.packet(5*ms, 0, 2, 1, 3, 7) }, 0},
		{"the same station", func(f *feed) { chain(f, 1, 1); f.packet(5*ms, 0, 2, 1, 3, 7) }, 0},
		{"mostly at other times", func(f *feed) {
			chain(f, 1, 2)
			f.packet(5*ms, 0, 2, 1, 3, 7)
			for i := range int64(5) {
				f.pfc(10*ms+i*ms, 1, 2, 3, 100)
			}
		}, 0},
	} {
		f := newFeed(pause.DefaultConfig(), 100*gbit)
		c.feed(f)
		if r := f.Close(20 * ms); len(r.Spreads) != c.want {
			t.Errorf("%s: %+v", c.name, r.Spreads)
		}
	}
}

// TestAllocations: none for a frame or a packet, once all are known.
func TestAllocations(t *testing.T) {
	cfg := pause.DefaultConfig()
	cfg.MaxIntervals = 0
	f := newFeed(cfg, 100*gbit)
	at := int64(0)
	step := func() {
		at += 50 * us
		f.pfc(at, 0, 1, 3, 65535)
		f.packet(at+us, 0, 2, 1, 3, 7)
		f.pfc(at+10*us, 0, 1, 3, 0)
	}
	step()
	if n := testing.AllocsPerRun(1000, step); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestWaits: a pause interrupts a flow that sends right up to it and right
// after it.
func TestWaits(t *testing.T) {
	for _, c := range []struct {
		name   string
		end    int64
		sent   []int64 // ns; paused are 100 to 200 us and 1,000 to 1,300 us
		resume bool    // the second pause ends
		want   pause.Traffic
	}{
		{"at a steady pace", 2 * ms, []int64{101 * us, 201 * us, 250 * us, 990 * us, 1310 * us}, true, pause.Traffic{Waits: 2, Waited: 99*us + 300*us}},
		{"began meanwhile", 2 * ms, []int64{150 * us, 210 * us, 990 * us, 1310 * us}, true, pause.Traffic{Waits: 2, Waited: 50*us + 300*us}},
		{"began after it", 2 * ms, []int64{210 * us, 990 * us, 1310 * us}, true, pause.Traffic{Waits: 1, Waited: 300 * us, Opening: 100 * us}},
		{"began long after it", 2 * ms, []int64{310 * us, 1310 * us}, true, pause.Traffic{}},
		{"had ended long before", 2 * ms, []int64{210 * us, 690 * us, 1310 * us}, true, pause.Traffic{Opening: 100 * us}},
		{"went on long after", 2 * ms, []int64{210 * us, 990 * us, 1610 * us}, true, pause.Traffic{Opening: 100 * us}},
		{"until the capture ends", 1300 * us, []int64{210 * us, 1005 * us}, false, pause.Traffic{Waits: 1, Waited: 295 * us, Stopped: true, Opening: 100 * us}},
		{"long before it ended", 1300 * us, []int64{210 * us, 300 * us}, false, pause.Traffic{Opening: 100 * us}},
		{"does not wait", 1300 * us, []int64{210 * us, 990 * us, 1100 * us, 1200 * us, 1299 * us}, true, pause.Traffic{Opening: 100 * us, Waits: 1, Waited: us, Stopped: true}},
	} {
		f := newFeed(pause.DefaultConfig(), 100*gbit)
		frames := [][2]int64{{100 * us, 65535}, {200 * us, 0}, {1000 * us, 65535}, {1300 * us, 0}}
		if !c.resume {
			frames = frames[:3]
		}
		for _, at := range c.sent {
			for len(frames) > 0 && frames[0][0] <= at {
				f.pfc(frames[0][0], 0, 1, 3, uint16(frames[0][1]))
				frames = frames[1:]
			}
			f.packet(at, 0, 2, 1, 3, 7)
		}
		got := f.Close(c.end).Traffic[0]
		if got.Waits != c.want.Waits || got.Waited != c.want.Waited || got.Stopped != c.want.Stopped || got.Opening != c.want.Opening {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/pause"
	"github.com/rocelens/rocelens/pipeline/record"
)

// TestColors: by severity.
func TestColors(t *testing.T) {
	in, c := base()
	bad(c, 999, 1, record.FrameRef{Number: 1, Time: c.First})
	in[0].Damage = &capture.DamagedError{Path: "a.pcap", Reason: "cut"}
	c.Flags[0], c.Truncated = 10, 10
	got := render(t, in, c, Options{Color: true})
	for _, s := range []string{red + "critical  [icrc-bad] 1 packet has", yellow + "warning   [input-damaged] a.pcap: damaged at byte 0: cut." + plain + "\n          This", cyan + "info      [truncated] 10 packets cut short"} {
		if !strings.Contains(got, s) {
			t.Errorf("%q is missing in\n%q", s, got)
		}
	}
}

// TestPauses: who pauses whom is a table, and 0 frames are said to be 0.
func TestPauses(t *testing.T) {
	in, c := base()
	if got := render(t, in, c, Options{}); !strings.Contains(got, "0 PFC, 0 PAUSE") || strings.Contains(got, "Pause sent by") {
		t.Errorf("without a frame:\n%s", got)
	}
	in[0].Interfaces = []capture.Interface{{}, {Name: "mirror0"}}
	c.Kinds[decode.KindPFC], c.Kinds[decode.KindPause] = 4, 1
	at := func(iface int32, mac byte, pfc bool) record.Pauser {
		return record.Pauser{Interface: iface, MAC: decode.MAC{2, 5: mac}, PFC: pfc}
	}
	c.Pause.Rows = []pause.Row{
		{Pauser: at(0, 1, false), XOff: 1, QuantaMax: 65535, QuantaSum: 65535},
		{
			Pauser: at(1, 2, true), Priority: 3, XOff: 3, XOn: 1, QuantaMax: 500, QuantaSum: 700, Speed: 100_000_000_000, Pauses: 2, Expired: 1,
			Paused: 2_560, Longest: 2_000,
		},
		{Pauser: at(2, 2, true), Priority: 4, XOn: 1, Speed: 100_000_000_000},
	}
	c.Pause.LeftOut = 2
	got := flat(render(t, in, c, Options{}))
	want := "Pause sent by priority stop go on paused share 02:00:00:00:00:02 at mirror0 3 3 1 2.6 µs <0.1 % 02:00:00:00:00:02 at 2 4 0 1 0 ns 0.0 % " +
		"02:00:00:00:00:01 at 0 all 1 0 - - 2 frames of senders beyond those that are told apart -: how long depends on the speed of the link, which the " +
		"capture does not say: give it with --link-speed. The longest time asked for is 65,535 quanta of 512 bit times."
	if !strings.Contains(got, want) {
		t.Errorf("%q is not in\n%s", want, got)
	}
	priority := uint8(3)
	r := made(in, c)
	speed, two, one, paused, longest, part, none := uint64(100_000_000_000), uint64(2), uint64(1), int64(2560), int64(2000), 2560/2.5e9, uint64(0)
	if d := cmp.Diff(Pause{
		Interface: "mirror0", SrcMAC: "02:00:00:00:00:02", Type: "pfc", Priority: &priority, Frames: 4, XOff: 3, XOn: 1, QuantaSum: 700, QuantaMax: 500,
		Speed: &speed, Pauses: &two, Expired: &one, PausedNS: &paused, LongestNS: &longest, Share: &part, Storms: &none,
	}, r.Pause[1]); d != "" {
		t.Error(d)
	}
	if r.Pause[0].Type != "802.3x" || r.Pause[0].Priority != nil || r.Pause[0].PausedNS != nil || r.PauseLeftOut != 2 {
		t.Errorf("%+v, %d left out", r.Pause[0], r.PauseLeftOut)
	}
}

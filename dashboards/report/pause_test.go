package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
)

// TestColors: by severity.
func TestColors(t *testing.T) {
	in, c := base()
	bad(c, 999, 1, record.FrameRef{Number: 1, Time: c.First})
	in[0].Damage = &capture.DamagedError{Path: "a.pcap", Reason: "cut"}
	c.Flags[0], c.Truncated = 10, 10
	got := render(t, in, c, Options{Color: true})
	for _, s := range []string{red + "! 1 packet has", yellow + "! a.pcap: damaged at byte 0: cut." + plain + "\n  This", cyan + "! 10 packets cut short"} {
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
	c.Pauses.N = 3
	c.Pauses.Rows[0] = pipeline.Pause{MAC: decode.MAC{2, 5: 1}, XOff: 1, QuantaMax: 65535, QuantaSum: 65535}
	c.Pauses.Rows[1] = pipeline.Pause{Interface: 1, MAC: decode.MAC{2, 5: 2}, PFC: true, Priority: 3, XOff: 3, XOn: 1, QuantaMax: 500, QuantaSum: 700}
	c.Pauses.Rows[2] = pipeline.Pause{Interface: 2, MAC: decode.MAC{2, 5: 2}, PFC: true, Priority: 4, XOn: 1}
	c.Pauses.Other.XOff = 2
	got := flat(render(t, in, c, Options{}))
	want := "Pause sent by priority stop go on longest/quanta 02:00:00:00:00:02 at mirror0 3 3 1 500 02:00:00:00:00:01 at 0 all (802.3x) 1 0 65,535 " +
		"02:00:00:00:00:02 at 2 4 0 1 0 2 frames of senders beyond those that are told apart"
	if !strings.Contains(got, want) {
		t.Errorf("%q is not in\n%s", want, got)
	}
	priority := uint8(3)
	r := made(in, c)
	if d := cmp.Diff(Pause{
		Interface: "mirror0", SrcMAC: "02:00:00:00:00:02", Type: "pfc", Priority: &priority, Frames: 4, XOff: 3, XOn: 1, QuantaSum: 700, QuantaMax: 500,
	}, r.Pause[1]); d != "" {
		t.Error(d)
	}
	if r.Pause[0].Type != "802.3x" || r.Pause[0].Priority != nil || r.PauseLeftOut != 2 {
		t.Errorf("%+v, %d left out", r.Pause[0], r.PauseLeftOut)
	}
}

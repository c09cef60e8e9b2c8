package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
)

// TestMirrors: what the numbers of mirrors say, and where they say nothing.
func TestMirrors(t *testing.T) {
	in, c := base()
	if r := made(in, c); r.Capture.MirrorMissing != nil || r.Capture.Mirrors != nil || strings.Contains(render(t, in, c, Options{}), "Mirror ") {
		t.Errorf("without a mirror: %+v", r.Capture)
	}
	whole := pipeline.Mirror{
		Src: decode.Addr{Lo: 0xffff_c0000201}, Dst: decode.Addr{Lo: 0xffff_c0000202}, Kind: decode.AddrIPv4, Version: 3, Session: 7, Hardware: 5, Frames: 600, Known: true,
	}
	gaps, no := whole, whole
	gaps.Session, gaps.Frames, gaps.Missing, gaps.Gaps, gaps.Late, gaps.Repeated, gaps.Restarts, gaps.FirstGap = 8, 390, 10, 2, 3, 4, 1, record.FrameRef{Number: 9}
	no.Session, no.Known, no.Missing, no.Gaps = 9, false, 99, 99
	for say, list := range map[string][]pipeline.Mirror{
		"Mirror 1 mirror session, no gap in the sequence numbers Truncated":                                                    {whole},
		"Mirror 2 mirror sessions, 10 frames missing by the sequence numbers (1.0 %) Truncated":                                {whole, gaps},
		"Mirror 3 mirror sessions, 10 frames missing by the sequence numbers (1.0 %); those of 1 don't count frames Truncated": {whole, gaps, no},
		"Mirror 1 mirror session, whose sequence numbers don't count frames: not known what was lost on the way Truncated":     {no},
	} {
		c.Mirrors.Rows = list
		if got := flat(render(t, in, c, Options{})); !strings.Contains(got, say) {
			t.Errorf("%q is missing in\n%s", say, got)
		}
	}
	c.Mirrors.Rows = []pipeline.Mirror{gaps, no}
	r := made(in, c).Capture
	missing := uint64(10)
	if d := cmp.Diff([]Mirror{
		{
			Src: "192.0.2.1", Dst: "192.0.2.2", Version: 3, Session: 8, Hardware: 5, Packets: 390, Missing: &missing, Gaps: 2, Late: 3, Repeated: 4, Restarts: 1,
			FirstGap: &Frame{Number: 9},
		},
		{Src: "192.0.2.1", Dst: "192.0.2.2", Version: 3, Session: 9, Hardware: 5, Packets: 600},
	}, r.Mirrors); d != "" || *r.MirrorMissing != 10 {
		t.Error(d)
	}
	c.Mirrors.Unplaced = 5
	if got := flat(render(t, in, c, Options{})); !strings.Contains(got, "(2.5 %); those of 1 don't count frames; 5 frames of sessions beyond those that are told apart") {
		t.Error(got)
	}
	c.Mirrors.Rows = []pipeline.Mirror{no}
	if r := made(in, c).Capture; r.MirrorMissing != nil {
		t.Errorf("%d missing", *r.MirrorMissing)
	}
}

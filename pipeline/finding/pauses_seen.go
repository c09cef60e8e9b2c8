package finding

import (
	"slices"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
)

// pauseZeroMAC says where pauses come from nobody: a station without an
// address of its own is broken.
func pauseZeroMAC(f *Facts) []record.Finding {
	list := []record.Evidence{}
	var first record.FrameRef
	var frames, stops uint64
	var names []string
	global := false
	for i := range f.Pause.Rows {
		r := &f.Pause.Rows[i]
		if r.MAC != (decode.MAC{}) {
			continue
		}
		if frames == 0 || r.First.Before(first) {
			first = r.First
		}
		n := r.XOff + r.XOn
		frames, stops = frames+n, stops+r.XOff
		global = global || !r.PFC
		if name := f.place(&r.Pauser); !slices.Contains(names, name) {
			names = append(names, name)
		}
		if len(list) < maxListed {
			list = append(list, append(f.rowEvidence(r), record.Evidence{{Key: "frames", Value: n}, {Key: "xoff", Value: r.XOff}}...))
		}
	}
	if frames == 0 {
		return nil
	}
	what := "PFC"
	if global {
		what = "PAUSE"
	}
	return one(record.Finding{
		Severity: record.Warning, Code: "pause-zero-mac",
		Title: what + " frames at " + listed(names) + " have the source address 00:00:00:00:00:00: whoever sends them is broken",
		Detail: "A station puts its own address there. Frames like these are known of a USB network adapter that flooded its switch with them. The other end of the link obeys them all the same, so that they count here " +
			"as of a sender of their own. The address does not lead to who it is: look at which port of the switch counts received pause frames, and at what is connected to it. A port that need not obey " +
			"should have the reception of flow control off.",
		Evidence: record.Evidence{{Key: "frames", Value: frames}, {Key: "xoff", Value: stops}, {Key: "rows", Value: list}, {Key: "first", Value: first}},
	})
}

// pauseAsks are the findings after which a reader asks for PFC: losses that it
// should have prevented, and waits that it may be the cause of.
var pauseAsks = [...]string{"lost-before-tap", "lost-after-tap", "ack-timeout", "silence", "incast", "congested", "uc-ud-missing"}

// pfcNotVisible says that the capture has no frame of flow control, where what
// else was found makes one look for it.
func pfcNotVisible(f *Facts, all []record.Finding) []record.Finding {
	roce := f.Kind(decode.KindRoCEv1) + f.Kind(decode.KindRoCEv2)
	if roce == 0 || f.Kind(decode.KindPFC)+f.Kind(decode.KindPause) > 0 {
		return nil
	}
	if !slices.ContainsFunc(all, func(x record.Finding) bool { return slices.Contains(pauseAsks[:], x.Code) }) {
		return nil
	}
	return one(record.Finding{
		Severity: record.Info, Code: "pfc-not-visible",
		Title: "No PFC or PAUSE frame is visible at this tap, which does not mean that there were none",
		Detail: "NICs and switch ports take these frames out, and mirrors rarely pass them on: whether senders were paused, or PFC is on for this traffic, does not show here. Read the pause counters of its " +
			"priority at NICs and switch ports, or capture on the link itself.",
		Evidence: record.Evidence{{Key: "packets", Value: roce}},
	})
}

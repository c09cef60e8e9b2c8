package annotate_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/capture/frametest"
	"github.com/rocelens/rocelens/dashboards/annotate"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/track"
)

// comments are those on each frame of a capture.
func comments(t *testing.T, name string) map[uint64][]string {
	t.Helper()
	path := capturetest.Get(t, name).Path
	src, err := capture.Open(path, capture.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	cfg := pipeline.DefaultConfig()
	cfg.Track.Notes = track.NewNotes()
	r, err := pipeline.Run(context.Background(), src, cfg)
	if err != nil {
		t.Fatal(err)
	}
	a := annotate.New(r, cfg.Track.Notes, src.Inputs()[0].Frames)
	all := make(map[uint64][]string)
	d := decode.New(decode.DefaultConfig())
	var p decode.Packet
	frametest.Each(t, path, func(f *capture.Frame) {
		d.Decode(f, &p)
		d.VerifyICRC(&p)
		if c := a.Of(&p); c != nil {
			all[f.Number] = c
		}
	})
	return all
}

// TestComments: what frames have to say. Numbers of frames and PSNs are those
// that tshark shows.
func TestComments(t *testing.T) {
	for _, c := range []struct {
		name  string
		frame uint64
		want  string // several with a | between them
	}{
		{"loss_before_write_1pct", 34, ""},
		{"loss_before_write_1pct", 35, "rocelens nak: NAK from 10.10.0.2: PSN 16224848 is missing, 238.6 µs after the first packet out of order; 67 packets sent again on it, in frames 102 to 172 [v2:10.10.0.1/0x64-10.10.0.2/0x8c]"},
		{"loss_before_write_1pct", 102, "rocelens try: 10.10.0.1 sends again from PSN 16224848 on the NAK, 4.4 ms after it: 67 packets, 65 of them had passed before; lost before this tap (2 packets); frames 102 to 172, asked for in frame 35 [v2:10.10.0.1/0x64-10.10.0.2/0x8c]" +
			"|rocelens episode: 10.10.0.1 had sent everything again up to PSN 16224916 after 11.7 ms: 67 packets, 2 lost [v2:10.10.0.1/0x64-10.10.0.2/0x8c]" +
			"|rocelens retransmission: PSN 16224848 sent again, and never seen here before: lost before this tap; try 1 on a NAK; frames 102 to 172, asked for in frame 35 [v2:10.10.0.1/0x64-10.10.0.2/0x8c]"},
		{"loss_before_write_1pct", 103, "rocelens retransmission: PSN 16224849 sent again, though it had passed here just before, in frame 34; try 1 on a NAK; frames 102 to 172, asked for in frame 35 [v2:10.10.0.1/0x64-10.10.0.2/0x8c]"},
		{"rnr_until_posted", 18, "rocelens rnr nak: 10.10.0.2 was not ready for PSN 8664707 (RNR NAK): wait 640.0 µs; 16 packets sent again on it, in frames 29 to 44 [v2:10.10.0.1/0x82-10.10.0.2/0xaa]"},
		{"rnr_until_posted", 19, "rocelens nak: NAK from 10.10.0.2 for PSN 8664707, which repeats the RNR NAK [v2:10.10.0.1/0x82-10.10.0.2/0xaa]"},
		{"corrupt_send_acks", 158, "rocelens try: 10.10.0.2 sends again from PSN 3888021 on the NAK, 419.6 µs after it: 2 packets, 1 of them had passed before; lost before this tap; frames 158 to 159, asked for in frame 157 [v2:10.10.0.1/0x77-10.10.0.2/0x9f]|rocelens episode: 10.10.0.2 had sent everything again up to PSN 3888022 after 779.5 µs: 2 packets, 1 lost [v2:10.10.0.1/0x77-10.10.0.2/0x9f]|rocelens retransmission: PSN 3888021 sent again, and seen here before with a wrong ICRC alone, in frame 155; try 1 on a NAK; frames 158 to 159, asked for in frame 157 [v2:10.10.0.1/0x77-10.10.0.2/0x9f]"},
		{"corrupt_send_acks", 107, "rocelens corrupt: wrong ICRC, PSN 3888008 as the packet says, 0xcdc2b0d8 instead of 0xf45e641c [v2:10.10.0.1/0x77-10.10.0.2/0x9f]"},
		{"ecn_ce_with_synthetic_cnp", 14, "rocelens ce: PSN 13202005 from 10.10.0.1 is marked: congestion [v2:10.10.0.1/0x13-10.10.0.2/0x13]"},
		{"formats_write_onlyin", 17, "rocelens nak: NAK, PSN sequence error for PSN 5032505 [v2:10.10.0.1/0xc9-10.10.0.2/?]"},
		{"nak_remote_access_atomic", 21, "rocelens nak: 10.10.0.2 refused PSN 14333646 for good: remote access error, drawn by RC FETCH ADD in frame 20 [v2:10.10.0.1/0x8d-10.10.0.2/0xb5]" +
			"|rocelens failed: that ended it: 10.10.0.2 refused a request (remote access error) [v2:10.10.0.1/0x8d-10.10.0.2/0xb5]"},
	} {
		if got := strings.Join(comments(t, c.name)[c.frame], "|"); got != c.want {
			t.Errorf("%s frame %d:\n is %s\nnot %s", c.name, c.frame, got, c.want)
		}
	}
}

// TestTimeouts: a packet that is sent again on a timeout says after what
// silence.
func TestTimeouts(t *testing.T) {
	all := comments(t, "loss_before_write_1pct")
	found := false
	for _, list := range all {
		for _, c := range list {
			found = found || strings.HasPrefix(c, "rocelens retransmission: PSN ") && strings.Contains(c, "; try 1 on a timeout, after ") && strings.Contains(c, " of silence; frame")
		}
	}
	if !found {
		t.Errorf("none of %d comments says so", len(all))
	}
}

func TestPauses(t *testing.T) {
	by := record.Pauser{MAC: decode.MAC{2, 0, 0, 0, 0, 9}, PFC: true}
	r := &pipeline.Result{Events: []record.Event{
		{Frame: record.FrameRef{Number: 1}, Count: 1, Detail: &record.Pauses{Pauser: by, Priority: 3, Paused: 30_000}},
		{Frame: record.FrameRef{Number: 2}, Count: 4, Detail: &record.Pauses{Pauser: by, Priority: 3, Paused: 90_000, Lasted: 200_000, Longest: 30_000}},
		{Frame: record.FrameRef{Number: 3}, Count: 1, Detail: &record.Storm{Pauser: by, Lasted: 500_000_000, Priorities: []record.StormPriority{
			{Priority: 3, Paused: 480_000_000}, {Priority: 4, Paused: 470_000_000}}}},
		{Frame: record.FrameRef{Number: 4}, Count: 1, Detail: &record.Pauses{Pauser: record.Pauser{MAC: by.MAC}, Paused: 30_000}},
	}}
	a := annotate.New(r, track.NewNotes(), 4)
	for i, want := range []string{
		"rocelens pause: 02:00:00:00:00:09 pauses priority 3 for 30.0 µs",
		"rocelens pause: 02:00:00:00:00:09 pauses priority 3 for 90.0 µs in 4 pauses within 200.0 µs, the longest of 30.0 µs",
		"rocelens storm: 02:00:00:00:00:09 begins a pause storm of 500.0 ms: priority 3 480.0 ms, priority 4 470.0 ms; it goes on when the capture ends",
		"rocelens pause: 02:00:00:00:00:09 pauses all traffic for 30.0 µs",
	} {
		var p decode.Packet
		decode.New(decode.DefaultConfig()).Decode(&capture.Frame{Number: uint64(i + 1)}, &p)
		if diff := cmp.Diff([]string{want}, a.Of(&p)); diff != "" {
			t.Errorf("frame %d (- wanted): %s", i+1, diff)
		}
	}
}

func TestOverview(t *testing.T) {
	r := &pipeline.Result{Counters: pipeline.Counters{Packets: 3824}, Sessions: record.SessionsOf(record.Session{})}
	if got, want := annotate.Overview("rocelens 1", r, nil), "rocelens 1: 3,824 packets, 1 session. Nothing is wrong as far as the packets show."; got != want {
		t.Errorf("is %q", got)
	}
	r.Events = []record.Event{{Count: 1, Detail: &record.Try{}}, {Count: 20, Detail: record.RNRNak{}}}
	r.EventsLeftOut = 7
	got := annotate.Overview("rocelens 1", r, []record.Finding{
		{Severity: record.Critical, Code: "go-back-n", Title: "10.0.0.1 sent 8 packets again", Evidence: record.Evidence{{Key: "first", Value: record.FrameRef{Number: 102}}}},
		{Severity: record.Info, Code: "one-sided", Title: "one direction"},
	})
	want := `rocelens 1: 3,824 packets, 1 session, 2 findings:
critical go-back-n: 10.0.0.1 sent 8 packets again. First: frame 102.
info one-sided: one direction.
Events: 20 rnr nak, 1 try. 7 more were left out.
Each packet of an event has a comment; the display filter frame.comment contains "rocelens try" finds the beginnings of retransmissions.`
	if got != want {
		t.Errorf("is %s", got)
	}
}

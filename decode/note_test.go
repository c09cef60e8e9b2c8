package decode_test

import (
	"strings"
	"testing"

	"github.com/rocelens/rocelens/decode"
)

// TestNoteText says what is notable in a few words, and nothing of the rest.
func TestNoteText(t *testing.T) {
	for want, n := range map[string]decode.Note{
		"": {Session: "v2:10.0.0.1/0x11-10.0.0.2/0x12", Role: decode.RoleRequest, Verdict: decode.VerdictNew, Pass: 3, Flags: decode.NoteAckLatency},
		"fill, steps back, try 2 (timeout, before_tap)": {
			Role: decode.RoleRequest, Verdict: decode.VerdictFill, Try: 2, Cause: decode.CauseTimeout, Place: decode.PlaceBeforeTap, Flags: decode.NoteFirstOfTry,
		},
		"duplicate by the capture":      {Verdict: decode.VerdictCopy},
		"duplicate by the network":      {Verdict: decode.VerdictCopy, Flags: decode.NoteByNetwork},
		"late":                          {Verdict: decode.VerdictLate},
		"corrupt":                       {Verdict: decode.VerdictCorrupt},
		"breaks dma_length":             {Verdict: decode.VerdictNew, Rule: "dma_length"},
		"refusal":                       {Role: decode.RoleNak, Flags: decode.NoteRefusal},
		"names a packet that went by":   {Role: decode.RoleNak, Flags: decode.NoteNamesLoss},
		"repeat, try 1 (rnr, refused)":  {Verdict: decode.VerdictRepeat, Try: 1, Cause: decode.CauseRNR, Place: decode.PlaceRefused},
		"repeat, try 1 (read, unknown)": {Verdict: decode.VerdictRepeat, Try: 1, Cause: decode.CauseRead, Place: decode.PlaceUnknown},
	} {
		if got := string(n.AppendText(nil)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestNoteFields: without a note none of its fields is there; with one, what
// is not so is not there.
func TestNoteFields(t *testing.T) {
	f := frame(etherIP(udpPacket(pairV4, writeMiddle(64))))
	d := decode.New(decode.DefaultConfig())
	var p decode.Packet
	d.Decode(&f, &p)
	show := func(n *decode.Note) string {
		x := decode.Extra{Note: n}
		var lines []string
		for _, f := range decode.Fields() {
			if values := f.Append(nil, &x, &p); f.OfNote && len(values) > 0 {
				if !f.Ours || !strings.HasPrefix(f.Name, "rocelens.") {
					t.Errorf("%s is of a note", f.Name)
				}
				lines = append(lines, strings.TrimPrefix(f.Name, "rocelens.")+"="+string(f.AppendRaw(nil, &values[0])))
			}
		}
		tree := decode.AppendTree(nil, &x, &p)
		shown := 0
		for i := range tree {
			if tree[i].Field != nil && tree[i].Field.OfNote {
				shown++
			}
		}
		if shown != len(lines) {
			t.Errorf("%d fields, %d in the tree", len(lines), shown)
		}
		return strings.Join(lines, " ")
	}
	for want, n := range map[string]*decode.Note{
		"": nil,
		"session=s stream=b role=request verdict=new pass=2": {Session: "s", Stream: 1, Role: decode.RoleRequest, Verdict: decode.VerdictNew, Pass: 2},
		"session=s stream=a role=request verdict=repeat retransmission=1 wasted=1 pass=1 try=1 try.first=1 cause=nak place=after_tap mode=go_back_n silence=0.000001500": {
			Session: "s", Role: decode.RoleRequest, Verdict: decode.VerdictRepeat, Pass: 1, Try: 1, Cause: decode.CauseNak, Place: decode.PlaceAfterTap,
			Mode: decode.ModeGoBackN, Silence: 1500, Flags: decode.NoteFirstOfTry | decode.NoteWasted,
		},
		"role=request verdict=late late=1 pass=0":                  {Role: decode.RoleRequest, Verdict: decode.VerdictLate},
		"role=response verdict=duplicate duplicate=network":        {Role: decode.RoleResponse, Verdict: decode.VerdictCopy, Flags: decode.NoteByNetwork},
		"role=ack verdict=other ack_latency=0.000000000":           {Role: decode.RoleAck, Flags: decode.NoteAckLatency},
		"role=nak verdict=other names_loss=1 message_latency=1.25": {Role: decode.RoleNak, Flags: decode.NoteNamesLoss | decode.NoteMessageLatency, MessageLatency: 1_250_000_000},
		"role=nak verdict=other refusal=1":                         {Role: decode.RoleNak, Flags: decode.NoteRefusal},
		"role=cnp verdict=other":                                   {Role: decode.RoleCNP},
	} {
		if got := strings.ReplaceAll(show(n), "1.250000000", "1.25"); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

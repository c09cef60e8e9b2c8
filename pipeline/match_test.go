package pipeline_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/decode/filter"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/track"
)

// matched runs the pipeline on a capture, and says what of it matches filters.
func matched(t *testing.T, name string, exprs ...string) (*pipeline.Result, []*pipeline.Matching) {
	t.Helper()
	cfg := pipeline.DefaultConfig()
	cfg.Track.Notes = track.NewNotes()
	r, err := pipeline.Run(context.Background(), open(t, name), cfg)
	if err != nil {
		t.Fatal(err)
	}
	var all []*pipeline.Matching
	for _, expr := range exprs {
		f, err := filter.Compile(expr, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		m, err := pipeline.Match(context.Background(), open(t, name), &cfg, f, cfg.Track.Notes, r)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return r, all
}

// TestMatchAll: what matches a filter that everything matches is everything,
// the sessions of connection management alone too, and what matches a filter
// and its negation is everything together.
func TestMatchAll(t *testing.T) {
	names := mixed
	if testing.Short() {
		names = names[:3]
	}
	for _, name := range append(names, "rdmacm_reject", "rdmacm_cmtime", "rc_bidir_mixed_8qp", "any_sll2_with_mirror_duplicates", "duplicate_write") {
		r, all := matched(t, name, "frame", "infiniband.bth.psn % 3 == 0 && !vlan", "!(infiniband.bth.psn % 3 == 0 && !vlan)")
		whole, one, other := all[0], all[1], all[2]
		if whole.Counters != r.Counters {
			t.Errorf("%s: %s", name, cmp.Diff(r.Counters, whole.Counters))
		}
		sum := one.Counters
		sum.Merge(&other.Counters)
		if sum != r.Counters {
			t.Errorf("%s: in two parts: %s", name, cmp.Diff(r.Counters, sum))
		}
		if one.Copies+other.Copies != whole.Copies {
			t.Errorf("%s: %d + %d copies of %d", name, one.Copies, other.Copies, whole.Copies)
		}
		if d := r.Duplicates; d.Decided() && d.Capture != whole.Copies {
			t.Errorf("%s: %d copies, the engine found %d", name, whole.Copies, d.Capture)
		}
		ids := map[string]bool{}
		for s := range r.Sessions.All() {
			ids[s.ID] = true
			if !one.Sessions[s.ID] && !other.Sessions[s.ID] {
				t.Errorf("%s: no packet matches of session %s", name, s.ID)
			}
		}
		if d := cmp.Diff(ids, whole.Sessions); d != "" {
			t.Errorf("%s: sessions %s", name, d)
		}
	}
}

// TestMatchSome counts with a filter and without the filter package.
func TestMatchSome(t *testing.T) {
	const name = "ecn_ce_with_synthetic_cnp"
	_, all := matched(t, name, `infiniband.bth.opcode == CNP`, `ip.dsfield.ecn == 3 and infiniband`, `rocelens.role == "ack"`, `ip.addr == 192.0.2.1`)
	var cnps, ce, acks uint64
	packets(t, name, func(p *decode.Packet) {
		switch {
		case !p.RoCE():
			return
		case p.Opcode == decode.OpCNP:
			cnps++
		case p.Opcode == decode.OpRCAcknowledge && p.Syndrome.Type() == decode.Ack:
			acks++
		}
		if p.ECN() == 3 {
			ce++
		}
	})
	if n := all[0].Counters; n.Packets != cnps || n.Opcodes[decode.OpCNP] != cnps || cnps == 0 {
		t.Errorf("%d CNPs of %d", n.Packets, cnps)
	}
	if n := all[1].Counters; n.Packets != ce || n.ECN[3] != ce || ce == 0 {
		t.Errorf("%d marked of %d", n.Packets, ce)
	}
	if n := all[2].Counters; n.AETH.Acks != acks || n.Packets != acks || acks == 0 {
		t.Errorf("%d ACKs of %d", n.Packets, acks)
	}
	if n := all[3]; n.Counters.Packets != 0 || len(n.Sessions) != 0 {
		t.Errorf("%d packets of another host", n.Counters.Packets)
	}
}

package finding_test

import (
	"strings"
	"testing"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
)

// TestMigReq: real captures whose bit is set by one end, by both, by some
// packets, or by CNPs and management datagrams alone. TestDriftCaptures has
// those that are as they were: nothing.
func TestMigReq(t *testing.T) {
	const bth, set = 42, 0x40 // behind Ethernet, IPv4 and UDP
	first := func(b []byte) bool { return b[29] == 1 }
	op := func(b []byte) decode.Opcode { return decode.Opcode(b[bth]) }
	seen := 0
	for _, tc := range []struct {
		name, capture  string
		has            func(b []byte) bool
		set, clear     uint64
		sessions, from int
	}{
		{"one end", "rc_write_1024", first, 1600, 100, 1, 1},
		{"the other", "rc_write_1024", func(b []byte) bool { return !first(b) }, 100, 1600, 1, 2},
		{"both", "rc_write_1024", func([]byte) bool { return true }, 0, 0, 0, 0},
		{"all of one but one", "rc_write_1024", func(b []byte) bool {
			if first(b) {
				seen++
			}
			return first(b) && seen != 700
		}, 0, 0, 0, 0},
		{"requests of both", "rc_read_1024", func(b []byte) bool { return op(b) == 0x0c }, 80, 1280, 1, 1},
		{"four QPs, and CNPs without it", "ecn_ce_with_synthetic_cnp", first, 1280, 160, 4, 1},
		{"CNPs alone", "ecn_ce_with_synthetic_cnp", func(b []byte) bool { return op(b) == decode.OpCNP }, 0, 0, 0, 0},
		{"all but CNPs", "ecn_ce_with_synthetic_cnp", func(b []byte) bool { return op(b) != decode.OpCNP }, 0, 0, 0, 0},
		{"management alone", "rdmacm_rping", func(b []byte) bool { return op(b) == 0x64 }, 0, 0, 0, 0},
	} {
		seen = 0
		cfg := pipeline.DefaultConfig()
		cfg.ICRC = false // which covers the bit
		_, all := analyze(t, cfg, write(t, change(t, tc.capture, func(b []byte) {
			if b[bth+1] &^= set; tc.has(b) {
				b[bth+1] |= set
			}
		})))
		var got *record.Finding
		for i := range all {
			if all[i].Code == "migreq-differs" {
				got = &all[i]
			}
		}
		if (got != nil) != (tc.set > 0) {
			t.Errorf("%s: %+v", tc.name, got)
		}
		if got == nil {
			continue
		}
		documented(t, got)
		e := got.Evidence
		if got.Severity != record.Info || e.Get("packets_set") != tc.set || e.Get("packets_clear") != tc.clear || e.Get("sessions_affected") != uint64(tc.sessions) {
			t.Errorf("%s: %+v", tc.name, got)
		}
		if from := e.Get("streams").([]record.Evidence)[0].Get("from").(string); !strings.HasPrefix(from, "10.10.0."+string(rune('0'+tc.from))+"/") {
			t.Errorf("%s: from %s", tc.name, from)
		}
	}
}

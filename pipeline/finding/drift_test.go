package finding_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/finding"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/scenario"
)

// driftCodes are those of findings on classes, configuration and crowds.
var driftCodes = []string{"cm-timeouts", "cnp-class", "dscp-drift", "ecmp-polarized", "gid-unroutable", "incast", "migreq-differs", "mixed-mtu", "not-ect", "pkey-mismatch"}

// drifting are the findings of these codes, with their severities.
func drifting(all []record.Finding) (list []string) {
	for _, f := range all {
		if slices.Contains(driftCodes, f.Code) {
			list = append(list, f.Severity.String()+" "+f.Code)
		}
	}
	return list
}

// TestDriftScenarios: each scenario that is about drift has its finding, with
// what the truth says, and no other scenario has one.
func TestDriftScenarios(t *testing.T) {
	want := map[string]string{
		"dscp_change": "warning dscp-drift", "dscp_directions": "warning dscp-drift", "not_ect": "info not-ect", "cnp_class": "warning cnp-class",
		"pkey_mismatch": "warning pkey-mismatch", "mixed_mtu": "info mixed-mtu", "one_port": "info ecmp-polarized", "short_timeout": "info cm-timeouts",
		"no_retries": "warning cm-timeouts", "link_local": "warning gid-unroutable", "incast": "warning incast",
	}
	// Hosts that all send to one, and lose packets, at the senders and behind
	// the tap: so it says no more than that.
	// The same where two hosts send to one, and their packets are marked.
	also := map[string]string{
		"many_hosts": "warning incast", "cnp_pacing_qp": "warning incast", "cnp_pacing_destination": "warning incast", "cnp_pacing_port": "warning incast",
		"microbursts": "warning incast",
	}
	for _, sc := range scenario.Scenarios() {
		if sc.FlowControl() || strings.HasPrefix(sc.Name, "bulk_") {
			continue
		}
		t.Run(sc.Name, func(t *testing.T) {
			_, all, truth := analyzeScenario(t, sc)
			got := strings.Join(drifting(all), ", ")
			if w := want[sc.Name] + also[sc.Name]; got != w {
				t.Errorf("%q, want %q", got, w)
			}
			if want[sc.Name] == "" {
				return
			}
			for _, f := range all {
				if slices.Contains(driftCodes, f.Code) {
					checkDrift(t, &f, truth)
				}
			}
		})
	}
}

// checkDrift holds the evidence of a finding against the truth.
func checkDrift(t *testing.T, f *record.Finding, truth *scenario.Truth) {
	t.Helper()
	first := truth.Sessions[0]
	worst := func(list string) record.Evidence { return f.Evidence.Get(list).([]record.Evidence)[0] }
	is := func(e record.Evidence, key string, want any) {
		t.Helper()
		if got := e.Get(key); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %s is %v, want %v", f.Code, key, got, want)
		}
	}
	m := first.Marking
	switch truth.Scenario {
	case "dscp_change": // most of the packets, in the end
		e := worst("streams")
		is(e, "dscp", uint64(m.ChangedTo))
		is(e, "other_dscp", uint64(m.DSCPA))
		is(e, "packets", truth.Totals.RequestsSeen-m.Changed)
	case "dscp_directions":
		e := worst("streams")
		is(e, "dscp", uint64(m.DSCPA))
		is(e, "other_dscp", uint64(m.DSCPB))
	case "not_ect":
		other := truth.Sessions[1]
		e := worst("streams")
		if from := e.Get("from").(string); !strings.HasPrefix(from, other.A.Addr+"/") && !strings.HasPrefix(from, other.B.Addr+"/") || m != nil || !other.Marking.NotECT {
			t.Errorf("%s from %s", f.Code, from)
		}
	case "cnp_class":
		is(f.Evidence, "cnps", truth.Totals.CNPsSeen)
		is(worst("streams"), "dscp", uint64(m.CNP))
	case "pkey_mismatch":
		is(worst("streams"), "p_key", fmt.Sprintf("%#04x", m.PKeyB))
		is(worst("streams"), "other_p_key", fmt.Sprintf("%#04x", m.PKeyA))
	case "mixed_mtu":
		is(worst("pairs"), "path_mtus", []uint64{uint64(first.PathMTU), uint64(truth.Sessions[1].PathMTU)})
	case "one_port":
		is(worst("worst"), "port", uint64(first.A.UDPPort))
		is(worst("worst"), "qps", uint64(len(truth.Sessions)))
	case "short_timeout", "no_retries":
		is(worst("streams"), "ack_timeout_ns", first.AckTimeout)
		is(worst("streams"), "retry_count", uint64(first.RetryCount))
	case "link_local":
		if from := worst("streams").Get("from").(string); !strings.HasPrefix(from, first.A.Addr+"/") {
			t.Errorf("from %s, want %s", from, first.A.Addr)
		}
	case "incast":
		e := worst("worst")
		is(e, "receiver", first.B.Addr)
		var senders []string
		for _, s := range truth.Sessions {
			senders = append(senders, s.A.Addr)
		}
		is(e, "senders", senders)
		is(e, "marked", truth.Totals.CESeen)
	default:
		t.Errorf("%s has no truth here", truth.Scenario)
	}
}

// TestDriftCaptures: what real captures have of it, and that the others have
// nothing.
func TestDriftCaptures(t *testing.T) {
	want := map[string]string{
		// C's traffic class has no ECN, B's and D's has.
		"vlan_two_prio_bottleneck_drops_segment": "info not-ect", "vlan_two_prio_bottleneck_drops_sw2A": "info not-ect",
		"vlan_two_prio_clean_hostA_eth0": "info not-ect", "vlan_two_prio_clean_segment": "info not-ect",
		// Data and CNPs have the DSCPs that were asked for, ACKs have 0.
		"ecn_ce_with_synthetic_cnp": "info dscp-drift",
		// Only one sender loses packets.
		"incast_bottleneck_drops_segment": "info incast", "incast_bottleneck_drops_sw2A": "info incast",
		"incast_lossy_C_hostA": "info incast", "incast_lossy_C_segment": "info incast",
		"incast_ecn_segment": "warning incast", "incast_ecn_sw2A": "warning incast",
	}
	for _, c := range capturetest.All(t) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			cfg := pipeline.DefaultConfig()
			cfg.ICRC = false
			_, all := analyze(t, cfg, c.Path)
			if got := strings.Join(drifting(all), ", "); got != want[c.Name] {
				t.Errorf("%q, want %q", got, want[c.Name])
			}
			if !strings.HasPrefix(c.Name, "incast_") {
				return
			}
			for _, f := range all {
				if f.Code != "incast" {
					continue
				}
				e := f.Evidence.Get("worst").([]record.Evidence)[0]
				senders := slices.Concat(e.Get("senders").([]string), e.Get("others").([]string))
				slices.Sort(senders)
				if to := e.Get("receiver"); to != "10.10.0.1" || !slices.Equal(senders, []string{"10.10.0.2", "10.10.0.3", "10.10.0.4"}) {
					t.Errorf("%v to %v", senders, to)
				}
				marked := uint64(0)
				for way, n := range capturetest.LoadTruth(t, c).Summary.CEMarked {
					if from, _, _ := strings.Cut(way, ">"); slices.Contains(e.Get("senders").([]string), from) {
						marked += uint64(n)
					}
				}
				if e.Get("marked") != marked {
					t.Errorf("%v marked, want %d", e.Get("marked"), marked)
				}
			}
		})
	}
}

// TestDriftRules has what neither captures nor scenarios show.
func TestDriftRules(t *testing.T) {
	gid := func(hi, lo uint64, qpn uint32) record.Endpoint {
		return record.Endpoint{Addr: decode.Addr{Hi: hi, Lo: lo}, Kind: decode.AddrGID, QPN: qpn, HasQPN: true}
	}
	const local, global = 0xfe80_0000_0000_0000, 0x2001_0db8_0000_0001
	cm := func(change func(*record.CM)) func(*finding.Facts, *record.Session) {
		return func(_ *finding.Facts, s *record.Session) {
			s.CM = &record.CM{Service: record.RC, PathMTU: 1024, AckTimeout: 67_108_864, RetryCount: 7, RNRRetry: [2]uint8{7, 7}, PKey: 0xffff, Replied: 1}
			change(s.CM)
		}
	}
	classes := func(f *finding.Facts, tag int, dscps ...int) {
		for _, d := range dscps {
			f.Classes[tag][d].ECN[2] = 5000
		}
	}
	for _, tc := range []struct {
		name string
		set  func(*finding.Facts, *record.Session)
		want string
		has  string
	}{
		{"nothing", func(*finding.Facts, *record.Session) {}, "", ""},
		{"as rdma_cm makes it", cm(func(*record.CM) {}), "", ""},
		{"no timer", cm(func(c *record.CM) { c.AckTimeout, c.NoAckTimer = 0, true }), "warning cm-timeouts", "the ACK timeout is 0, which is no timer"},
		{"the timeout is not known", cm(func(c *record.CM) { c.AckTimeout = 0 }), "", ""},
		{"no REQ", cm(func(c *record.CM) { *c = record.CM{Service: record.RC} }), "", ""},
		{"retry count 0, IPoIB", func(f *finding.Facts, s *record.Session) {
			cm(func(c *record.CM) { c.RetryCount = 0 })(f, s)
			s.Version = record.IB
		}, "", ""},
		{"too long", cm(func(c *record.CM) { c.AckTimeout = 4096 << 22 }), "info cm-timeouts", "17.180 s"},
		{"NCCL's", cm(func(c *record.CM) { c.AckTimeout = 4096 << 20 }), "", ""},
		{"RNR retry 0, and no RNR NAK", cm(func(c *record.CM) { c.RNRRetry = [2]uint8{} }), "", ""},
		{"RNR retry 0", func(f *finding.Facts, s *record.Session) {
			cm(func(c *record.CM) { c.RNRRetry[0] = 0 })(f, s)
			s.BToA.RNRNaks = 1
		}, "warning cm-timeouts", "RNR NAKs come, and the RNR retry count is 0"},
		{"RNR retry 0 of the other side", func(f *finding.Facts, s *record.Session) {
			cm(func(c *record.CM) { c.RNRRetry[1] = 0 })(f, s)
			s.BToA.RNRNaks = 1
		}, "", ""},
		{"VLAN priority changes", func(f *finding.Facts, s *record.Session) {
			classes(f, 4, 26)
			classes(f, 1, 26)
			s.AToB.Priorities = []record.PriorityCount{{Tagged: true, Priority: 3, Packets: 9000}, {Tagged: true, Priority: 0, Packets: 1000}}
		}, "warning dscp-drift", "most packets have VLAN priority 3, and 1,000 0"},
		{"a tag that is not everywhere", func(f *finding.Facts, s *record.Session) {
			classes(f, 4, 26)
			classes(f, 0, 26)
			s.AToB.Priorities = []record.PriorityCount{{Tagged: true, Priority: 3, Packets: 9000}, {Packets: 1000}}
		}, "", ""},
		{"two stray packets", func(f *finding.Facts, s *record.Session) {
			classes(f, 0, 26, 0)
			s.AToB.DSCP = []record.DSCPCount{{DSCP: 26, Packets: 9998}, {DSCP: 0, Packets: 2}}
		}, "", ""},
		{"CNPs have another", func(f *finding.Facts, s *record.Session) {
			classes(f, 0, 26, 48)
			s.AToB.DSCP = []record.DSCPCount{{DSCP: 26, Packets: 9990}, {DSCP: 48, Packets: 10}}
			s.AToB.CNPDSCP = []record.DSCPCount{{DSCP: 48, Packets: 10}}
		}, "", ""},
		{"CNPs of DSCP 0", func(_ *finding.Facts, s *record.Session) {
			s.AToB.DSCP = []record.DSCPCount{{Packets: 10_000}}
			s.BToA.DSCP, s.BToA.CNPDSCP = []record.DSCPCount{{Packets: 500}}, []record.DSCPCount{{Packets: 20}}
		}, "info cnp-class", "20 CNPs to 10.0.0.1/0x11 have the same DSCP as the data"},
		{"CNPs with tags", func(f *finding.Facts, s *record.Session) {
			s.AToB.DSCP = []record.DSCPCount{{DSCP: 26, Packets: 10_000}}
			s.BToA.DSCP, s.BToA.CNPDSCP = []record.DSCPCount{{DSCP: 26, Packets: 500}}, []record.DSCPCount{{DSCP: 26, Packets: 20}}
			f.Classes[7][26].CNPs = 20
		}, "info cnp-class", "VLAN priority"},
		{"P_Keys of two limited members", func(f *finding.Facts, s *record.Session) {
			f.OddPKeys = 1
			s.AToB.PKeys = []record.PKeyCount{{PKey: 0x7fff, Packets: 10_000}}
			s.BToA.PKeys = []record.PKeyCount{{PKey: 0x7fff, Packets: 500}}
		}, "warning pkey-mismatch", "0x7fff there, and 0x7fff back"},
		{"a P_Key in a few packets", func(f *finding.Facts, s *record.Session) {
			f.OddPKeys = 1
			s.AToB.PKeys = []record.PKeyCount{{PKey: 0x8001, Packets: 4}, {PKey: 0xffff, Packets: 9996}}
		}, "", ""},
		{"link-local, both", func(_ *finding.Facts, s *record.Session) {
			s.A, s.B, s.State, s.BToA = gid(local, 1, 1), gid(local, 2, 2), record.StateUnanswered, record.Direction{}
		}, "", ""},
		{"link-local and answered", func(_ *finding.Facts, s *record.Session) { s.A, s.B = gid(local, 1, 1), gid(global, 2, 2) }, "", ""},
		{"RoCEv1 to another prefix", func(_ *finding.Facts, s *record.Session) {
			s.Version = record.V1
			s.A, s.B, s.State, s.BToA = gid(global, 1, 1), gid(global+1, 2, 2), record.StateUnanswered, record.Direction{}
		}, "warning gid-unroutable", "RoCEv1 does not pass routers, and the GIDs have different prefixes"},
		{"RoCEv1, IPv4 and not", func(_ *finding.Facts, s *record.Session) {
			s.Version = record.V1
			s.A, s.B, s.State, s.BToA = gid(0, 0xffff_0a00_0001, 1), gid(global, 2, 2), record.StateUnanswered, record.Direction{}
		}, "warning gid-unroutable", "a GID that stands for an IPv4 address"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := session("s", end(1, 0x11), end(2, 0x12))
			f := facts()
			tc.set(f, &s)
			f.Sessions = record.SessionsOf(s)
			all := finding.Find(f)
			if got := strings.Join(drifting(all), ", "); got != tc.want {
				t.Fatalf("%q, want %q", got, tc.want)
			}
			said := ""
			for _, f := range all {
				said += f.Title + ". " + f.Detail
			}
			if !strings.Contains(said, tc.has) {
				t.Errorf("%q is not in %q", tc.has, said)
			}
		})
	}
}

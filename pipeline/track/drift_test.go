package track_test

import (
	"testing"

	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/scenario"
)

// oneSession is the only session of a simulated capture, and its truth.
func oneSession(t *testing.T, name string) (*record.Session, *scenario.SessionTruth, *scenario.Truth) {
	t.Helper()
	sc, err := scenario.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	c := simulate(t, &sc, 1)
	r := c.analyse(t)
	if r.Sessions.Len() != 1 {
		t.Fatalf("%d sessions", r.Sessions.Len())
	}
	s := r.Sessions.At(0)
	if s.AToB.Packets < s.BToA.Packets {
		t.Fatal("A is not who sends")
	}
	return s, c.truth.Sessions[0], c.truth
}

// TestOddities: DSCPs, CNPs, P_Keys and priorities of packets are counted as
// they were sent.
func TestOddities(t *testing.T) {
	sum := func(d *record.Direction) (n uint64) {
		for _, c := range d.DSCP {
			n += c.Packets
		}
		return n
	}
	s, truth, _ := oneSession(t, "dscp_change")
	for _, c := range s.AToB.DSCP {
		want := s.AToB.Packets - truth.Marking.Changed
		if c.DSCP == truth.Marking.ChangedTo {
			want = truth.Marking.Changed
		}
		if c.Packets != want {
			t.Errorf("%d packets have DSCP %d, want %d", c.Packets, c.DSCP, want)
		}
	}
	if n := len(s.AToB.DSCP); n != 2 || sum(&s.AToB) != s.AToB.Packets || s.AToB.CNPDSCP != nil || s.AToB.PKeys != nil {
		t.Errorf("%+v", s.AToB)
	}

	s, truth, all := oneSession(t, "cnp_class")
	if d := &s.BToA; len(d.CNPDSCP) != 1 || d.CNPDSCP[0] != (record.DSCPCount{DSCP: truth.Marking.CNP, Packets: all.Totals.CNPsSeen}) || s.AToB.CNPDSCP != nil {
		t.Errorf("CNPs %v and %v, want %d", d.CNPDSCP, s.AToB.CNPDSCP, all.Totals.CNPsSeen)
	}

	s, truth, _ = oneSession(t, "pkey_member")
	for d, want := range map[*record.Direction]uint16{&s.AToB: truth.Marking.PKeyA, &s.BToA: truth.Marking.PKeyB} {
		if len(d.PKeys) != 1 || d.PKeys[0] != (record.PKeyCount{PKey: want, Packets: d.Packets}) {
			t.Errorf("P_Keys %v, want %#x in %d packets", d.PKeys, want, d.Packets)
		}
		if len(d.Priorities) != 1 || d.Priorities[0] != (record.PriorityCount{Packets: d.Packets}) {
			t.Errorf("priorities %v without a tag", d.Priorities)
		}
	}

	s, _, all = oneSession(t, "vlan")
	for _, d := range []*record.Direction{&s.AToB, &s.BToA} {
		if len(d.Priorities) != 1 || d.Priorities[0] != (record.PriorityCount{Tagged: true, Priority: all.Tap.Priority, Packets: d.Packets}) {
			t.Errorf("priorities %v, want %d", d.Priorities, all.Tap.Priority)
		}
	}
}

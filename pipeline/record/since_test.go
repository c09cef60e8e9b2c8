package record_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/sketch"
)

// states are the fields of a direction that are no sums: Since leaves them as
// they are.
var states = " First Last PeakPackets PeakBytes SourcePort DSCP CNPDSCP Priorities PKeys Spent MigReq Marks.FirstTries Marks.Firsts Marks.Run Marks.Outage Marks.Retrying " +
	"Congestion.Marks Congestion.Pacing Congestion.Reaction Congestion.Depth "

// fill sets all numbers of v to n, and each histogram to n values.
func fill(v reflect.Value, n int) {
	switch {
	case v.Type() == reflect.TypeFor[sketch.Histogram]():
		var h sketch.Histogram
		for i := range n {
			h.Add(int64(i) * 1000)
		}
		v.Set(reflect.ValueOf(h))
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case v.Kind() == reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), n)
		}
	case v.CanUint():
		v.SetUint(uint64(n))
	case v.CanInt():
		v.SetInt(int64(n))
	}
}

// check holds all sums in v against want.
func check(t *testing.T, path string, v reflect.Value, want int) {
	t.Helper()
	name := strings.TrimPrefix(path, ".")
	if strings.Contains(states, " "+name+" ") {
		return
	}
	bad := false
	switch {
	case v.Type() == reflect.TypeFor[sketch.Histogram]():
		h := v.Interface().(sketch.Histogram)
		bad = h.Count != uint64(want)
	case v.Kind() == reflect.Pointer:
		check(t, path, v.Elem(), want)
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			check(t, path+"."+v.Type().Field(i).Name, v.Field(i), want)
		}
	case v.Kind() == reflect.Array, v.Kind() == reflect.Slice:
		for i := range v.Len() {
			check(t, path, v.Index(i), want)
		}
	case v.CanUint():
		bad = v.Uint() != uint64(want)
	case v.CanInt():
		bad = v.Int() != int64(want)
	}
	if bad {
		t.Errorf("%s is %v, want %d", name, v, want)
	}
}

func filled(n int) *record.Session {
	s := new(record.Session)
	for _, d := range []*record.Direction{&s.AToB, &s.BToA} {
		d.Marks, d.Congestion = new(record.Marks), new(record.Congestion)
		fill(reflect.ValueOf(d).Elem(), n)
		fill(reflect.ValueOf(d.Marks).Elem(), n)
		fill(reflect.ValueOf(d.Congestion).Elem(), n)
		d.Marks.Broken = []record.BrokenRule{{Rule: "a", N: uint64(n)}}
	}
	return s
}

// TestSince: no sum of a direction is forgotten, and neither session changes.
func TestSince(t *testing.T) {
	base, now := filled(3), filled(10)
	got := now.Since(base)
	check(t, "", reflect.ValueOf(&got.AToB), 7)
	check(t, "", reflect.ValueOf(&got.BToA), 7)
	if got.AToB.First != 3 || got.AToB.Last != 10 {
		t.Errorf("it is from %d to %d", got.AToB.First, got.AToB.Last)
	}
	if !reflect.DeepEqual(now, filled(10)) || !reflect.DeepEqual(base, filled(3)) {
		t.Error("what it was made from has changed")
	}
	if back := base.Since(now); back.AToB.Lost.BeforeTap != 0 || back.AToB.SilenceTime != 0 || len(back.AToB.Marks.Broken) != 0 {
		t.Errorf("what was taken back counts: %+v", back.AToB)
	}
}

// TestSinceSwapped: the sides of a session may change places.
func TestSinceSwapped(t *testing.T) {
	dir := func(first int64, packets uint64) record.Direction {
		return record.Direction{First: first, Last: first + 10, Packets: packets}
	}
	for _, tc := range []struct {
		base, now [2]record.Direction
		want      [2]uint64
	}{
		{[2]record.Direction{dir(1, 10), dir(2, 20)}, [2]record.Direction{dir(1, 11), dir(2, 22)}, [2]uint64{1, 2}},
		{[2]record.Direction{dir(1, 10), dir(2, 20)}, [2]record.Direction{dir(2, 22), dir(1, 11)}, [2]uint64{2, 1}},
		{[2]record.Direction{dir(2, 20), {}}, [2]record.Direction{dir(1, 11), dir(2, 22)}, [2]uint64{11, 2}}, // another flow is its other half
		{[2]record.Direction{dir(1, 10), {}}, [2]record.Direction{dir(1, 11), dir(2, 22)}, [2]uint64{1, 22}},
		{[2]record.Direction{dir(1, 10), dir(1, 20)}, [2]record.Direction{dir(1, 11), dir(1, 22)}, [2]uint64{1, 2}},
	} {
		got := (&record.Session{AToB: tc.now[0], BToA: tc.now[1]}).Since(&record.Session{AToB: tc.base[0], BToA: tc.base[1]})
		if n := [2]uint64{got.AToB.Packets, got.BToA.Packets}; n != tc.want {
			t.Errorf("%v since %v: %v, want %v", tc.now, tc.base, n, tc.want)
		}
	}
}

// TestClone: what is done to a copy does nothing to the session.
func TestClone(t *testing.T) {
	s := filled(5)
	s.CM = &record.CM{Private: []byte{1}}
	s.AToB.DSCP = []record.DSCPCount{{DSCP: 1}}
	s.AToB.Spent = new(record.Spent)
	c := s.Clone()
	if !reflect.DeepEqual(c, s) {
		t.Errorf("%+v, not %+v", c, s)
	}
	c.CM.Private[0], c.AToB.DSCP[0].DSCP, c.AToB.Marks.Broken[0].N, c.AToB.Congestion.CNPs, c.AToB.Spent.Total = 2, 2, 0, 0, 1
	c.AToB.AckLatency.Add(1_000_000)
	want := filled(5)
	want.CM, want.AToB.DSCP, want.AToB.Spent = &record.CM{Private: []byte{1}}, []record.DSCPCount{{DSCP: 1}}, new(record.Spent)
	if !reflect.DeepEqual(s, want) {
		t.Error("the session has changed with its copy")
	}
}

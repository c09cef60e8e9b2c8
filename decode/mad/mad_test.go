package mad_test

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/decode/mad"
)

// field is where the kernel's ibta_vol1_c12.h has a field: byte and bit, the
// most significant bit of a byte being bit 0, and how many bits.
type field struct {
	name       string // of the Go field
	byteOff    int
	bit, width int
}

// layout are the fields of each message, written down apart from the decoder.
var layout = map[mad.Attribute][]field{
	mad.REQ: append(append([]field{
		{"LocalID", 0, 0, 32}, {"VendorID", 5, 0, 24}, {"ServiceID", 8, 0, 64}, {"CAGUID", 16, 0, 64}, {"QKey", 28, 0, 32},
		{"QPN", 32, 0, 24}, {"ResponderResources", 35, 0, 8}, {"EECN", 36, 0, 24}, {"InitiatorDepth", 39, 0, 8},
		{"RemoteEEC", 40, 0, 24}, {"RemoteResponseTimeout", 43, 0, 5}, {"Transport", 43, 5, 2}, {"EndToEnd", 43, 7, 1},
		{"StartPSN", 44, 0, 24}, {"LocalResponseTimeout", 47, 0, 5}, {"RetryCount", 47, 5, 3}, {"PKey", 48, 0, 16},
		{"MTU", 50, 0, 4}, {"RDC", 50, 4, 1}, {"RNRRetry", 50, 5, 3}, {"MaxCMRetries", 51, 0, 4}, {"SRQ", 51, 4, 1},
		{"ExtendedTransport", 51, 5, 3},
	}, path("Primary", 52, 88)...), path("Alternate", 96, 132)...),
	mad.REP: {
		{"LocalID", 0, 0, 32}, {"RemoteID", 4, 0, 32}, {"QKey", 8, 0, 32}, {"QPN", 12, 0, 24}, {"EECN", 16, 0, 24},
		{"StartPSN", 20, 0, 24}, {"ResponderResources", 24, 0, 8}, {"InitiatorDepth", 25, 0, 8}, {"TargetAckDelay", 26, 0, 5},
		{"Failover", 26, 5, 2}, {"EndToEnd", 26, 7, 1}, {"RNRRetry", 27, 0, 3}, {"SRQ", 27, 3, 1}, {"CAGUID", 28, 0, 64},
	},
	mad.RTU:  {{"LocalID", 0, 0, 32}, {"RemoteID", 4, 0, 32}},
	mad.DREP: {{"LocalID", 0, 0, 32}, {"RemoteID", 4, 0, 32}},
	mad.DREQ: {{"LocalID", 0, 0, 32}, {"RemoteID", 4, 0, 32}, {"QPN", 8, 0, 24}},
	mad.REJ:  {{"LocalID", 0, 0, 32}, {"RemoteID", 4, 0, 32}, {"MsgRejected", 8, 0, 2}, {"Reason", 10, 0, 16}},
	mad.MRA:  {{"LocalID", 0, 0, 32}, {"RemoteID", 4, 0, 32}, {"MsgRejected", 8, 0, 2}, {"ServiceTimeout", 9, 0, 5}},
	mad.LAP: {
		{"LocalID", 0, 0, 32}, {"RemoteID", 4, 0, 32}, {"QPN", 12, 0, 24}, {"RemoteResponseTimeout", 15, 0, 5},
		{"Alternate.LocalLID", 20, 0, 16}, {"Alternate.RemoteLID", 22, 0, 16}, {"Alternate.FlowLabel", 56, 0, 20},
		{"Alternate.TrafficClass", 59, 0, 8}, {"Alternate.HopLimit", 60, 0, 8}, {"Alternate.PacketRate", 61, 2, 6},
		{"Alternate.SL", 62, 0, 4}, {"Alternate.SubnetLocal", 62, 4, 1}, {"Alternate.AckTimeout", 63, 0, 5},
	},
	mad.APR:     {{"LocalID", 0, 0, 32}, {"RemoteID", 4, 0, 32}, {"Status", 9, 0, 8}},
	mad.SIDRReq: {{"LocalID", 0, 0, 32}, {"PKey", 4, 0, 16}, {"ServiceID", 8, 0, 64}},
	mad.SIDRRep: {
		{"LocalID", 0, 0, 32}, {"Status", 4, 0, 8}, {"QPN", 8, 0, 24}, {"ServiceID", 12, 0, 64}, {"QKey", 20, 0, 32},
	},
}

// private is where the private data of each message begins; it ends with the
// message.
var private = map[mad.Attribute]int{
	mad.REQ: 140, mad.REP: 36, mad.RTU: 8, mad.REJ: 84, mad.MRA: 10, mad.DREQ: 12, mad.DREP: 8, mad.LAP: 64, mad.APR: 84,
	mad.SIDRReq: 16, mad.SIDRRep: 96,
}

func path(name string, lids, label int) []field {
	return []field{
		{name + ".LocalLID", lids, 0, 16}, {name + ".RemoteLID", lids + 2, 0, 16}, {name + ".FlowLabel", label, 0, 20},
		{name + ".PacketRate", label + 3, 2, 6}, {name + ".TrafficClass", label + 4, 0, 8}, {name + ".HopLimit", label + 5, 0, 8},
		{name + ".SL", label + 6, 0, 4}, {name + ".SubnetLocal", label + 6, 4, 1}, {name + ".AckTimeout", label + 7, 0, 5},
	}
}

// put sets a field's bits one by one.
func (f field) put(body []byte, v uint64) {
	for i := range f.width {
		at := f.byteOff*8 + f.bit + i
		if v>>(f.width-1-i)&1 != 0 {
			body[at/8] |= 0x80 >> (at % 8)
		}
	}
}

// get is a field of the decoded message by name, as a number.
func get(t *testing.T, m *mad.Message, name string) uint64 {
	t.Helper()
	v := reflect.ValueOf(m).Elem()
	for rest := name; ; {
		head, tail, more := cut(rest)
		if v = v.FieldByName(head); !v.IsValid() {
			t.Fatalf("no field %s", name)
		}
		if rest = tail; !more {
			break
		}
	}
	if v.Kind() == reflect.Bool {
		if v.Bool() {
			return 1
		}
		return 0
	}
	return v.Uint()
}

func cut(s string) (head, tail string, more bool) {
	for i := range s {
		if s[i] == '.' {
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

// TestLayout sets one field of one message at a time to all ones, and to a
// random value amid random other bytes, and finds it there.
func TestLayout(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for a, fields := range layout {
		for _, f := range fields {
			ones := uint64(1)<<f.width - 1 // all of them for 64 as well
			body := make([]byte, mad.BodyLen)
			f.put(body, ones)
			var m mad.Message
			if !m.Decode(a, body) {
				t.Fatal(a, "is not known")
			}
			if got := get(t, &m, f.name); got != ones {
				t.Errorf("%v %s alone: %#x, want %#x", a, f.name, got, ones)
			}
			for _, other := range fields {
				if got := get(t, &m, other.name); other.name != f.name && got != 0 {
					t.Errorf("%v %s alone: %s is %#x", a, f.name, other.name, got)
				}
			}
		}
		body, values := random(r, a)
		var m mad.Message
		m.Decode(a, body)
		for _, f := range fields {
			if got, want := get(t, &m, f.name), values[f.name]; got != want {
				t.Errorf("%v %s: %#x, want %#x", a, f.name, got, want)
			}
		}
		if d := cmp.Diff(body[private[a]:], m.Private); d != "" {
			t.Errorf("%v: private data: %s", a, d)
		}
	}
	if len(layout) != int(mad.APR-mad.REQ)+1 {
		t.Error("a message is missing")
	}
}

// random makes a message of random fields, and random bytes where no field is.
func random(r *rand.Rand, a mad.Attribute) ([]byte, map[string]uint64) {
	body, mask := make([]byte, mad.BodyLen), make([]byte, mad.BodyLen)
	values := make(map[string]uint64)
	for _, f := range layout[a] {
		v := r.Uint64() & (uint64(1)<<f.width - 1)
		values[f.name] = v
		f.put(body, v)
		f.put(mask, ^uint64(0))
	}
	for i := range body {
		body[i] |= uint8(r.Uint32()) &^ mask[i]
	}
	return body, values
}

// TestEveryLength decodes messages of every length into a dirty struct: what
// is not cut is as in the whole message, the rest is zero, and Has says which.
func TestEveryLength(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for a := mad.REQ; a <= mad.APR; a++ {
		body, _ := random(r, a)
		if a == mad.REQ || a == mad.SIDRReq { // an RDMA-CM request
			copy(body[8:16], []byte{0, 0, 0, 0, 1, 6, 0x11, 0x44})
			copy(body[private[a]:], []byte{0, 0x40})
		}
		var whole, m mad.Message
		whole.Decode(a, body)
		for n := range len(body) + 1 {
			m.Decode(mad.REQ, body) // dirt
			short := append([]byte(nil), body[:n]...)
			m.Decode(a, short)
			if m.Truncated != (n < mad.BodyLen) {
				t.Errorf("%v at %d bytes: truncated %v", a, n, m.Truncated)
			}
			if m.Has&^whole.Has != 0 {
				t.Errorf("%v at %d bytes has %b, the whole %b", a, n, m.Has, whole.Has)
			}
			for _, f := range layout[a] {
				want := get(t, &whole, f.name)
				if f.byteOff+(f.bit+f.width+7)/8 > n {
					want = 0
				}
				if got := get(t, &m, f.name); got != want {
					t.Errorf("%v at %d bytes: %s is %#x, want %#x", a, n, f.name, got, want)
				}
			}
			if want := max(0, n-private[a]); len(m.Private) != want {
				t.Errorf("%v at %d bytes: %d bytes private data, want %d", a, n, len(m.Private), want)
			}
			for part, end := range parts[a] {
				if got := m.Has&part != 0; got != (n >= end) {
					t.Errorf("%v at %d bytes: part %b is %v", a, n, part, got)
				}
			}
		}
	}
	var m mad.Message
	for _, a := range []mad.Attribute{0, 1, 0x0f, 0x1b, 0xffff} {
		m.Decode(mad.REQ, make([]byte, 300))
		if m.Decode(a, make([]byte, 300)) || m.LocalID != 0 || m.Has != 0 || m.Attribute != a {
			t.Errorf("attribute %#x: %+v", a, m)
		}
	}
}

// parts are where parts end.
var parts = map[mad.Attribute]map[mad.Parts]int{
	mad.REQ: {mad.HasLocalID: 4, mad.HasServiceID: 16, mad.HasQPN: 35, mad.HasStartPSN: 47, mad.HasTransport: 52,
		mad.HasPrimary: 96, mad.HasAlternate: 140, mad.HasIP: 176},
	mad.REP:     {mad.HasLocalID: 4, mad.HasRemoteID: 8, mad.HasQPN: 19, mad.HasStartPSN: 23, mad.HasTransport: 28},
	mad.RTU:     {mad.HasLocalID: 4, mad.HasRemoteID: 8},
	mad.REJ:     {mad.HasLocalID: 4, mad.HasRemoteID: 8, mad.HasReason: 12},
	mad.DREQ:    {mad.HasLocalID: 4, mad.HasRemoteID: 8, mad.HasQPN: 11},
	mad.LAP:     {mad.HasQPN: 15, mad.HasAlternate: 64},
	mad.APR:     {mad.HasStatus: 10},
	mad.SIDRReq: {mad.HasLocalID: 4, mad.HasServiceID: 16, mad.HasIP: 52},
	mad.SIDRRep: {mad.HasLocalID: 4, mad.HasStatus: 5, mad.HasQPN: 11, mad.HasServiceID: 20},
}

func TestInfo(t *testing.T) {
	body := make([]byte, mad.BodyLen)
	body[9] = 5<<1 | 1 // REJ: 5 bytes, and a reserved bit
	var m mad.Message
	if m.Decode(mad.REJ, body); len(m.Info) != 5 {
		t.Errorf("REJ: %d bytes", len(m.Info))
	}
	body[9] = 0xff
	if m.Decode(mad.REJ, body); len(m.Info) != 72 {
		t.Errorf("REJ: %d bytes", len(m.Info))
	}
	body[5], body[8] = 7, 255
	if m.Decode(mad.SIDRRep, body); len(m.Info) != 7 {
		t.Errorf("SIDR_REP: %d bytes", len(m.Info))
	}
	if m.Decode(mad.APR, body[:20]); len(m.Info) != 8 {
		t.Errorf("APR: %d bytes", len(m.Info))
	}
}

// TestIPHeader decodes only what is RDMA-CM's.
func TestIPHeader(t *testing.T) {
	body := make([]byte, mad.BodyLen)
	copy(body[8:], []byte{0, 0, 0, 0, 1, 0x11, 0x1c, 0x06})
	ip := body[16:]
	copy(ip, []byte{0x00, 0x60, 0x12, 0x34, 0xfd, 0x01})
	ip[35], ip[36] = 0x02, 0x99
	var m mad.Message
	m.Decode(mad.SIDRReq, body)
	want := mad.IPHeader{Version: 6, SourcePort: 0x1234, Source: [16]byte{0xfd, 1}, Dest: [16]byte{15: 2}}
	if m.Has&mad.HasIP == 0 || m.IP != want || m.Consumer[0] != 0x99 || len(m.Consumer) != 180 {
		t.Errorf("%+v", m.IP)
	}
	for what, spoil := range map[string]func([]byte){
		"another service": func(b []byte) { b[8] = 1 },
		"IP version 5":    func(b []byte) { b[17] = 0x50 },
		"major version 1": func(b []byte) { b[16] = 0x10 },
	} {
		b := append([]byte(nil), body...)
		spoil(b)
		if m.Decode(mad.SIDRReq, b); m.Has&mad.HasIP != 0 || m.Consumer != nil {
			t.Errorf("%s has a header", what)
		}
	}
}

func TestAllocations(t *testing.T) {
	body := make([]byte, mad.BodyLen)
	var m mad.Message
	if n := testing.AllocsPerRun(100, func() {
		for a := mad.REQ; a <= mad.APR; a++ {
			m.Decode(a, body)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzDecode(f *testing.F) {
	r := rand.New(rand.NewPCG(5, 6))
	for a := mad.REQ; a <= mad.APR; a++ {
		body, _ := random(r, a)
		f.Add(uint16(a), body)
	}
	f.Fuzz(func(t *testing.T, a uint16, body []byte) {
		var m, again mad.Message
		ok := m.Decode(mad.Attribute(a), body)
		if ok != mad.Attribute(a).Known() {
			t.Error(ok)
		}
		again = m
		again.Decode(mad.Attribute(a), body)
		if d := cmp.Diff(m, again); d != "" {
			t.Error(d)
		}
		_, _, _ = m.Reason.String(), m.Service(), m.ServiceID.Application()
		if len(m.Private)+len(m.Info) > mad.BodyLen {
			t.Error("slices are longer than the message")
		}
	})
}

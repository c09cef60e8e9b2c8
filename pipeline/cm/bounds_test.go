package cm_test

import (
	"strings"
	"testing"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/decode/mad"
	"github.com/rocelens/rocelens/pipeline/cm"
)

func TestEviction(t *testing.T) {
	w := newWire(t, 2)
	w.add(req(1, 0x11, 1))
	w.add(req(2, 0x22, 1))
	w.add(req(1, 0x11, 1)) // the first is the more recent now
	w.add(req(3, 0x33, 1))
	got := strings.Join(w.conns(), "\n")
	if w.tr.Len() != 2 || w.tr.Stats.Evicted != 1 || !strings.Contains(got, "/0x11 ") || !strings.Contains(got, "/0x33 ") {
		t.Errorf("%d, %+v: %s", w.tr.Len(), w.tr.Stats, got)
	}
	if c := w.add(rep(2, idB, qpnB, psnA)); c == nil || !c.New || c.Conn.A.HasQPN {
		t.Errorf("%+v", c)
	}
	for i := range uint32(1000) {
		w.add(req(1000+i, 0x11, i))
		w.add(rep(1000+i, 5000+i, 0x11, i))
	}
	if w.tr.Len() != 2 || w.tr.Indexed() != 4 {
		t.Errorf("%d connections, %d IDs", w.tr.Len(), w.tr.Indexed())
	}
}

// TestEveryLength cuts each message of a life at every length: what is told is
// right or not told, and a message without IDs is counted.
func TestEveryLength(t *testing.T) {
	for _, m := range []message{req(idA, qpnA, psnB), rep(idA, idB, qpnB, psnA), rtu(), dreqB(), drepA(), sidrReq(idA), sidrRep(idA, 0, qpnB)} {
		b := m.frame()
		for n := range b {
			w := newWire(t, 10)
			w.see(b[:n], len(b))
			w.tr.Each(func(c *cm.Conn) {
				if c.A.HasQPN && c.A.QPN != qpnA || c.B.HasQPN && c.B.QPN != qpnB && c.Active {
					t.Errorf("%v at %d bytes: %s", m.attr, n, story(c))
				}
				for side, psn := range []uint32{psnA, psnB} {
					if c.CM.HasStartPSN[side] && c.CM.StartPSN[side] != psn {
						t.Errorf("%v at %d bytes: %+v", m.attr, n, c.CM)
					}
				}
				if _, ok := c.SourcePort(); ok != (m.attr == mad.REQ && n >= 14+20+8+12+8+24+96) {
					t.Errorf("%v at %d bytes: port known: %v", m.attr, n, ok)
				}
			})
			if got, want := w.tr.Stats.Messages, w.tr.Stats.Ignored+w.tr.Stats.Conns; got != want {
				t.Errorf("%v at %d bytes: %+v", m.attr, n, w.tr.Stats)
			}
		}
	}
}

func TestIgnored(t *testing.T) {
	w := newWire(t, 10)
	m := req(idA, qpnA, psnB)
	m.attr = 1 // ClassPortInfo
	if w.add(m) != nil || w.tr.Stats != (cm.Stats{Messages: 1, Ignored: 1}) {
		t.Errorf("%+v", w.tr.Stats)
	}
	w.alter = func(p *decode.Packet) { p.MAD.Class = decode.ClassSubnAdm }
	if w.add(req(idA, qpnA, psnB)) != nil || w.tr.Stats.Messages != 1 || w.tr.Len() != 0 {
		t.Errorf("%+v", w.tr.Stats)
	}
}

func TestAllocations(t *testing.T) {
	w := newWire(t, 100)
	var frames [][]byte
	for _, m := range []message{req(idA, qpnA, psnB), rep(idA, idB, qpnB, psnA), rtu(), dreqB(), drepA()} {
		frames = append(frames, m.frame())
	}
	if n := testing.AllocsPerRun(100, func() {
		for _, b := range frames {
			w.see(b, len(b))
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestPorts(t *testing.T) {
	// The label and port of a Soft-RoCE connection (rdmacm_ib_write_bw).
	if got := cm.PortOfLabel(0x6a8aa); got != 59568 {
		t.Error(got)
	}
	for _, c := range []struct{ a, b, label uint32 }{
		{1, 1, 1}, {0x14, 0x3e, 0x4d8}, {0xffffff, 0xffffff, 0}, {0, 5, 0},
	} {
		got, other := cm.LabelOfQPNs(c.a, c.b), cm.LabelOfQPNs(c.b, c.a)
		if got != other || got > 0xfffff {
			t.Errorf("%#x and %#x", got, other)
		}
		if c.a != 0xffffff && got != c.label {
			t.Errorf("%#x, %#x: %#x", c.a, c.b, got)
		}
	}
	// Where the REQ has no label, the QPNs give it.
	m := req(idA, 0x14, psnB)
	put(m.body, 88, 3, 0)
	w := newWire(t, 1)
	if _, ok := w.add(m).Conn.SourcePort(); ok {
		t.Error("the other QPN is not known yet")
	}
	w.add(rep(idA, idB, 0x3e, psnA))
	if port, ok := w.one().SourcePort(); !ok || port != 0xc4d8 {
		t.Errorf("%#x", port)
	}
}

// FuzzTracker gives a small tracker whatever comes, from few hosts with few
// IDs: it never holds more than it may, and what it holds is consistent.
func FuzzTracker(f *testing.F) {
	f.Add([]byte{0, 3, 4, 5, 6})
	f.Add([]byte{0, 0x10, 0x20, 0x30, 3, 0x13, 0x45, 0x91, 0xff, 7, 8, 0x47, 0x48})
	f.Fuzz(func(t *testing.T, script []byte) {
		const most = 3
		w := newWire(t, most)
		for len(script) >= 2 {
			x, y := script[0], script[1]
			script = script[2:]
			a := mad.REQ + mad.Attribute(x%12) // one too many
			from, to := byte(hostA), byte(hostB)
			if x&0x80 != 0 {
				from, to = to, from
			}
			m := ids(from, to, a, uint32(y&3), uint32(y>>2&3))
			put(m.body, 12, 3, uint64(y>>4))
			put(m.body, 32, 3, uint64(y>>4))
			put(m.body, 44, 3, uint64(y>>6))
			m.body[8] = y
			b := m.frame()
			cut := len(b)
			if x&0x40 != 0 && len(script) > 0 {
				cut = min(cut, int(script[0])*2)
			}
			c := w.see(b[:cut], len(b))
			if c != nil && c.Conn.Last.Number != w.n {
				t.Fatalf("what changed is not what the message is about: %+v", c)
			}
			n := 0
			w.tr.Each(func(c *cm.Conn) {
				n++
				if c.A.Addr == c.B.Addr || c.Last.Before(c.First) {
					t.Fatal(story(c))
				}
			})
			if n != w.tr.Len() || n > most || w.tr.Indexed() > 2*n || w.tr.Stats.Conns != w.tr.Stats.Evicted+uint64(n) {
				t.Fatalf("%d connections, %d remembered, %d IDs, %+v", n, w.tr.Len(), w.tr.Indexed(), w.tr.Stats)
			}
		}
	})
}

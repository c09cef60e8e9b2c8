package cm

import (
	"slices"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/decode/mad"
	"github.com/rocelens/rocelens/pipeline/record"
)

// Change is what a message changed. It is the Tracker's, and valid until the
// next Add.
type Change struct {
	// What is the state that the message stands for. The connection's own may
	// be a later one where messages come out of order, and the same What comes
	// twice where the second message tells a QPN that the first did not.
	What State
	Conn *Conn
	// New says that it is the first message seen of this connection.
	New bool
}

// Stats counts what a Tracker was given.
type Stats struct {
	Messages uint64 // of connection management
	Repeated uint64 // of them, those that were seen before
	Ignored  uint64 // other attributes, and those cut before their IDs
	Conns    uint64 // connections begun
	Evicted  uint64 // connections forgotten to make room
}

// Tracker follows the connections of the packets that it is given. It does not
// judge packets: leave out those with a wrong ICRC, and the second copy of
// what a mirror doubles. One goroutine at a time may use it.
type Tracker struct {
	Stats Stats

	max    int
	index  map[key]at
	len    int
	newest *Conn // by the last message
	oldest *Conn

	msg    mad.Message
	change Change
}

// key names a connection by what one side calls it. The same host may use an
// ID for a connection and for a resolution.
type key struct {
	from, to decode.Addr // from chose the ID
	id       uint32
	vni      uint32
	kind     decode.AddrKind
	tunnel   bool
	sidr     bool
}

// at is a connection, and the side of it that chose the ID.
type at struct {
	conn *Conn
	side uint8
}

// New returns a Tracker that remembers at most max connections, and at least
// one. A connection takes about 1.5 KB with its share of the index.
func New(max int) *Tracker {
	return &Tracker{max: max, index: make(map[key]at)}
}

// Len is how many connections are remembered.
func (t *Tracker) Len() int { return t.len }

// Is says whether a packet carries a message for a Tracker.
func Is(p *decode.Packet) bool {
	return p.Has&decode.HasMAD != 0 && p.MAD.Class == mad.Class
}

// Body are the bytes behind the common header of the management datagram that
// p carries, as far as they were captured.
func Body(p *decode.Packet) []byte {
	if l, ok := p.Layer(decode.LayerPayload); ok && p.Has&decode.HasMAD != 0 {
		return p.Bytes(l)
	}
	return nil
}

// Add takes the message that p carries, and says what it changed: nil if it
// carries none, repeats one, or tells nothing new. Nothing of p is kept.
func (t *Tracker) Add(p *decode.Packet, ref record.FrameRef) *Change {
	if !Is(p) {
		return nil
	}
	t.Stats.Messages++
	m := &t.msg
	if !m.Decode(mad.Attribute(p.MAD.Attribute), Body(p)) || m.Has&mad.HasLocalID == 0 {
		t.Stats.Ignored++
		return nil
	}
	out := key{
		from: p.Src, to: p.Dst, kind: p.AddrKind, vni: p.VNI,
		tunnel: p.Encap&(decode.EncapVXLAN|decode.EncapGeneve|decode.EncapNVGRE) != 0,
		sidr:   m.Attribute == mad.SIDRReq || m.Attribute == mad.SIDRRep,
	}
	back := out
	back.from, back.to = out.to, out.from
	out.id, back.id = m.LocalID, m.RemoteID
	if m.Attribute == mad.SIDRRep { // it names the request, and has no ID of its own
		out.id, back.id = 0, m.LocalID
	}

	c, side := t.find(out, back, ref)
	isNew := c == nil
	if isNew {
		c, side = t.begin(p, m, out, ref)
	}
	t.named(c, side, out)
	t.named(c, 1-side, back)
	t.touch(c)
	first := c.note(m.Attribute, ref)
	if !first {
		t.Stats.Repeated++
	}
	what, told := t.apply(c, side, ref)
	if !isNew && !told && !(first && what != none) {
		return nil
	}
	if what == none {
		what = c.State
	}
	t.change = Change{What: what, Conn: c, New: isNew}
	return &t.change
}

// find is the connection that a message belongs to, and the side that sent it.
// Where two would do, because an ID was given out again, it is the one that
// both IDs name.
func (t *Tracker) find(out, back key, ref record.FrameRef) (*Conn, uint8) {
	var found *Conn
	var side uint8
	if out.id != 0 {
		if f, ok := t.index[out]; ok && t.fits(f.conn, f.side, out.id, back.id, ref) {
			found, side = f.conn, f.side
		}
	}
	if back.id != 0 && (found == nil || found.IDs[1-side] != back.id) {
		if f, ok := t.index[back]; ok && t.fits(f.conn, 1-f.side, out.id, back.id, ref) &&
			(found == nil || f.conn.IDs[1-f.side] == out.id) {
			found, side = f.conn, 1-f.side
		}
	}
	return found, side
}

// lateRequest is how long after the first message of a connection its request
// may be seen, in nanoseconds: where two hosts' captures with different clocks
// are merged, answers come before what they answer. It is about the time in
// which CM repeats a message (4.3 s in Linux). Later, a request is a new one
// with an ID that was given out again.
const lateRequest = 5e9

// fits says whether the message, from one side, can belong to the connection.
// If not, an ID was given out again.
func (t *Tracker) fits(c *Conn, side uint8, id, peer uint32, ref record.FrameRef) bool {
	m := &t.msg
	if differ(c.IDs[side], id) || differ(c.IDs[1-side], peer) {
		return false
	}
	switch m.Attribute {
	case mad.REQ, mad.REP:
		if e := c.end(side); e.HasQPN && m.Has&mad.HasQPN != 0 && e.QPN != qpnOf(m, c.Service) {
			return false
		}
		// What a side tells the other to begin with is as good as random,
		// unlike the QPN.
		if c.CM.HasStartPSN[1-side] && m.Has&mad.HasStartPSN != 0 && c.CM.StartPSN[1-side] != m.StartPSN {
			return false
		}
		if m.Attribute == mad.REQ && c.Seen(mad.REQ).Count == 0 {
			return ref.Time-c.First.Time <= lateRequest
		}
	case mad.SIDRReq:
		return m.Has&mad.HasServiceID == 0 || c.ServiceID == 0 || c.ServiceID == m.ServiceID
	}
	return true
}

// differ says whether both IDs are known and not the same.
func differ(a, b uint32) bool { return a != 0 && b != 0 && a != b }

// begin makes a connection for a message, and says which side sent it.
func (t *Tracker) begin(p *decode.Packet, m *mad.Message, out key, ref record.FrameRef) (*Conn, uint8) {
	for t.len >= t.max && t.oldest != nil {
		t.Stats.Evicted++
		t.forget(t.oldest)
	}
	c := &Conn{
		Version: versionOf(p.Kind), HasVNI: out.tunnel, VNI: p.VNI, SIDR: out.sidr, First: ref, Last: ref,
	}
	t.Stats.Conns++
	t.len++
	side, sure := sender(m)
	c.Active = sure
	*c.end(side) = record.Endpoint{Addr: p.Src, Kind: p.AddrKind}
	*c.end(1 - side) = record.Endpoint{Addr: p.Dst, Kind: p.AddrKind}
	return c, side
}

// sender is the side that sends such a message, if only one does.
func sender(m *mad.Message) (side uint8, sure bool) {
	switch m.Attribute {
	case mad.REQ, mad.RTU, mad.SIDRReq:
		return 0, true
	case mad.REP, mad.SIDRRep:
		return 1, true
	case mad.REJ, mad.MRA:
		switch m.MsgRejected {
		case 0: // the REQ
			return 1, m.Attribute == mad.MRA || m.Has&mad.HasReason != 0
		case 1: // the REP
			return 0, true
		}
	}
	return 0, false
}

// named notes what a side calls the connection.
func (t *Tracker) named(c *Conn, side uint8, k key) {
	if k.id != 0 && c.IDs[side] == 0 {
		c.IDs[side], c.keys[side] = k.id, k
		t.index[k] = at{c, side}
	}
}

// touch makes a connection the last one to be forgotten.
func (t *Tracker) touch(c *Conn) {
	if t.newest == c {
		return
	}
	t.unlink(c)
	c.older = t.newest
	if t.newest != nil {
		t.newest.newer = c
	}
	t.newest = c
	if t.oldest == nil {
		t.oldest = c
	}
}

func (t *Tracker) unlink(c *Conn) {
	if c.older != nil {
		c.older.newer = c.newer
	}
	if c.newer != nil {
		c.newer.older = c.older
	}
	if t.oldest == c {
		t.oldest = c.newer
	}
	if t.newest == c {
		t.newest = c.older
	}
	c.newer, c.older = nil, nil
}

// forget drops a connection. Its IDs may be another's by now.
func (t *Tracker) forget(c *Conn) {
	t.unlink(c)
	t.len--
	for side, id := range c.IDs {
		if id != 0 && t.index[c.keys[side]].conn == c {
			delete(t.index, c.keys[side])
		}
	}
}

// Each calls f for each connection that is remembered, in the order of their
// first messages.
func (t *Tracker) Each(f func(*Conn)) {
	all := make([]*Conn, 0, t.len)
	for c := t.oldest; c != nil; c = c.newer {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b *Conn) int {
		switch {
		case a.First.Before(b.First):
			return -1
		case b.First.Before(a.First):
			return 1
		}
		return 0
	})
	for _, c := range all {
		f(c)
	}
}

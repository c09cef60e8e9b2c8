package track

import (
	"github.com/rocelens/rocelens/pipeline/cm"
	"github.com/rocelens/rocelens/pipeline/record"
)

// connection is what CM said of a session, before and while it has packets.
type connection struct {
	conn       *cm.Conn
	life       *life // of its session, nil before the first packet
	registered bool  // both its flows can be found
	disconnect *record.Disconnect
	rejected   bool
	lone       *flow  // the one of its flows that was seen, until the other is
	id         string // of a session without packets
	told       bool   // how it came about
}

// maxConnections bounds the connections that a Tracker remembers.
const maxConnections = 1 << 14

// Connection takes what a message of connection management has changed. It is
// called between the packets before and after that message.
func (t *Tracker) Connection(ch *cm.Change, ref record.FrameRef) {
	t.now = max(t.now, ref.Time)
	if ch.Conn.SIDR {
		return
	}
	c := t.byConn[ch.Conn]
	if c == nil && (len(t.connections) >= maxConnections || t.teller != nil && !ch.New && ch.Conn.State >= cm.Disconnecting) {
		return // or its session was told as over
	}
	if c == nil {
		c = &connection{conn: ch.Conn}
		t.byConn[ch.Conn] = c
		t.connections = append(t.connections, c)
	}
	if a, b := &ch.Conn.A, &ch.Conn.B; !c.registered && a.HasQPN && b.HasQPN {
		c.registered = true
		t.register(c, a, b, ref)
		t.register(c, b, a, ref)
	}
	switch ch.What {
	case cm.Disconnecting, cm.Disconnected:
		if c.disconnect == nil {
			c.disconnect = new(record.Disconnect)
			t.note(c, ref, c.disconnect)
		}
		c.disconnect.Answered = ch.What == cm.Disconnected
	case cm.Rejected:
		if !c.rejected {
			c.rejected = true
			t.note(c, ref, record.Reject{Reason: ch.Conn.CM.RejectReason, Text: ch.Conn.RejectText()})
		}
	}
}

// register lets the flow from one end to the other be found by what CM said of
// it, and begins a new life of its QPN where an old one is about.
func (t *Tracker) register(c *connection, from, to *record.Endpoint, ref record.FrameRef) {
	key := c.keyTo(from, to)
	t.conns[key] = c
	p := Packet{Src: from.Addr, Dst: to.Addr, DestQP: to.QPN, Kind: to.Kind, Version: c.conn.Version, VNI: key.vni}
	if c.conn.HasVNI {
		p.flags |= hasVNI
	}
	p.Hash()
	f := t.flows.find(&p)
	if f == nil {
		return
	}
	if f.first.time < c.conn.First.Time && f.life.conn != c {
		t.retire(f, "new_life")
		return
	}
	t.adopt(f, c)
}

// adopt tells a flow what CM said of it, and pairs it.
func (t *Tracker) adopt(f *flow, c *connection) {
	f.life.conn = c
	c.life = f.life
	if f.peer != nil {
		f.life.method, f.life.confidence = record.PairCM, 1
		return
	}
	g := c.lone
	if g == nil || g.gone || g.peer != nil || g.src != f.dst {
		c.lone = f
		return
	}
	t.pair(f, g, record.PairCM, 1)
	if c.conn.Active && f.life.began.src != c.conn.A.Addr {
		f.life.began = f.life.began.peer
	}
	c.life = f.life
}

// adoptNew looks whether CM announced a flow that has just begun.
func (t *Tracker) adoptNew(f *flow) {
	key := lifeKey{src: f.src, dst: f.dst, qpn: f.qpn, vni: f.vni, kind: f.kind}
	c := t.conns[key]
	if c == nil {
		return
	}
	delete(t.conns, key) // of this life alone
	if old := c.life; old != nil && old.incarnation > f.life.incarnation {
		f.life.incarnation = old.incarnation
	}
	t.adopt(f, c)
}

// note adds an event of a connection, whose session may have no packets yet.
func (t *Tracker) note(c *connection, ref record.FrameRef, d record.Detail) {
	t.put(event{conn: c, time: ref.Time, frame: ref, detail: d})
}

// idleConnections says how the connections came about, and returns those that
// carried nothing.
func (t *Tracker) idleConnections() (sessions []record.Session) {
	for _, c := range t.connections {
		t.connected(c)
		switch {
		case c.life == nil:
			sessions = append(sessions, t.idleSession(c))
		case c.disconnect != nil && c.life.state == record.StateOpen:
			c.life.state = record.StateClosed
		}
	}
	return sessions
}

// answered says whether the other side answered. An MRA alone is no answer.
func (c *connection) answered() bool {
	return c.conn.CM.Replied != 0 || c.conn.State >= cm.Established
}

// connected notes how a connection came about, if that is not done yet.
func (t *Tracker) connected(c *connection) {
	conn := c.conn
	if c.told || conn.CM.Requested == 0 || c.rejected {
		return
	}
	c.told = true
	took := int64(0)
	if conn.CM.Replied > conn.CM.Requested {
		took = conn.CM.Replied - conn.CM.Requested
	}
	t.note(c, conn.First, record.Connect{Answered: c.answered(), Requests: conn.CM.Requests, Took: took, Service: conn.CM.ServiceID})
}

// idleSession is the session of a connection that carried nothing.
func (t *Tracker) idleSession(c *connection) record.Session {
	conn := c.conn
	s := record.Session{
		Service: conn.Service, Version: conn.Version, VNI: conn.VNI, HasVNI: conn.HasVNI, Incarnation: 1,
		A: conn.A, B: conn.B, Application: conn.Application, CM: &conn.CM,
		First: conn.First, Last: conn.Last, PathMTU: conn.CM.PathMTU,
		AckTimeout: [2]int64{conn.CM.AckTimeout, conn.CM.AckTimeout},
	}
	if conn.A.HasQPN && conn.B.HasQPN {
		s.Pairing = record.Pairing{Method: record.PairCM, Confidence: 1}
	}
	switch {
	case conn.State == cm.Rejected:
		s.State, s.Failure = record.StateFailed, record.FailedConnection
	case !c.answered() && conn.CM.Requested != 0:
		s.State = record.StateUnanswered
	case c.disconnect != nil:
		s.State = record.StateClosed
	}
	c.id = t.uniqueName(c.plainName())
	s.ID = c.id
	return s
}

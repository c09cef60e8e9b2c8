package track

import (
	"slices"

	"github.com/rocelens/rocelens/pipeline/cm"
	"github.com/rocelens/rocelens/pipeline/record"
)

// tellConnections tells how connections came about, and forgets those that are
// over.
func (t *Tracker) tellConnections(now int64) {
	t.connections = slices.DeleteFunc(t.connections, func(c *connection) bool {
		quiet := now - t.since(c.conn.Last.Time)
		if quiet >= t.teller.Late {
			t.connected(c)
		}
		switch {
		case c.life != nil:
			if c.life.began.life.began.slot >= 0 {
				return false
			}
		case quiet < c.patience(t.teller):
			return false
		default:
			s := t.idleSession(c)
			t.tellSome(func(e *event) bool { return e.conn == c })
			t.tellIdle(&s, record.SessionSilent)
		}
		t.drop(c)
		return true
	})
}

// patience is how long a connection without packets waits for them.
func (c *connection) patience(x *teller) int64 {
	if c.conn.State >= cm.Rejected {
		return min(x.Late, x.Idle)
	}
	return x.Idle
}

// drop takes a connection out of all but the list of them.
func (t *Tracker) drop(c *connection) {
	delete(t.byConn, c.conn)
	a, b := &c.conn.A, &c.conn.B
	for _, key := range []lifeKey{c.keyTo(a, b), c.keyTo(b, a)} {
		if t.conns[key] == c {
			delete(t.conns, key)
		}
	}
}

// keyTo is the flow from one end of a connection to the other.
func (c *connection) keyTo(from, to *record.Endpoint) lifeKey {
	key := lifeKey{src: from.Addr, dst: to.Addr, qpn: to.QPN, kind: to.Kind}
	if c.conn.HasVNI {
		key.vni = c.conn.VNI
	}
	return key
}

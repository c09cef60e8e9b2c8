package cm

import (
	"github.com/rocelens/rocelens/decode/mad"
	"github.com/rocelens/rocelens/pipeline/record"
)

// none is the What of messages that stand for no state.
const none = State(0xff)

// apply notes what the tracker's message says of c, whose given side sent it.
// It returns the state that it stands for, and whether it told a QPN.
func (t *Tracker) apply(c *Conn, side uint8, ref record.FrameRef) (what State, told bool) {
	m := &t.msg
	if s, sure := sender(m); sure && !c.Active {
		if s != side {
			t.swap(c)
			side = s
		}
		c.Active = true
	}
	switch m.Attribute {
	case mad.REQ:
		return Requested, c.request(m, ref)
	case mad.REP:
		c.advance(Replied)
		return Replied, c.reply(m, ref)
	case mad.RTU:
		if c.CM.Established == 0 {
			c.CM.Established = ref.Time
		}
		c.advance(Established)
		return Established, false
	case mad.REJ:
		if c.State != Rejected {
			c.RejectedBy, c.CM.RejectReason = side, uint16(m.Reason)
		}
		c.advance(Rejected)
		return Rejected, false
	case mad.DREQ:
		if c.CM.Disconnected == 0 {
			c.CM.Disconnected = ref.Time
		}
		c.advance(Disconnecting)
		return Disconnecting, m.Has&mad.HasQPN != 0 && c.learn(1-side, m.QPN)
	case mad.DREP:
		c.advance(Disconnected)
		return Disconnected, false
	case mad.LAP:
		return none, m.Has&mad.HasQPN != 0 && c.learn(1-side, m.QPN)
	case mad.SIDRReq:
		return Requested, c.resolve(m, ref)
	case mad.SIDRRep:
		return c.resolved(m, ref)
	}
	return none, false
}

// request takes what a REQ says, the first time.
func (c *Conn) request(m *mad.Message, ref record.FrameRef) bool {
	c.CM.Requests = c.Seen(mad.REQ).Count
	if c.CM.Requests > 1 {
		return false
	}
	c.CM.Requested = ref.Time
	c.serve(m)
	cm := &c.CM
	cm.ResponderResources[0], cm.InitiatorDepth[0] = m.ResponderResources, m.InitiatorDepth
	if m.Has&mad.HasStartPSN != 0 {
		cm.StartPSN[1], cm.HasStartPSN[1] = m.StartPSN, true
	}
	if m.Has&mad.HasTransport != 0 {
		c.Service = serviceOf(m)
		cm.Service = c.Service
		cm.PathMTU, cm.RetryCount, cm.RNRRetry[1], cm.PKey = mad.PathMTU(m.MTU), m.RetryCount, m.RNRRetry, m.PKey
	}
	if m.Has&mad.HasPrimary != 0 {
		cm.AckTimeout, cm.NoAckTimer = mad.AckTimeout(m.Primary.AckTimeout), m.Primary.AckTimeout == 0
		c.FlowLabel, c.HasFlowLabel = m.Primary.FlowLabel, true
	}
	return m.Has&mad.HasQPN != 0 && c.learn(0, m.QPN)
}

// serve takes what REQ and SIDR_REQ say of the service.
func (c *Conn) serve(m *mad.Message) {
	cm := &c.CM
	if m.Has&mad.HasServiceID != 0 {
		c.ServiceID, cm.ServiceID = m.ServiceID, uint64(m.ServiceID)
		cm.DestPort = m.ServiceID.Port()
		c.Application = m.ServiceID.Application()
	}
	private := m.Private
	if m.Has&mad.HasIP != 0 {
		cm.SourcePort = m.IP.SourcePort
		private = m.Consumer
	}
	if n := copy(c.private[:], private); n > 0 {
		cm.Private = c.private[:n:n]
	}
}

// reply takes what a REP says, the first time.
func (c *Conn) reply(m *mad.Message, ref record.FrameRef) bool {
	if c.Seen(mad.REP).Count > 1 {
		return false
	}
	cm := &c.CM
	cm.Replied = ref.Time
	cm.ResponderResources[1], cm.InitiatorDepth[1] = m.ResponderResources, m.InitiatorDepth
	cm.RNRRetry[0] = m.RNRRetry
	if m.Has&mad.HasStartPSN != 0 {
		cm.StartPSN[0], cm.HasStartPSN[0] = m.StartPSN, true
	}
	return m.Has&mad.HasQPN != 0 && c.learn(1, qpnOf(m, c.Service))
}

// resolve takes what a SIDR_REQ says, the first time.
func (c *Conn) resolve(m *mad.Message, ref record.FrameRef) bool {
	c.CM.Requests = c.Seen(mad.SIDRReq).Count
	c.Service, c.CM.Service = record.UD, record.UD
	if c.CM.Requests == 1 {
		c.CM.Requested = ref.Time
		c.serve(m)
	}
	return false
}

// resolved takes what a SIDR_REP says.
func (c *Conn) resolved(m *mad.Message, ref record.FrameRef) (State, bool) {
	c.Service, c.CM.Service = record.UD, record.UD
	if c.CM.Replied == 0 {
		c.CM.Replied = ref.Time
	}
	if m.Has&mad.HasServiceID != 0 && c.ServiceID == 0 {
		c.ServiceID, c.CM.ServiceID = m.ServiceID, uint64(m.ServiceID)
		c.CM.DestPort = m.ServiceID.Port()
		c.Application = m.ServiceID.Application()
	}
	if m.Has&mad.HasStatus != 0 && m.Status != 0 {
		c.RejectedBy, c.SIDRStatus = 1, m.Status
		c.advance(Rejected)
		return Rejected, false
	}
	c.advance(Replied)
	if m.QKey != 0 {
		c.QKey = m.QKey
	}
	return Replied, m.Has&mad.HasQPN != 0 && c.learn(1, m.QPN)
}

// qpnOf is the QPN of the sender of a REQ or REP. The reply of XRC has it in
// the place of the end-to-end context (the kernel's cm_rep_get_qpn).
func qpnOf(m *mad.Message, s record.Service) uint32 {
	if m.Attribute == mad.REP && (s == record.XRC || m.QPN == 0) {
		return m.EECN
	}
	return m.QPN
}

// serviceOf is the transport service that a REQ asks for.
func serviceOf(m *mad.Message) record.Service {
	switch m.Service() {
	case "RC":
		return record.RC
	case "UC":
		return record.UC
	case "RD":
		return record.RD
	case "XRC":
		return record.XRC
	}
	return record.ServiceUnknown
}

// swap exchanges the sides of a connection whose active side was not known.
func (t *Tracker) swap(c *Conn) {
	c.A, c.B = c.B, c.A
	c.IDs[0], c.IDs[1] = c.IDs[1], c.IDs[0]
	c.keys[0], c.keys[1] = c.keys[1], c.keys[0]
	c.RejectedBy = 1 - c.RejectedBy
	for side, id := range c.IDs {
		if id != 0 {
			t.index[c.keys[side]] = at{c, uint8(side)}
		}
	}
}

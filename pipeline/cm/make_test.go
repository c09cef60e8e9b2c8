package cm_test

import (
	"encoding/binary"
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/decode/mad"
	"github.com/rocelens/rocelens/pipeline/cm"
	"github.com/rocelens/rocelens/pipeline/record"
)

// Two hosts, 10.0.0.1 and 10.0.0.2, and what they call their connection.
const (
	hostA, hostB = 1, 2
	idA, idB     = 0xa0a0a0a0, 0xb0b0b0b0
	qpnA, qpnB   = 0x000111, 0x000222
	psnA, psnB   = 0x0aaaaa, 0x0bbbbb // what each begins to send with
)

// message is one message on its way.
type message struct {
	from, to byte
	attr     mad.Attribute
	body     []byte
}

// put writes v big-endian into n bytes at off.
func put(b []byte, off, n int, v uint64) {
	for i := range n {
		b[off+i] = byte(v >> (8 * (n - 1 - i)))
	}
}

// make begins a message with its two IDs.
func ids(from, to byte, a mad.Attribute, local, remote uint32) message {
	b := make([]byte, mad.BodyLen)
	put(b, 0, 4, uint64(local))
	put(b, 4, 4, uint64(remote))
	return message{from, to, a, b}
}

func req(id, qpn, psn uint32) message {
	m := ids(hostA, hostB, mad.REQ, id, 0)
	put(m.body, 8, 8, 0x01061144)
	put(m.body, 32, 3, uint64(qpn))
	m.body[35], m.body[39] = 16, 8 // responder resources, initiator depth
	put(m.body, 44, 3, uint64(psn))
	m.body[47] = 20<<3 | 6 // response timeout, retry count
	put(m.body, 48, 2, 0x8001)
	m.body[50] = 3<<4 | 5 // MTU 1024, RNR retry 5
	put(m.body, 88, 3, 0x12345<<4)
	m.body[95] = 14 << 3 // ACK timeout
	copy(m.body[140:], []byte{0, 0x40, 0xab, 0xcd})
	copy(m.body[176:], "hello")
	return m
}

func rep(idA, idB, qpn, psn uint32) message {
	m := ids(hostB, hostA, mad.REP, idB, idA)
	put(m.body, 12, 3, uint64(qpn))
	put(m.body, 20, 3, uint64(psn))
	m.body[24], m.body[25] = 8, 16
	m.body[27] = 7 << 5
	return m
}

func rtu() message { return ids(hostA, hostB, mad.RTU, idA, idB) }

func rej(from, to byte, local, remote uint32, what byte, reason uint16) message {
	m := ids(from, to, mad.REJ, local, remote)
	m.body[8] = what << 6
	put(m.body, 10, 2, uint64(reason))
	return m
}

// dreq names the QPN of its receiver.
func dreq(from, to byte, local, remote, qpn uint32) message {
	m := ids(from, to, mad.DREQ, local, remote)
	put(m.body, 8, 3, uint64(qpn))
	return m
}

func dreqA() message { return dreq(hostA, hostB, idA, idB, qpnB) }
func dreqB() message { return dreq(hostB, hostA, idB, idA, qpnA) }
func drepA() message { return ids(hostA, hostB, mad.DREP, idA, idB) }
func drepB() message { return ids(hostB, hostA, mad.DREP, idB, idA) }

func mra(from, to byte, local, remote uint32, what byte) message {
	m := ids(from, to, mad.MRA, local, remote)
	m.body[8] = what << 6
	return m
}

func sidrReq(id uint32) message {
	m := ids(hostA, hostB, mad.SIDRReq, id, 0xffff0000)
	put(m.body, 8, 8, 0x01111c06)
	copy(m.body[16:], []byte{0, 0x40, 0xab, 0xcd})
	return m
}

func sidrRep(id uint32, status byte, qpn uint32) message {
	m := ids(hostB, hostA, mad.SIDRRep, id, uint32(status)<<24)
	put(m.body, 8, 3, uint64(qpn))
	put(m.body, 12, 8, 0x01111c06)
	put(m.body, 20, 4, 0x01234567)
	return m
}

// frame is the message in Ethernet, IPv4, UDP, BTH, DETH and the common header.
func (m message) frame() []byte {
	const ip, udp, bth, deth, hdr = 14, 34, 42, 54, 62
	n := hdr + 24 + len(m.body) + 4
	b := make([]byte, n)
	b[12], b[13] = 0x08, 0x00
	b[ip], b[ip+8], b[ip+9] = 0x45, 64, 17
	binary.BigEndian.PutUint16(b[ip+2:], uint16(n-ip))
	copy(b[ip+12:], []byte{10, 0, 0, m.from, 10, 0, 0, m.to})
	binary.BigEndian.PutUint16(b[udp:], 50000)
	binary.BigEndian.PutUint16(b[udp+2:], 4791)
	binary.BigEndian.PutUint16(b[udp+4:], uint16(n-udp))
	b[bth] = byte(decode.OpUDSendOnly)
	b[bth+2], b[bth+3], b[bth+7] = 0xff, 0xff, 1
	binary.BigEndian.PutUint32(b[deth:], 0x80010000)
	b[deth+7] = 1
	copy(b[hdr:], []byte{1, mad.Class, 2, 3})
	binary.BigEndian.PutUint16(b[hdr+16:], uint16(m.attr))
	copy(b[hdr+24:], m.body)
	return b
}

// wire feeds messages to a tracker.
type wire struct {
	t     testing.TB
	tr    *cm.Tracker
	dec   *decode.Decoder
	p     decode.Packet
	frame capture.Frame
	n     uint64
	step  int64                // ns between messages
	alter func(*decode.Packet) // before the tracker sees it
}

func newWire(t testing.TB, max int) *wire {
	return &wire{t: t, tr: cm.New(max), dec: decode.New(decode.DefaultConfig()), step: 1000}
}

// see decodes a frame and adds it.
func (w *wire) see(data []byte, origLen int) *cm.Change {
	w.n++
	w.frame = capture.Frame{Data: data, OrigLen: uint32(origLen), Link: capture.LinkEthernet}
	w.dec.Decode(&w.frame, &w.p)
	if w.alter != nil {
		w.alter(&w.p)
	}
	return w.tr.Add(&w.p, record.FrameRef{Number: w.n, Time: int64(w.n) * w.step})
}

func (w *wire) add(m message) *cm.Change {
	b := m.frame()
	return w.see(b, len(b))
}

// conns are all connections, as stories.
func (w *wire) conns() (list []string) {
	w.tr.Each(func(c *cm.Conn) { list = append(list, story(c)) })
	return list
}

// one is the only connection.
func (w *wire) one() *cm.Conn {
	w.t.Helper()
	var c *cm.Conn
	if w.tr.Each(func(x *cm.Conn) { c = x }); w.tr.Len() != 1 || c == nil {
		w.t.Fatalf("%d connections: %q", w.tr.Len(), w.conns())
	}
	return c
}

// first is the first connection.
func (w *wire) first() (first *cm.Conn) {
	w.tr.Each(func(c *cm.Conn) {
		if first == nil {
			first = c
		}
	})
	return first
}

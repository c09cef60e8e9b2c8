package anonymize

import (
	"encoding/binary"

	"github.com/rocelens/rocelens/decode/mad"
)

// part is a field of a message of connection management. What is no part
// becomes zeros: private data above all.
type part struct {
	off, n int
	what   what
}

// what becomes of a part.
type what uint8

const (
	same what = iota
	id        // communication ID (4)
	guid      // of an adapter (8)
	qpn       // (3)
	qkey      // (4)
	lid       // (2)
	gid       // (16)
)

// messages are the parts of each message, whose layouts package mad draws. The
// vendor ID of a REQ is none: it is the beginning of a MAC address.
var messages = map[mad.Attribute][]part{
	mad.REQ: {
		{0, 4, id}, {8, 8, same}, {16, 8, guid}, {28, 4, qkey}, {32, 3, qpn}, {35, 1, same}, {36, 3, qpn}, {39, 1, same}, {40, 3, qpn}, {43, 9, same},
		{52, 2, lid}, {54, 2, lid}, {56, 16, gid}, {72, 16, gid}, {88, 8, same},
		{96, 2, lid}, {98, 2, lid}, {100, 16, gid}, {116, 16, gid}, {132, 8, same},
	},
	mad.REP:     {{0, 4, id}, {4, 4, id}, {8, 4, qkey}, {12, 3, qpn}, {16, 3, qpn}, {20, 8, same}, {28, 8, guid}},
	mad.RTU:     {{0, 4, id}, {4, 4, id}},
	mad.DREP:    {{0, 4, id}, {4, 4, id}},
	mad.REJ:     {{0, 4, id}, {4, 4, id}, {8, 4, same}},
	mad.MRA:     {{0, 4, id}, {4, 4, id}, {8, 2, same}},
	mad.DREQ:    {{0, 4, id}, {4, 4, id}, {8, 3, qpn}},
	mad.LAP:     {{0, 4, id}, {4, 4, id}, {12, 3, qpn}, {15, 1, same}, {20, 2, lid}, {22, 2, lid}, {24, 16, gid}, {40, 16, gid}, {56, 8, same}},
	mad.APR:     {{0, 4, id}, {4, 4, id}, {8, 2, same}},
	mad.SIDRReq: {{0, 4, id}, {4, 2, same}, {8, 8, same}},
	mad.SIDRRep: {{0, 4, id}, {4, 2, same}, {8, 3, qpn}, {12, 8, same}, {20, 4, qkey}},
}

// management rewrites the body of a management datagram: messages of connection
// management. Those of other classes become zeros.
func (w *work) management(in, out []byte) {
	attribute := mad.Attribute(w.p.MAD.Attribute)
	if w.p.MAD.Class != mad.Class {
		return
	}
	for _, p := range messages[attribute] {
		w.part(p, in, out)
	}
	m := &w.a.msg
	if !m.Decode(attribute, in) || m.Has&mad.HasIP == 0 {
		return
	}
	at := 140
	if attribute == mad.SIDRReq {
		at = 16
	}
	w.rdmaCM(in[at:at+mad.IPHeaderLen], out[at:])
}

func (w *work) part(p part, in, out []byte) {
	m := w.a.m
	whole := p.off+p.n <= len(in)
	switch p.what {
	case same:
		keep(in, out, p.off, p.off+p.n)
	case id:
		if whole {
			binary.BigEndian.PutUint32(out[p.off:], uint32(m.id(treeCM, uint64(be32(in[p.off:])), 4)))
		}
	case guid:
		if whole {
			binary.BigEndian.PutUint64(out[p.off:], m.guid(be64(in[p.off:])))
		}
	case qpn:
		w.qpn(in, out, p.off)
	case qkey:
		w.qkey(in, out, p.off)
	case lid:
		w.lid(in, out, p.off)
	case gid:
		w.ip6(in, out, p.off)
	}
}

// rdmaCM maps the addresses in the header that RDMA-CM puts before private
// data. Its ports stay, as the service ID does.
func (w *work) rdmaCM(in, out []byte) {
	const source, dest, four = 4, 20, 12
	keep(in, out, 0, source)
	if in[1]>>4 == 4 {
		w.ip4(in, out, source+four)
		w.ip4(in, out, dest+four)
		return
	}
	w.ip6(in, out, source)
	w.ip6(in, out, dest)
}

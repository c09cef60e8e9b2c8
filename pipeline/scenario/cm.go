package scenario

import "encoding/binary"

// MADs are 256 bytes (volume 1, 13.4): a header of 24 and the message.
const (
	madLen    = 256
	madHeader = 24
)

// Attribute IDs of connection management (volume 1, 16.7.1), in the order of a
// connection's life.
const (
	attrREQ  = 0x10
	attrREJ  = 0x12
	attrREP  = 0x13
	attrRTU  = 0x14
	attrDREQ = 0x15
	attrDREP = 0x16
)

var attrNames = map[uint16]string{
	attrREQ: "REQ", attrREJ: "REJ", attrREP: "REP", attrRTU: "RTU", attrDREQ: "DREQ", attrDREP: "DREP",
}

const (
	cmClass       = 0x07
	cmMethodSend  = 0x03
	cmPort        = 7174 // rping's
	cmServiceID   = 0x0000_0000_0106_0000 | cmPort
	cmTimeoutCode = 14 // 67 ms: the other side's CM answers by then
	cmRetries     = 4
	rejectService = 8 // REJ reason: invalid service id
)

// madBody is a connection management message and what it needs to know.
type madBody struct {
	attr   uint16
	tid    uint64
	local  uint32 // communication IDs
	remote uint32
	sess   *session
	from   int
}

// append appends the MAD. Offsets are those of the kernel's
// ibta_vol1_c12.h, counted from behind the header.
//
//	| base version | class | class version | method | status | class specific |
//	| transaction ID (64)                                                     |
//	| attribute ID | reserved | attribute modifier                            |
func (m *madBody) append(b []byte) []byte {
	be := binary.BigEndian
	var mad [madLen]byte
	mad[0], mad[1], mad[2], mad[3] = 1, cmClass, 2, cmMethodSend
	be.PutUint64(mad[8:], m.tid)
	be.PutUint16(mad[16:], m.attr)
	d := mad[madHeader:]
	be.PutUint32(d, m.local)
	if m.attr != attrREQ {
		be.PutUint32(d[4:], m.remote)
	}
	switch m.attr {
	case attrREQ:
		m.request(d)
	case attrREP:
		m.reply(d)
	case attrREJ:
		be.PutUint16(d[10:], rejectService) // of a REQ, without further information
	case attrDREQ:
		put24(d[8:], m.sess.spec.side(1-m.from).QPN)
	}
	return append(b, mad[:]...)
}

// request fills in REQ.
func (m *madBody) request(d []byte) {
	be := binary.BigEndian
	se := m.sess
	spec := se.spec
	side := spec.side(m.from)
	src, dst := se.s.hostOf(se, m.from), se.s.hostOf(se, 1-m.from)
	be.PutUint64(d[8:], cmServiceID)
	be.PutUint64(d[16:], uint64(spec.side(m.from).Host)+0x0252_4f00_0300_0000) // CA GUID
	put24(d[32:], side.QPN)
	d[35] = uint8(spec.Requester.MaxReads) // responder resources
	d[39] = uint8(spec.Requester.MaxReads) // initiator depth
	transport := map[Service]uint8{RC: 0, UC: 1, XRC: 3}[spec.Service]
	d[43] = cmTimeoutCode<<3 | transport<<1
	put24(d[44:], side.StartPSN)
	d[47] = cmTimeoutCode<<3 | uint8(max(0, spec.Requester.RetryCount))
	be.PutUint16(d[48:], 0xffff)
	d[50] = mtuCode(spec.PathMTU)<<4 | uint8(max(0, spec.Requester.RNRRetry))
	d[51] = cmRetries << 4
	if spec.Service == XRC {
		d[51] |= 1
	}
	be.PutUint16(d[52:], 0xffff)
	be.PutUint16(d[54:], 0xffff)
	s, t := src.addr.As16(), dst.addr.As16()
	copy(d[56:], s[:])
	copy(d[72:], t[:])
	be.PutUint32(d[88:], se.flowLabel<<12)
	d[92], d[93] = dscpData<<2, defaultTTL
	d[95] = spec.Requester.AckTimeout << 3
	// Private data: the RDMA-CM header (rdma_cm): version, IP version, source
	// port, addresses.
	pd := d[140:]
	pd[1] = 4 << 4
	if src.addr.Is6() {
		pd[1] = 6 << 4
	}
	be.PutUint16(pd[2:], uint16(40000+se.id))
	if src.addr.Is4() {
		s4, t4 := src.addr.As4(), dst.addr.As4()
		copy(pd[16:], s4[:])
		copy(pd[32:], t4[:])
		return
	}
	copy(pd[4:], s[:])
	copy(pd[20:], t[:])
}

// reply fills in REP.
func (m *madBody) reply(d []byte) {
	spec := m.sess.spec
	side := spec.side(m.from)
	put24(d[12:], side.QPN)
	if spec.Service == XRC {
		put24(d[16:], side.QPN)
	}
	put24(d[20:], side.StartPSN)
	d[24], d[25] = uint8(spec.Requester.MaxReads), uint8(spec.Requester.MaxReads)
	d[27] = uint8(max(0, spec.Requester.RNRRetry)) << 5
	binary.BigEndian.PutUint64(d[28:], uint64(side.Host)+0x0252_4f00_0300_0000)
}

func put24(b []byte, v uint32) {
	b[0], b[1], b[2] = byte(v>>16), byte(v>>8), byte(v)
}

// mtuCode is 1 for 256 bytes up to 5 for 4096.
func mtuCode(mtu int) uint8 {
	code := uint8(1)
	for m := 256; m < mtu; m *= 2 {
		code++
	}
	return code
}

package mad

// req reads the request for communication (volume 1, table 106).
//
//	  0  local communication ID (4)
//	  4  reserved (1) | vendor ID (3)
//	  8  service ID (8)
//	 16  local CA GUID (8)
//	 24  reserved (4) | local Q_Key (4)
//	 32  local QPN (3) | responder resources (1)
//	 36  local EECN (3) | initiator depth (1)
//	 40  remote EECN (3) | remote response timeout 5, transport 2, end-to-end 1 bits
//	 44  starting PSN (3) | local response timeout 5, retry count 3 bits
//	 48  P_Key (2) | MTU 4, RDC 1, RNR retry 3 bits | max CM retries 4, SRQ 1, extended transport 3 bits
//	 52  primary path (44), see reqPath
//	 96  alternate path (44)
//	140  private data (92)
func (m *Message) req(b reader) {
	m.VendorID = b.u24(5)
	m.ServiceID = ServiceID(b.u64(8))
	m.has(b, 16, HasServiceID)
	m.CAGUID, m.QKey = b.u64(16), b.u32(28)
	m.QPN, m.ResponderResources = b.u24(32), b.u8(35)
	m.has(b, 35, HasQPN)
	m.EECN, m.InitiatorDepth = b.u24(36), b.u8(39)
	m.RemoteEEC = b.u24(40)
	x := b.u8(43)
	m.RemoteResponseTimeout, m.Transport, m.EndToEnd = x>>3, x>>1&3, x&1 != 0
	m.StartPSN = b.u24(44)
	m.has(b, 47, HasStartPSN)
	x = b.u8(47)
	m.LocalResponseTimeout, m.RetryCount = x>>3, x&7
	m.PKey = b.u16(48)
	x = b.u8(50)
	m.MTU, m.RDC, m.RNRRetry = x>>4, x>>3&1 != 0, x&7
	x = b.u8(51)
	m.MaxCMRetries, m.SRQ, m.ExtendedTransport = x>>4, x>>3&1 != 0, x&7
	m.has(b, 52, HasTransport)
	m.Primary = b.reqPath(52)
	m.has(b, 96, HasPrimary)
	m.Alternate = b.reqPath(96)
	m.has(b, 140, HasAlternate)
	m.Private = b.span(140, BodyLen)
	m.ip()
}

// reqPath reads one of a request's two paths, which begins at off.
//
//	 0  local LID (2) | remote LID (2)
//	 4  local GID (16)
//	20  remote GID (16)
//	36  flow label 20, reserved 6, packet rate 6 bits
//	40  traffic class (1) | hop limit (1) | SL 4, subnet local 1 bits | ACK timeout 5 bits
func (b reader) reqPath(off int) Path {
	return Path{
		LocalLID: b.u16(off), RemoteLID: b.u16(off + 2),
		LocalGID: b.gid(off + 4), RemoteGID: b.gid(off + 20),
		FlowLabel: b.u24(off+36) >> 4, PacketRate: b.u8(off+39) & 0x3f,
		TrafficClass: b.u8(off + 40), HopLimit: b.u8(off + 41),
		SL: b.u8(off+42) >> 4, SubnetLocal: b.u8(off+42)>>3&1 != 0, AckTimeout: b.u8(off+43) >> 3,
	}
}

// rep reads the reply (volume 1, table 110).
//
//	 0  local communication ID (4) | remote communication ID (4)
//	 8  local Q_Key (4)
//	12  local QPN (3) | reserved (1)
//	16  local EECN (3) | reserved (1)
//	20  starting PSN (3) | reserved (1)
//	24  responder resources (1) | initiator depth (1)
//	26  target ACK delay 5, failover 2, end-to-end 1 bits | RNR retry 3, SRQ 1 bits
//	28  local CA GUID (8)
//	36  private data (196)
func (m *Message) rep(b reader) {
	m.QKey, m.QPN, m.EECN = b.u32(8), b.u24(12), b.u24(16)
	m.has(b, 19, HasQPN)
	m.StartPSN = b.u24(20)
	m.has(b, 23, HasStartPSN)
	m.ResponderResources, m.InitiatorDepth = b.u8(24), b.u8(25)
	x := b.u8(26)
	m.TargetAckDelay, m.Failover, m.EndToEnd = x>>3, x>>1&3, x&1 != 0
	x = b.u8(27)
	m.RNRRetry, m.SRQ = x>>5, x>>4&1 != 0
	m.has(b, 28, HasTransport)
	m.CAGUID = b.u64(28)
	m.Private = b.span(36, BodyLen)
}

// rej reads the reject (volume 1, table 108).
//
//	 0  local communication ID (4) | remote communication ID (4)
//	 8  message rejected 2 bits | length of the information 7 bits | reason (2)
//	12  additional reject information (72)
//	84  private data (148)
func (m *Message) rej(b reader) {
	m.MsgRejected, m.Reason = b.u8(8)>>6, Reason(b.u16(10))
	m.has(b, 12, HasReason)
	m.Info = b.span(12, 12+min(int(b.u8(9)>>1), infoLen))
	m.Private = b.span(84, BodyLen)
}

// lap reads the load alternate path (volume 1, table 115).
//
//	 0  local communication ID (4) | remote communication ID (4)
//	12  remote QPN (3) | remote response timeout 5 bits
//	20  local LID (2) | remote LID (2) | local GID (16) | remote GID (16)
//	56  flow label 20, reserved 4 bits | traffic class (1)
//	60  hop limit (1) | reserved 2, packet rate 6 bits | SL 4, subnet local 1 bits | ACK timeout 5 bits
//	64  private data (168)
func (m *Message) lap(b reader) {
	m.QPN, m.RemoteResponseTimeout = b.u24(12), b.u8(15)>>3
	m.has(b, 15, HasQPN)
	m.Alternate = Path{
		LocalLID: b.u16(20), RemoteLID: b.u16(22),
		LocalGID: b.gid(24), RemoteGID: b.gid(40),
		FlowLabel: b.u24(56) >> 4, TrafficClass: b.u8(59), HopLimit: b.u8(60), PacketRate: b.u8(61) & 0x3f,
		SL: b.u8(62) >> 4, SubnetLocal: b.u8(62)>>3&1 != 0, AckTimeout: b.u8(63) >> 3,
	}
	m.has(b, 64, HasAlternate)
	m.Private = b.span(64, BodyLen)
}

// sidrRep reads the service ID resolution response (volume 1, table 120).
//
//	 0  request ID (4)
//	 4  status (1) | length of the information (1) | reserved (2)
//	 8  QPN (3) | reserved (1)
//	12  service ID (8)
//	20  Q_Key (4)
//	24  additional information (72)
//	96  private data (136)
func (m *Message) sidrRep(b reader) {
	m.Status = b.u8(4)
	m.has(b, 5, HasStatus)
	m.QPN = b.u24(8)
	m.has(b, 11, HasQPN)
	m.ServiceID = ServiceID(b.u64(12))
	m.has(b, 20, HasServiceID)
	m.QKey = b.u32(20)
	m.Info = b.span(24, 24+min(int(b.u8(5)), infoLen))
	m.Private = b.span(96, BodyLen)
}

// IPHeader is what RDMA-CM puts before the application's private data in a
// request (annex A11; the kernel's struct cma_hdr).
//
//	 0  version: major 4, minor 4 bits | IP version 4, reserved 4 bits | source port (2)
//	 4  source address (16)
//	20  destination address (16)
//
// An IPv4 address is in the last 4 bytes of its 16.
type IPHeader struct {
	Major, Minor uint8
	Version      uint8 // 4 or 6
	SourcePort   uint16
	// Source and Dest are IPv6 addresses, or IPv4 ones in the last 4 bytes as
	// they are on the wire: not mapped.
	Source, Dest [16]byte
}

// IPHeaderLen is the length of IPHeader in bytes.
const IPHeaderLen = 36

// ip reads RDMA-CM's header if the service ID says that there is one and it
// looks like one.
func (m *Message) ip() {
	b := reader(m.Private)
	v := b.u8(1) >> 4
	if !m.ServiceID.RDMACM() || len(b) < IPHeaderLen || b[0]>>4 != 0 || v != 4 && v != 6 {
		return
	}
	m.Has |= HasIP
	m.IP = IPHeader{
		Major: b[0] >> 4, Minor: b[0] & 15, Version: v, SourcePort: b.u16(2), Source: b.gid(4), Dest: b.gid(20),
	}
	m.Consumer = b.span(IPHeaderLen, len(b))
}

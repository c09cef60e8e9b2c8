package scenario

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"
)

// template is a frame in which only some fields change: Ethernet, IPv4 without
// options, UDP, BTH and what follows.
type template struct {
	b []byte
}

// Where the fields are.
const (
	tmplIP   = ethLen
	tmplUDP  = tmplIP + ipv4Len
	tmplBTH  = tmplUDP + udpLen
	tmplAETH = tmplBTH + bthLen
)

// prepare makes the templates, with the same code as all other frames.
func (r *bulkRun) prepare() {
	first, middle, last := uint8(opWriteFirst), uint8(opWriteMiddle), uint8(opWriteLast)
	if !r.bulk.write {
		first, middle, last = opSendFirst, opSendMiddle, opSendLast
	}
	s := &simulation{spec: &Spec{Sessions: []Session{{A: Side{Host: 0}, B: Side{Host: 1}}}}}
	s.setDefaults()
	s.hosts = []*host{{addr: hostAddr(0, false), mac: hostMAC(0)}, {addr: hostAddr(1, false), mac: hostMAC(1)}}
	se := &session{s: s, spec: &s.spec.Sessions[0]}
	for i := range se.streams {
		se.streams[i] = &stream{sess: se, index: i}
	}
	made := func(p packet) template {
		p.sess, p.dscp, p.ecn = se, dscpData, ecnECT0
		return template{s.appendFrame(nil, &p, false)}
	}
	request := packet{kind: kindRequest, va: 0x7f00_0000_0000, key: 0x1000, dmaLen: uint32(r.perMsg * r.payload), payload: r.payload}
	for i, op := range []uint8{first, middle, last} {
		p := request
		p.op, p.ackReq = op, op == last
		r.data[i] = made(p)
	}
	r.ack = made(packet{kind: kindAnswer, from: 1, op: opAcknowledge})
	r.gap[0] = s.serialise(&request)
	r.gap[1] = s.serialise(&packet{op: opAcknowledge, sess: se})
}

// address says from which host and to which QP of which host it goes.
func (t *template) address(from, to int, qpn, psn uint32, port uint16) {
	be := binary.BigEndian
	b := t.b[:tmplBTH+bthLen]
	src, dst := hostMAC(from), hostMAC(to)
	copy(b, dst[:])
	copy(b[6:], src[:])
	// hostAddr's addresses.
	be.PutUint32(b[tmplIP+12:], 10<<24|uint32(from+1))
	be.PutUint32(b[tmplIP+16:], 10<<24|uint32(to+1))
	be.PutUint16(b[tmplUDP:], port)
	be.PutUint32(b[tmplBTH+4:], qpn&psnMask)
	ack := b[tmplBTH+8]
	be.PutUint32(b[tmplBTH+8:], psn&psnMask)
	b[tmplBTH+8] = ack
}

func (t *template) aeth(syndrome uint8, msn uint32) {
	binary.BigEndian.PutUint32(t.b[tmplAETH:], uint32(syndrome)<<24|msn&psnMask)
}

// seal fills in what depends on the rest, and returns as much of the frame as
// is kept. An ICRC that is cut off is not computed.
func (t *template) seal(ipid uint16, snap int) []byte {
	be := binary.BigEndian
	ip := t.b[tmplIP : tmplIP+ipv4Len]
	be.PutUint16(ip[4:], ipid)
	be.PutUint16(ip[10:], 0)
	be.PutUint16(ip[10:], ipChecksum(ip))
	end := len(t.b) - icrcLen
	if snap > 0 && snap <= end {
		return t.b[:snap]
	}
	// As in icrc, without passing the headers on one by one.
	var masked [ipv4Len + udpLen + bthLen]byte
	copy(masked[:], t.b[tmplIP:])
	masked[1], masked[8], masked[10], masked[11] = 0xff, 0xff, 0xff, 0xff
	masked[ipv4Len+6], masked[ipv4Len+7] = 0xff, 0xff
	masked[ipv4Len+udpLen+4] = 0xff
	sum := crc32.Update(icrcSeed, crc32.IEEETable, masked[:])
	sum = crc32.Update(sum, crc32.IEEETable, t.b[tmplAETH:end])
	be.PutUint32(t.b[end:], bits.ReverseBytes32(sum))
	if snap > 0 && snap < len(t.b) {
		return t.b[:snap]
	}
	return t.b
}

// list describes a session, where there are few enough.
func (r *bulkRun) list(i, messages int) {
	a, b := r.ends(i)
	info := func(host, side int, psn uint32) SideInfo {
		return SideInfo{
			Addr: hostAddr(host, false).String(), MAC: macString(hostMAC(host)), QPN: bulkQPN(i, side), StartPSN: psn, UDPPort: bulkPort(i),
		}
	}
	psn := r.state[i].psn
	n := uint64(messages * r.perMsg)
	st := newStreamTruth(0, psn)
	st.NextPSN = (psn + uint32(n)) & psnMask
	st.UnackedPSN, st.PSNs = st.NextPSN, n
	st.Sent = Sent{First: n, Payload: n * uint64(r.payload)}
	r.truth.Sessions = append(r.truth.Sessions, &SessionTruth{
		ID: i, Service: RC, A: info(a, 0, psn), B: info(b+r.hosts, 1, 0), PathMTU: r.payload, Life: 1, State: "done",
		Streams: []*StreamTruth{st},
	})
}

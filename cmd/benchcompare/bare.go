package main

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// The captures are pcap files with nanoseconds, little-endian, of Ethernet with
// IPv4 and UDP: nothing else is read here.
const (
	fileHeader   = 24
	recordHeader = 16
	ipAt         = 14
	udpAt        = ipAt + 20
	bthAt        = udpAt + 8
	payloadAt    = bthAt + 12
)

var errFormat = errors.New("no pcap file of the kind that this program makes")

// counted is what the bare loop finds.
type counted struct {
	packets uint64
	flows   int
	bad     uint64
}

// bareFlow is a flow of the loop's table. A free place has no packets.
type bareFlow struct {
	src, dst, qpn uint32
	psn           uint32
	packets       uint64
}

// bare is the least that a program can do that follows RoCE flows: it maps a
// file, finds each packet's BTH and its flow, and with icrc checks the ICRC. It
// knows one kind of packet, looks at no length but the record's, and says
// nothing of what it saw.
func bare(path string, icrc bool) (counted, error) {
	data, unmap, err := mapFile(path)
	if err != nil {
		return counted{}, err
	}
	defer unmap()
	if len(data) < fileHeader || binary.LittleEndian.Uint32(data) != 0xa1b23c4d {
		return counted{}, errFormat
	}
	l := bareLoop{flows: make([]bareFlow, 1<<12), icrc: icrc}
	l.read(data[fileHeader:])
	return l.counted, nil
}

type bareLoop struct {
	counted
	flows  []bareFlow
	icrc   bool
	masked [8 + payloadAt - ipAt]byte
}

func (l *bareLoop) read(data []byte) {
	le, be := binary.LittleEndian, binary.BigEndian
	for len(data) >= recordHeader {
		n := int(le.Uint32(data[8:]))
		if len(data) < recordHeader+n || n < payloadAt {
			return
		}
		frame := data[recordHeader : recordHeader+n]
		l.packets++
		if be.Uint16(frame[12:]) == 0x0800 && frame[ipAt+9] == 17 && be.Uint16(frame[udpAt+2:]) == 4791 {
			f := l.flow(be.Uint32(frame[ipAt+12:]), be.Uint32(frame[ipAt+16:]), be.Uint32(frame[bthAt+4:])&0xffffff)
			f.packets++
			f.psn = be.Uint32(frame[bthAt+8:]) & 0xffffff
			if l.icrc && !l.good(frame) {
				l.bad++
			}
		}
		data = data[recordHeader+n:]
	}
}

func (l *bareLoop) flow(src, dst, qpn uint32) *bareFlow {
	for i := bareHash(src, dst, qpn); ; i++ {
		f := &l.flows[i&uint64(len(l.flows)-1)]
		switch {
		case f.packets == 0:
			if l.counted.flows++; 2*l.counted.flows > len(l.flows) {
				l.grow()
				return l.flow(src, dst, qpn)
			}
			f.src, f.dst, f.qpn = src, dst, qpn
			return f
		case f.qpn == qpn && f.src == src && f.dst == dst:
			return f
		}
	}
}

func (l *bareLoop) grow() {
	old := l.flows
	l.flows, l.counted.flows = make([]bareFlow, 2*len(old)), 0
	for _, f := range old {
		if f.packets > 0 {
			*l.flow(f.src, f.dst, f.qpn) = f
		}
	}
}

func bareHash(src, dst, qpn uint32) uint64 {
	h := (uint64(src)<<32 | uint64(dst)) * 0x9e3779b97f4a7c15
	h = (h ^ h>>29 ^ uint64(qpn)) * 0xbf58476d1ce4e5b9
	return h ^ h>>32
}

// good says whether the ICRC of a whole frame is right: that of eight bytes of
// ones and all from the IP header on, with ones where it may change on the way.
func (l *bareLoop) good(frame []byte) bool {
	m := l.masked[:]
	binary.LittleEndian.PutUint64(m, 1<<64-1)
	m = m[8:]
	copy(m, frame[ipAt:payloadAt])
	m[1], m[8], m[10], m[11] = 0xff, 0xff, 0xff, 0xff
	m[udpAt-ipAt+6], m[udpAt-ipAt+7], m[bthAt-ipAt+4] = 0xff, 0xff, 0xff
	end := len(frame) - 4
	sum := crc32.Update(crc32.ChecksumIEEE(l.masked[:]), crc32.IEEETable, frame[payloadAt:end])
	return sum == binary.LittleEndian.Uint32(frame[end:])
}

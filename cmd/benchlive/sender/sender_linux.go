package sender

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/bits"
	"net"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	dataLen = 130 // bytes of a SEND on the wire without FCS; 128 is none that RoCE can have
	ackLen  = 62
	// batch is how many frames a system call sends, and perAck how many SENDs one
	// ACK answers.
	batch  = 64
	perAck = 15

	ethernet = 14
	ipv4     = 20
	udp      = 8
	bth      = ethernet + ipv4 + udp
	after    = bth + 12
	icrc     = 4
)

// Sender sends.
type Sender struct {
	fd       int
	sessions []session
	turn     int
	frames   [batch][dataLen]byte
	iov      [batch]unix.Iovec
	messages [batch]message
}

// session is one between two hosts.
type session struct {
	id    int
	psn   uint32
	ipid  uint16
	since int // SENDs since the last ACK
}

// message is Linux's struct mmsghdr.
type message struct {
	header unix.Msghdr
	sent   uint32
	_      [4]byte
}

// Open opens a socket on an interface, for so many sessions.
func Open(name string, sessions int) (*Sender, error) {
	iface, err := net.InterfaceByName(name)
	if err != nil {
		return nil, err
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	s := &Sender{fd: fd, sessions: make([]session, sessions)}
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Ifindex: iface.Index}); err != nil {
		return nil, fmt.Errorf("%w, %w", err, s.Close())
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_QDISC_BYPASS, 1); err != nil {
		return nil, fmt.Errorf("%w, %w", err, s.Close())
	}
	for i := range s.sessions {
		s.sessions[i] = session{id: i, psn: uint32(i * 1000)}
	}
	for i := range s.messages {
		s.iov[i].Base = &s.frames[i][0]
		s.messages[i].header.Iov = &s.iov[i]
		s.messages[i].header.SetIovlen(1)
	}
	return s, nil
}

// Close ends sending.
func (s *Sender) Close() error { return unix.Close(s.fd) }

// Send sends n frames.
func (s *Sender) Send(n int) error {
	for n > 0 {
		k := min(n, batch)
		for i := range k {
			s.iov[i].SetLen(s.next(s.frames[i][:]))
		}
		for at := 0; at < k; {
			sent, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(s.fd), uintptr(unsafe.Pointer(&s.messages[at])), uintptr(k-at), 0, 0, 0)
			switch errno {
			case 0:
				at += int(sent)
			case unix.ENOBUFS, unix.EAGAIN, unix.EINTR: // the other end has no room at the moment
				runtime.Gosched()
			default:
				return errno
			}
		}
		n -= k
	}
	return nil
}

// Steady sends at so many frames a second for a time, and returns how many it
// sent. Where it was held up, it catches up in bursts that a cable has room for.
func (s *Sender) Steady(rate int, d time.Duration) (sent int, err error) {
	const pause, burst = 200 * time.Microsecond, 512
	for began := time.Now(); ; time.Sleep(pause) {
		now := time.Since(began)
		due := int(min(now, d).Seconds() * float64(rate))
		if err := s.Send(min(due-sent, burst)); err != nil {
			return sent, err
		}
		if sent += min(due-sent, burst); now >= d && sent == due {
			return sent, nil
		}
	}
}

// next makes the next frame and returns its length.
func (s *Sender) next(b []byte) int {
	x := &s.sessions[s.turn]
	if s.turn++; s.turn == len(s.sessions) {
		s.turn = 0
	}
	x.ipid++
	if x.since == perAck {
		x.since = 0
		return x.frame(b, ackLen, 0x11, x.psn-1, 1)
	}
	x.since++
	x.psn++
	return x.frame(b, dataLen, 0x04, x.psn-1, 0)
}

// frame makes one, of the requester or, with back set, of the responder.
func (x *session) frame(b []byte, n int, opcode byte, psn uint32, back int) int {
	be := binary.BigEndian
	host := func(side int) byte { return byte(1 + side) }
	b = b[:n]
	copy(b, []byte{2, 0, 0, 0, 0, host(1 - back), 2, 0, 0, 0, 0, host(back), 8, 0})
	ip := b[ethernet : ethernet+ipv4]
	copy(ip, []byte{0x45, 2, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, byte(x.id >> 8), host(back), 10, 0, byte(x.id >> 8), host(1 - back)})
	be.PutUint16(ip[2:], uint16(n-ethernet))
	be.PutUint16(ip[4:], x.ipid)
	sum := uint32(0)
	for i := 0; i < ipv4; i += 2 {
		sum += uint32(be.Uint16(ip[i:]))
	}
	sum = sum&0xffff + sum>>16
	be.PutUint16(ip[10:], ^uint16(sum+sum>>16))
	be.PutUint16(b[ethernet+ipv4:], uint16(0xc000+x.id))
	be.PutUint16(b[ethernet+ipv4+2:], 4791)
	be.PutUint16(b[ethernet+ipv4+4:], uint16(n-ethernet-ipv4))
	be.PutUint16(b[ethernet+ipv4+6:], 0)
	copy(b[bth:], []byte{opcode, 0x40, 0xff, 0xff})
	be.PutUint32(b[bth+4:], uint32(0x100+2*x.id+back))
	be.PutUint32(b[bth+8:], psn&0xffffff)
	if opcode == 0x11 {
		be.PutUint32(b[after:], 0x1f<<24|psn&0xffffff)
	}
	// The ICRC leaves out what switches change (InfiniBand Architecture, annex A17).
	var masked [8 + ipv4 + udp + 12]byte
	for i := range 8 {
		masked[i] = 0xff
	}
	copy(masked[8:], b[ethernet:after])
	for _, i := range [...]int{1, 8, 10, 11, ipv4 + 6, ipv4 + 7, ipv4 + udp + 4} {
		masked[8+i] = 0xff
	}
	crc := crc32.Update(crc32.ChecksumIEEE(masked[:]), crc32.IEEETable, b[after:n-icrc])
	be.PutUint32(b[n-icrc:], bits.ReverseBytes32(crc))
	return n
}

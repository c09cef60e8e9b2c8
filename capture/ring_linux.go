package capture

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// ring is a packet socket (packet(7)) with a TPACKET_V3 ring: memory shared with
// the kernel, in blocks. The kernel fills a block with frames and hands it over;
// it is given back when its frames are copied.
type ring struct {
	name    string // as configured
	now     string // of late
	fd      int
	index   int // of the interface, 0 while it is gone
	mac     [6]byte
	promisc bool
	mem     []byte
	blocks  int

	at     int       // the next block
	have   bool      // it was handed over
	seen   time.Time // when that was noticed
	rest   uint32    // frames of it that are left
	offset uint32    // of the next one
	down   bool
	deaf   bool // the socket has an error: it is to be looked at why

	frames, bytes     uint64
	received, dropped uint64
	told              uint64 // of those dropped, in the log
}

var errNoInterface = errors.New("there is none of that name")

// openSocket opens a packet socket, which hears nothing yet. That alone is what
// needs CAP_NET_RAW.
func openSocket(name string) (int, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0) // bind says of which protocol
	switch {
	case errors.Is(err, unix.EPERM):
		return -1, fmt.Errorf("interface %s: capturing needs the capability CAP_NET_RAW: run as root, or \"setcap cap_net_raw=ep\" on the program: %w", PathText(name), err)
	case err != nil:
		return -1, fmt.Errorf("interface %s: opening a packet socket: %w", PathText(name), err)
	}
	return fd, nil
}

// openRing makes a ring of a packet socket.
func openRing(fd int, name string, cfg *LiveConfig) (*ring, error) {
	r := &ring{name: name, now: name, fd: fd, promisc: cfg.Promiscuous, blocks: cfg.BufferBytes / ringBlock}
	if err := r.set(cfg); err != nil {
		r.close()
		return nil, fmt.Errorf("interface %s: %w", PathText(name), err)
	}
	return r, nil
}

func (r *ring) set(cfg *LiveConfig) error {
	flags, err := interfaceFlags(r.fd, r.name)
	if err != nil {
		return errNoInterface
	}
	// The filter first, so that nothing comes that it would not let through.
	if err := attach(r.fd, cfg.Filter); err != nil {
		return err
	}
	if err := unix.SetsockoptInt(r.fd, unix.SOL_PACKET, unix.PACKET_VERSION, unix.TPACKET_V3); err != nil {
		return fmt.Errorf("TPACKET_V3: %w", err)
	}
	if flags&unix.IFF_LOOPBACK != 0 {
		// It shows each frame twice.
		if err := unix.SetsockoptInt(r.fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1); err != nil {
			return fmt.Errorf("leaving out what is sent: %w", err)
		}
	}
	if cfg.Hardware {
		r.stamp(cfg)
	}
	const frameSize = 2048 // of no meaning with TPACKET_V3, but it must divide the block
	req := unix.TpacketReq3{Block_size: ringBlock, Block_nr: uint32(r.blocks), Frame_size: frameSize, Frame_nr: uint32(r.blocks * (ringBlock / frameSize)), Retire_blk_tov: uint32(blockWait.Milliseconds())}
	if err := unix.SetsockoptTpacketReq3(r.fd, unix.SOL_PACKET, unix.PACKET_RX_RING, &req); err != nil {
		return fmt.Errorf("a ring of %d MiB: %w", r.blocks*ringBlock>>20, err)
	}
	mem, err := unix.Mmap(r.fd, 0, r.blocks*ringBlock, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("mapping the ring: %w", err)
	}
	r.mem = mem
	return r.bind(r.name)
}

// attach gives the kernel a filter.
func attach(fd int, filter []bpf.RawInstruction) error {
	if len(filter) == 0 {
		return nil
	}
	list := make([]unix.SockFilter, len(filter))
	for i, ins := range filter {
		list[i] = unix.SockFilter{Code: ins.Op, Jt: ins.Jt, Jf: ins.Jf, K: ins.K}
	}
	if err := unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(list)), Filter: &list[0]}); err != nil {
		return fmt.Errorf("filter: %w", err)
	}
	return nil
}

const allFrames = 1 // HWTSTAMP_FILTER_ALL

// askForStamps has a NIC stamp frames, which needs CAP_NET_ADMIN.
func askForStamps(fd int, name string) error {
	return unix.IoctlSetHwTstamp(fd, name, &unix.HwTstampConfig{Rx_filter: allFrames})
}

// stamp takes time stamps of the NIC, if it gives any: it may have been asked by
// others, or before the right to ask was given up.
func (r *ring) stamp(cfg *LiveConfig) {
	err := askForStamps(r.fd, r.name)
	if errors.Is(err, unix.EPERM) {
		if now, e := unix.IoctlGetHwTstamp(r.fd, r.name); e == nil && now.Rx_filter == allFrames {
			err = nil
		}
	}
	if err == nil {
		err = unix.SetsockoptInt(r.fd, unix.SOL_PACKET, unix.PACKET_TIMESTAMP, unix.SOF_TIMESTAMPING_RAW_HARDWARE)
	}
	if err != nil {
		cfg.Log.Warn("no time stamps from the hardware: the kernel's are taken", "interface", r.name, "error", err)
	}
}

// bind makes the socket hear an interface: at first, or one that came back.
func (r *ring) bind(name string) error {
	index, err := interfaceIndex(r.fd, name)
	if err != nil {
		return err
	}
	const allProtocols = unix.ETH_P_ALL>>8 | unix.ETH_P_ALL&0xff<<8 // big endian
	if err := unix.Bind(r.fd, &unix.SockaddrLinklayer{Protocol: allProtocols, Ifindex: index}); err != nil {
		return fmt.Errorf("binding: %w", err)
	}
	to, err := unix.Getsockname(r.fd)
	if err != nil {
		return err
	}
	if ll, ok := to.(*unix.SockaddrLinklayer); ok && ll.Hatype != unix.ARPHRD_ETHER && ll.Hatype != unix.ARPHRD_LOOPBACK {
		return errors.New("it is not an Ethernet interface")
	}
	if r.promisc {
		if err := unix.SetsockoptPacketMreq(r.fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, &unix.PacketMreq{Ifindex: int32(index), Type: unix.PACKET_MR_PROMISC}); err != nil {
			return fmt.Errorf("promiscuous mode: %w", err)
		}
	}
	r.index = index
	if ll, ok := to.(*unix.SockaddrLinklayer); ok {
		copy(r.mac[:], ll.Addr[:])
	}
	return nil
}

// The kernel is asked by way of the socket, which stays in the network that it
// was opened in, whatever that of the thread is.

func interfaceName(fd, index int) (string, error) {
	req, err := unix.NewIfreq("")
	if err != nil {
		return "", err
	}
	req.SetUint32(uint32(index))
	err = unix.IoctlIfreq(fd, unix.SIOCGIFNAME, req)
	return req.Name(), err
}

func interfaceIndex(fd int, name string) (int, error) {
	req, err := unix.NewIfreq(name)
	if err != nil {
		return 0, err
	}
	err = unix.IoctlIfreq(fd, unix.SIOCGIFINDEX, req)
	return int(req.Uint32()), err
}

func interfaceFlags(fd int, name string) (uint16, error) {
	req, err := unix.NewIfreq(name)
	if err != nil {
		return 0, err
	}
	err = unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, req)
	return req.Uint16(), err
}

func (r *ring) close() {
	if r.mem != nil {
		_ = unix.Munmap(r.mem)
	}
	_ = unix.Close(r.fd)
}

// Where things are in a block's header (struct tpacket_block_desc of
// linux/if_packet.h), which is little endian on little endian machines, and so
// on: numbers are in the machine's order.
const (
	blockStatus = 8
	blockFrames = 12
	blockFirst  = 16
)

func (r *ring) block() []byte { return r.mem[r.at*ringBlock:][:ringBlock] }

// status is the word by which kernel and program hand a block to each other.
func (r *ring) status() *uint32 { return (*uint32)(unsafe.Pointer(&r.block()[blockStatus])) }

// ready says whether there is a frame.
func (r *ring) ready() bool {
	for !r.have {
		if atomic.LoadUint32(r.status())&unix.TP_STATUS_USER == 0 {
			return false
		}
		b := r.block()
		r.have, r.seen = true, time.Now()
		r.rest, r.offset = binary.NativeEndian.Uint32(b[blockFrames:]), binary.NativeEndian.Uint32(b[blockFirst:])
		if r.rest == 0 {
			r.giveBack()
		}
	}
	return true
}

func (r *ring) giveBack() {
	atomic.StoreUint32(r.status(), unix.TP_STATUS_KERNEL)
	r.have = false
	r.at = (r.at + 1) % r.blocks
}

func (r *ring) header() *unix.Tpacket3Hdr {
	return (*unix.Tpacket3Hdr)(unsafe.Pointer(&r.block()[r.offset]))
}

// time is that of the next frame.
func (r *ring) time() int64 {
	h := r.header()
	return int64(h.Sec)*1e9 + int64(h.Nsec)
}

// take takes the next frame out of the ring.
func (r *ring) take(b *Batch, input int32) {
	h := r.header()
	data := r.block()[r.offset+uint32(h.Mac):][:h.Snaplen]
	tag := h.Status&unix.TP_STATUS_VLAN_VALID != 0 && len(data) >= 12
	n := len(data)
	if tag {
		n += 4
	}
	to := b.room(n)
	length := h.Len
	if tag { // the kernel took it out
		tpid := uint16(unix.ETH_P_8021Q)
		if h.Status&unix.TP_STATUS_VLAN_TPID_VALID != 0 {
			tpid = h.Hv1.Vlan_tpid
		}
		copy(to, data[:12])
		binary.BigEndian.PutUint16(to[12:], tpid)
		binary.BigEndian.PutUint16(to[14:], uint16(h.Hv1.Vlan_tci))
		copy(to[16:], data[12:])
		length += 4
	} else {
		copy(to, data)
	}
	r.frames++
	r.bytes += uint64(length)
	b.Frames = append(b.Frames, Frame{Data: to, Time: int64(h.Sec)*1e9 + int64(h.Nsec), Number: r.frames, OrigLen: length, Input: input, Link: LinkEthernet, FCSLen: -1})
	if r.rest--; r.rest == 0 {
		r.giveBack()
	} else {
		r.offset += h.Next_offset
	}
}

// count reads what the kernel counted since the last time.
func (r *ring) count() {
	if s, err := unix.GetsockoptTpacketStatsV3(r.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS); err == nil {
		r.received += uint64(s.Packets)
		r.dropped += uint64(s.Drops)
	}
}

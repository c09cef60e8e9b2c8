// Package anonymize rewrites frames so that a capture can be given away: what
// the headers say of how RoCE worked stays, and who spoke with whom, and about
// what, goes.
//
// Nothing is copied that is not known. A frame begins as zeros of its length,
// and only the fields of headers that are decoded are put in, each kept or
// mapped with a key. Checksums and ICRCs are then made anew, so that what was
// right is right, and what was wrong is wrong. docs/anonymize.md says what
// becomes of each field.
package anonymize

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/decode/mad"
)

// MinKey is the least length of a key in bytes. It is a key for machines: 16
// random bytes are more than anybody can try.
const MinKey = 16

// Config says how frames are rewritten.
type Config struct {
	// Key is what all maps depend on: with the same key the same address
	// becomes the same one. At least MinKey bytes.
	Key []byte
	// Cut ends frames where their payload begins, as a snap length would.
	// Without it payload becomes zeros.
	Cut bool
	// MapQPNs maps the numbers of queue pairs, which are kept otherwise.
	MapQPNs bool
	// RoCEPorts are UDP destination ports to take as RoCEv2 besides 4791.
	RoCEPorts []uint16
}

// DefaultConfig zeroes payload and keeps queue pair numbers. It has no key.
func DefaultConfig() Config { return Config{} }

// Stats counts what was rewritten.
type Stats struct {
	Frames uint64
	// Partly are the frames whose headers were not understood to their end:
	// an unknown protocol, or headers that contradict one another. They are
	// zeros from there on.
	Partly uint64
}

// Anonymizer rewrites frames. One goroutine at a time may use it. In the steady
// state a frame costs no allocation.
type Anonymizer struct {
	m     *mapper
	cut   bool
	dec   *decode.Decoder
	pkt   decode.Packet
	out   []byte
	stats Stats

	quote  capture.Frame // what an ICMP error quotes
	quoted decode.Packet
	msg    mad.Message
}

// New returns an Anonymizer.
func New(cfg Config) (*Anonymizer, error) {
	switch {
	case len(cfg.Key) == 0:
		return nil, errors.New("no key was given")
	case len(cfg.Key) < MinKey:
		return nil, fmt.Errorf("a key of %d bytes can be guessed: use at least %d random ones", len(cfg.Key), MinKey)
	}
	m, err := newMapper(cfg.Key, cfg.MapQPNs)
	if err != nil {
		return nil, err
	}
	return &Anonymizer{m: m, cut: cfg.Cut, dec: decode.New(decode.Config{RoCEPorts: cfg.RoCEPorts})}, nil
}

// Stats is what was done so far.
func (a *Anonymizer) Stats() Stats { return a.stats }

// Frame returns what f becomes: as many bytes, or with Config.Cut perhaps
// fewer. They are valid until the next call, and f is not changed. The frame's
// length on the wire stays what it is.
func (a *Anonymizer) Frame(f *capture.Frame) []byte {
	n := len(f.Data)
	if cap(a.out) < n {
		a.out = make([]byte, n)
	}
	out := a.out[:n]
	clear(out)
	end := a.rewrite(f, &a.pkt, out, false)
	a.stats.Frames++
	if c := a.pkt.Err.Code; c != decode.ErrNone && c != decode.ErrTruncated {
		a.stats.Partly++
	}
	if a.cut {
		out = out[:end]
	}
	return out
}

// IP is what an IP address or a GID becomes.
func (a *Anonymizer) IP(ip netip.Addr) netip.Addr {
	return a.m.addr(decode.AddrOf(ip), decode.AddrIPv6).IP()
}

// MAC is what a MAC address becomes.
func (a *Anonymizer) MAC(mac decode.MAC) decode.MAC { return a.m.mac(mac) }

// LID is what a LID becomes.
func (a *Anonymizer) LID(lid uint16) uint16 { return a.m.lid(lid) }

// QPN is what the number of a queue pair becomes.
func (a *Anonymizer) QPN(qpn uint32) uint32 { return a.m.qpn(qpn) }

// Memory is what an R_Key becomes, and an address in the memory that it stands
// for.
func (a *Anonymizer) Memory(rkey uint32, va uint64) (uint32, uint64) {
	r := a.m.region(rkey)
	return r.value, va + r.shift
}

// rewrite fills out, which is zeros of the length of f, and returns where
// payload begins. p is to decode f into.
func (a *Anonymizer) rewrite(f *capture.Frame, p *decode.Packet, out []byte, quoted bool) (end int) {
	a.dec.Decode(f, p)
	if p.Kind == decode.KindUDP && a.dec.ProbeRoCE(p) != decode.NotRoCE {
		a.dec.DecodeAs(f, p, p.DstPort)
	}
	a.dec.VerifyICRC(p)
	w := work{a: a, p: p, in: f.Data, out: out, eth: -1, quoted: quoted}
	end = len(out)
	for i, l := range p.Layers() {
		switch l.Kind {
		case decode.LayerPayload, decode.LayerData, decode.LayerMPA:
			if from := int(l.Off) + w.payload(i, l); from < int(l.Off+l.Len) {
				end = min(end, from)
			}
		default:
			w.header(l)
		}
	}
	if l, ok := w.unfinished(); ok {
		w.header(l)
		if l.Kind == decode.LayerIPv4 {
			w.ipv4Sum(int(l.Off))
		}
	}
	w.crcs()
	w.sums()
	return end
}

// work is a frame, or a packet quoted in one, while it is rewritten.
type work struct {
	a       *Anonymizer
	p       *decode.Packet
	in, out []byte
	eth     int   // where the Ethernet header is that no IP header followed yet, or -1
	next    uint8 // what an IPv6 header says that follows
	quoted  bool
}

// unfinished is a header that is not among the packet's layers, because it was
// cut or contradicts others: what there is of it.
func (w *work) unfinished() (l decode.Layer, ok bool) {
	if l, ok = w.p.Cut(); ok {
		return l, true
	}
	e := &w.p.Err
	left := uint32(len(w.in)) - e.Offset
	switch e.Code {
	case decode.ErrVersion: // nothing is known but the version
		return decode.Layer{Kind: decode.LayerNone, Off: e.Offset, Len: min(left, 1)}, left > 0
	case decode.ErrLength:
		var n uint32
		switch e.Layer {
		case decode.LayerIPv4, decode.LayerTCP:
			n = 20
		case decode.LayerLRH:
			n = 8
		}
		return decode.Layer{Kind: e.Layer, Off: e.Offset, Len: n}, n > 0 && n <= left
	}
	return decode.Layer{}, false
}

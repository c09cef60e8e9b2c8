package anonymize

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
)

// payload puts in what stays of layer i, which is no header, and returns how
// many bytes of it that concerns.
func (w *work) payload(i int, l decode.Layer) (kept int) {
	in, out := w.in[l.Off:l.Off+l.Len], w.out[l.Off:l.Off+l.Len]
	switch {
	case l.Kind == decode.LayerMPA:
		return w.mpa(in, out)
	case l.Kind == decode.LayerPayload:
		if w.p.Has&decode.HasMAD == 0 {
			return 0
		}
		w.management(in, out)
		return len(in)
	case w.p.Err.Code == decode.ErrUnknown && w.p.Err.Offset == l.Off:
		return w.unknown(in, out)
	case i == 0:
		return 0
	}
	switch before := w.p.Layers()[i-1]; before.Kind {
	case decode.LayerUDP: // Geneve of another version
		const geneve = 6081
		if w.p.DstPort == geneve {
			out[0] = in[0] & 0xc0
			return 1
		}
	case decode.LayerICMP, decode.LayerICMPv6:
		return w.icmp(before, in, out)
	}
	return 0
}

// unknown keeps what says why the bytes are not decoded, where that is in them
// and not in the header before.
func (w *work) unknown(in, out []byte) int {
	n := 0
	switch w.p.Err.Layer {
	case decode.LayerGRE, decode.LayerAVSP:
		n = 4
	case decode.LayerCMD:
		n = 2
	case decode.LayerMPLS:
		out[0] = in[0] & 0xf0 // what is behind a label stack, its first bits tell
		return 1
	}
	keep(in, out, 0, n)
	return min(n, len(in))
}

var (
	mpaKeys    = [...]string{"MPA ID Req Frame", "MPA ID Rep Frame"}
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// mpa keeps what tells iWARP (RFC 5044): the key of a start-up frame, or length
// and control fields of the first unit, with its CRC made anew.
func (w *work) mpa(in, out []byte) int {
	const control, key = 4, 16
	for _, k := range mpaKeys {
		if len(in) >= key && string(in[:key]) == k {
			keep(in, out, 0, key)
			return key
		}
	}
	keep(in, out, 0, control)
	unit := int(be16(in)) + 2
	unit += -unit & 3
	if unit+4 <= len(in) && be32(in[unit:]) != 0 { // without a CRC it is 0
		binary.LittleEndian.PutUint32(out[unit:], crc32.Checksum(out[:unit], castagnoli))
	}
	return control
}

// icmp keeps what an ICMP message says beyond its header: the packet that an
// error quotes, rewritten as any other, and addresses of neighbour discovery.
func (w *work) icmp(header decode.Layer, in, out []byte) int {
	typ, v6 := w.in[header.Off], header.Kind == decode.LayerICMPv6
	if v6 && typ >= 128 {
		return w.neighbour(typ, in, out)
	}
	isError := v6
	switch typ {
	case 3, 4, 5, 11, 12:
		isError = true
	}
	if !isError || w.quoted {
		return 0
	}
	a := w.a
	a.quote = capture.Frame{Data: in, OrigLen: uint32(len(in)), Link: capture.LinkRaw, FCSLen: -1}
	a.rewrite(&a.quote, &a.quoted, out, true)
	return len(in)
}

// Messages of neighbour discovery and of multicast listeners (RFC 4861, 2710).
const (
	listenerQuery  = 130
	listenerReport = 131
	listenerDone   = 132
	routerSolicit  = 133
	routerAdvert   = 134
	neighbourAsk   = 135
	neighbourTell  = 136
	redirect6      = 137
)

// neighbour maps the addresses in a message about neighbours.
func (w *work) neighbour(typ uint8, in, out []byte) int {
	at := 0
	switch typ {
	case listenerQuery, listenerReport, listenerDone:
		w.ip6(in, out, 0)
		return len(in)
	case routerSolicit:
	case routerAdvert: // timers
		keep(in, out, 0, 8)
		at = 8
	case neighbourAsk, neighbourTell:
		w.ip6(in, out, 0)
		at = 16
	case redirect6:
		w.ip6(in, out, 0)
		w.ip6(in, out, 16)
		at = 32
	default:
		return 0
	}
	for at < len(in) {
		n := w.option(in[at:], out[at:])
		if n == 0 {
			break
		}
		at += n
	}
	return len(in)
}

// option keeps an option's type and length, and maps what it holds. It returns
// its length, 0 if there is none.
func (w *work) option(in, out []byte) int {
	if len(in) < 8 || in[1] == 0 || 8*int(in[1]) > len(in) {
		return 0
	}
	n := 8 * int(in[1])
	in, out = in[:n], out[:n]
	keep(in, out, 0, 2)
	const source, target, prefix, mtu = 1, 2, 3, 5
	switch typ := in[0]; {
	case (typ == source || typ == target) && n == 8:
		w.mac(in, out, 2)
	case typ == prefix && n == 32:
		keep(in, out, 2, 12)
		w.ip6(in, out, 16)
	case typ == mtu && n == 8:
		keep(in, out, 4, 8)
	}
	return n
}

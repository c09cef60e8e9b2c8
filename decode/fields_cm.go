package decode

import (
	"strconv"

	"github.com/rocelens/rocelens/decode/mad"
)

// The field table: bodies of connection management, below the common header of
// management datagrams. Package mad says where the layouts are from. Wireshark
// has fields for REQ, REP, RTU, REJ, DREQ and DREP alone, and nests them below
// a field that it has for the data of other management classes.

// cmRow is a row of one message; off is from the beginning of the body. n
// below 0 is up to -n bytes, as many as were captured.
type cmRow struct {
	depth  uint8
	name   string // without "infiniband.cm."; "infiniband.reserved" as it is
	label  string
	typ    FieldType
	base   FieldBase
	off, n int
	mask   uint64
	values func(uint64) string
	cond   func(body []byte) bool
}

// madRows are the rows of management datagrams: those of the common header, and
// the bodies behind it.
func madRows(rows []row) []row {
	rows = append(rows, row{0, "infiniband.smplid.smpdata", "SMP Data", TypeBytes, Dec, madLen, 0, 0, rowOptions{
		read: readCM, title: cmTitle,
	}})
	for _, m := range []struct {
		attribute mad.Attribute
		ours      bool
		rows      []cmRow
	}{
		{mad.REQ, false, cmREQ}, {mad.REP, false, cmREP}, {mad.RTU, false, cmIDs("rtu.", 224)}, {mad.REJ, false, cmREJ},
		{mad.DREQ, false, cmDREQ}, {mad.DREP, false, cmIDs("drsp.", 224)}, {mad.MRA, true, cmMRA}, {mad.LAP, true, cmLAP},
		{mad.APR, true, cmAPR}, {mad.SIDRReq, true, cmSIDRReq}, {mad.SIDRRep, true, cmSIDRRep},
	} {
		for _, r := range m.rows {
			name, ours := "infiniband.cm."+r.name, m.ours
			if r.name == "infiniband.reserved" {
				name, ours = r.name, false
			}
			rows = append(rows, row{1 + r.depth, name, r.label, r.typ, r.base, madLen + r.off, max(r.n, 0), r.mask, rowOptions{
				ours: ours, values: r.values, read: cmReader(m.attribute, r.off, r.n, r.mask, r.cond),
			}})
		}
	}
	return rows
}

// cmBody is where the body of a connection management message begins and ends,
// as far as it was captured; ok is false if the datagram carries none.
func cmBody(p *Packet, l Layer) (start, end int, ok bool) {
	if p.MAD.Class != ClassCM || !mad.Attribute(p.MAD.Attribute).Known() {
		return 0, 0, false
	}
	start = int(l.Off) + madLen
	end = min(madEnd(p, l), start+mad.BodyLen)
	return start, end, start < end
}

func readCM(_ *Extra, p *Packet, l Layer, v *Value) bool {
	start, end, ok := cmBody(p, l)
	if ok {
		v.Off, v.Len, v.Bytes = uint32(start), uint32(end-start), p.Data[start:end]
	}
	return ok
}

func cmTitle(p *Packet) string { return "CM " + p.MAD.AttributeName() }

// cmReader reads a field that only one message has, and that only if the
// condition holds.
func cmReader(a mad.Attribute, off, n int, mask uint64, cond func([]byte) bool) reader {
	pl := place{mask: mask}
	return func(_ *Extra, p *Packet, l Layer, v *Value) bool {
		if p.MAD.Attribute != uint16(a) {
			return false
		}
		start, end, ok := cmBody(p, l)
		if !ok || cond != nil && !cond(p.Data[start:end]) {
			return false
		}
		from, to := start+off, start+off+n
		if n < 0 {
			to = min(start+off-n, end)
		}
		if to > end || from >= to {
			return false
		}
		b := p.Data[from:to]
		v.Off, v.Len, v.Bytes, v.Num = uint32(from), uint32(to-from), b, pl.number(b)
		return true
	}
}

// Conditions. A body that is cut before what decides has neither.

// ifIPCM says whether the service ID at off is RDMA-CM's.
func ifIPCM(off int) func([]byte) bool {
	return func(b []byte) bool { return len(b) >= off+8 && mad.ServiceID(be64(b[off:])).RDMACM() }
}

func ifNotIPCM(off int) func([]byte) bool {
	return func(b []byte) bool { return len(b) >= off+8 && !mad.ServiceID(be64(b[off:])).RDMACM() }
}

// ifIP says whether RDMA-CM's header, at private, is of this IP version.
func ifIP(service, private int, version byte) func([]byte) bool {
	is := ifIPCM(service)
	return func(b []byte) bool { return is(b) && len(b) >= private+2 && b[private+1]>>4 == version }
}

// ifMapped says whether the GID at off is an IPv4 address, as yes says.
func ifMapped(off int, yes bool) func([]byte) bool {
	return func(b []byte) bool { return len(b) >= off+16 && addrFrom16(b[off:]).Is4() == yes }
}

// Names of numbers.

func cmService(v uint64) string { return mad.ServiceID(v).Application() }

func cmTimeout(v uint64) string { return seconds(mad.Timeout(uint8(v))) }

func cmAckTimeout(v uint64) string {
	if v == 0 {
		return "none"
	}
	return cmTimeout(v)
}

// seconds writes nanoseconds with three digits or so: 4.29 s, 67.1 ms, 4.1 us.
func seconds(ns int64) string {
	unit, x := " us", float64(ns)/1e3
	switch {
	case ns >= 1e9:
		unit, x = " s", float64(ns)/1e9
	case ns >= 1e6:
		unit, x = " ms", float64(ns)/1e6
	}
	return strconv.FormatFloat(x, 'g', 3, 64) + unit
}

func cmMTU(v uint64) string {
	if n := mad.PathMTU(uint8(v)); n != 0 {
		return strconv.Itoa(int(n)) + " bytes"
	}
	return ""
}

func cmTransport(v uint64) string {
	if v == 3 {
		return "see Extended Transport"
	}
	return mad.TransportName(uint8(v), 0)
}

func cmExtended(v uint64) string {
	if v == 1 {
		return "XRC"
	}
	return ""
}

func cmRNRRetry(v uint64) string {
	if v == 7 {
		return "for ever"
	}
	return ""
}

func cmReason(v uint64) string { return mad.Reason(v).String() }
func cmStatus(v uint64) string { return mad.SIDRStatus(uint8(v)) }

var (
	cmMessage  = named(map[uint64]string{0: "REQ", 1: "REP", 2: "other"})
	cmFailover = named(map[uint64]string{0: "accepted", 1: "not supported", 2: "not accepted"})
)

// Package report turns what the pipeline counted and concluded into the report of `rocelens
// analyze`: a Report, and its forms as JSON (a contract for scripts) and as
// text for a terminal. It analyses nothing: it shows.
package report

import (
	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/hwcounters"
	"github.com/rocelens/rocelens/pipeline/record"
)

// SchemaVersion is Report.Schema. It changes when a key goes or changes its
// meaning, not when one is added.
const SchemaVersion = 1

// Report is what was found. JSON writes it with every key in snake_case, in the
// order of the fields; times are nanoseconds since the epoch. A pointer that
// is nil is null in JSON: not measured, or not measurable in this capture.
type Report struct {
	Schema int
	Tool   Tool
	// Partial says that reading was interrupted: the report holds what had
	// been read by then.
	Partial bool
	// Filter is what was asked for alone, nil where that is everything.
	Filter  *Filter
	Inputs  []Input
	Capture Capture
	ICRC    CRC
	VCRC    *CRC // where native InfiniBand was seen
	AETH    AETH
	ECN     ECN
	Opcodes Opcodes
	// Sessions and Events are the pipeline's own.
	Sessions      record.Sessions
	Events        []record.Event
	EventsLeftOut uint64
	Signs         []record.Event // what conclusions are drawn from; not written
	// Forgotten counts sessions that had to go for want of memory.
	Forgotten uint64
	// Hosts are what the counters of the NICs should show.
	Hosts []hwcounters.Host
	// Classes are the RoCE traffic by VLAN priority and DSCP.
	Classes []Class
	Pause   []Pause
	// Receivers are those who get most of the RoCE traffic.
	Receivers []Receiver
	// ReceiversLeftOut are packets to receivers that were forgotten for others.
	ReceiversLeftOut uint64
	// PauseLeftOut counts what PFC and PAUSE frames said beyond the rows of
	// Pause, whose number is bounded.
	PauseLeftOut uint64
	// Findings are the conclusions, the worst first.
	Findings []Finding
}

// Tool is what made the report.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Input is one capture file, or "-" for standard input.
type Input struct {
	Path        string `json:"path"`
	Format      string `json:"format"`      // pcap, pcapng, erf or unknown
	Compression string `json:"compression"` // none, gzip or zstd
	Packets     uint64 `json:"packets"`
	Bytes       uint64 `json:"bytes"` // on the wire
	// DamagedAt is where reading had to stop, in bytes from the input's
	// beginning (decompressed ones for a compressed input); nil where the
	// whole input was read. Damage says why, in a sentence.
	DamagedAt *int64 `json:"damaged_at"`
	Damage    string `json:"damage,omitempty"`
	whole     bool   // all the same
	// ReportedDrops is how many packets whoever captured says it lost; nil
	// where the input does not say.
	ReportedDrops *uint64 `json:"reported_drops"`
}

// Capture is what the inputs hold together.
type Capture struct {
	Packets   uint64 `json:"packets"`
	Bytes     uint64 `json:"bytes"` // on the wire
	First     *int64 `json:"first"` // earliest and latest time stamp; nil without a packet
	Last      *int64 `json:"last"`
	RoCE      RoCE   `json:"roce"`
	RoCEBytes uint64 `json:"roce_bytes"` // on the wire
	// Other is everything that is not in RoCE. Malformed, truncated and
	// fragmented packets may be either.
	Other           uint64 `json:"other"`
	Malformed       uint64 `json:"malformed"`
	FirstMalformed  *Frame `json:"first_malformed,omitempty"`
	Truncated       uint64 `json:"truncated"`
	TruncatedMirror uint64 `json:"truncated_by_mirror"` // of them, cut before they were captured
	Fragments       uint64 `json:"fragments"`           // IP fragments
	// Duplicates is how many RoCE packets are the capture's copies of others;
	// nil where that can't be told of some that came twice. Those that came
	// twice from the same place, with an IP ID, and are few, are not among
	// them: sessions count them as the network's.
	Duplicates *uint64 `json:"duplicates"`
	// noDuplicates says why it is nil.
	noDuplicates string
	// MirrorMissing is how many frames did not come that an ERSPAN mirror
	// numbered; nil where no mirror tells. Mirrors are those with numbers.
	MirrorMissing *uint64  `json:"mirror_missing"`
	Mirrors       []Mirror `json:"mirrors,omitempty"`
	// MirrorLeftOut counts the frames of mirror sessions beyond those that are
	// told apart.
	MirrorLeftOut uint64 `json:"mirror_frames_left_out,omitempty"`
	// Encapsulations counts RoCE packets, once for each kind around them.
	Encapsulations map[string]uint64 `json:"encapsulations"`
	// OtherKinds splits Other; kinds that did not occur are absent.
	OtherKinds map[string]uint64 `json:"other_kinds"`
	// UnknownLinks counts frames whose link type is not decoded, by number.
	UnknownLinks map[string]uint64 `json:"unknown_link_types,omitempty"`
	// UnknownInner counts packets in a tunnel or behind a tag with something
	// inside that is not decoded.
	UnknownInner uint64 `json:"unknown_inner"`
	// QuotedRoCE counts ICMP errors about RoCEv2 packets.
	QuotedRoCE uint64 `json:"icmp_quoting_roce"`
	// CNPBodies counts CNPs whose reserved bytes are not zero.
	CNPBodies uint64 `json:"cnp_reserved_not_zero"`
}

// Mirror is an ERSPAN session whose frames have sequence numbers.
type Mirror struct {
	Input    int    `json:"input"` // index into Report.Inputs
	Src      string `json:"src"`   // the mirror
	Dst      string `json:"dst"`   // who it sends to
	Version  int    `json:"version"`
	Session  int    `json:"session"`
	Hardware int    `json:"hardware_id"` // 0 in version 2
	Packets  uint64 `json:"packets"`
	// Missing is nil where the numbers don't count the frames.
	Missing  *uint64 `json:"missing"`
	Gaps     uint64  `json:"gaps"`
	Late     uint64  `json:"late"`
	Repeated uint64  `json:"repeated"`
	Restarts uint64  `json:"restarts"`
	FirstGap *Frame  `json:"first_gap,omitempty"`
}

// RoCE counts packets by version.
type RoCE struct {
	V1       uint64 `json:"v1"`
	V2IPv4   uint64 `json:"v2_ipv4"`
	V2IPv6   uint64 `json:"v2_ipv6"`
	NativeIB uint64 `json:"native_ib"`
}

// Total is the number of RoCE and InfiniBand packets.
func (r RoCE) Total() uint64 { return r.V1 + r.V2IPv4 + r.V2IPv6 + r.NativeIB }

// CRC counts packets by the state of their ICRC or VCRC. Good and Bad are nil
// where checking was switched off.
type CRC struct {
	Good         *uint64 `json:"good"`
	Bad          *uint64 `json:"bad"`
	Unverifiable uint64  `json:"unverifiable"`
	// Reasons splits Unverifiable: truncated, fragment, ip_options.
	Reasons  map[string]uint64 `json:"unverifiable_reasons,omitempty"`
	FirstBad *Frame            `json:"first_bad,omitempty"`
}

// AETH counts acknowledge headers by what they say.
type AETH struct {
	Acks         uint64 `json:"acks"`          // on the opcode Acknowledge
	ResponseAcks uint64 `json:"response_acks"` // on READ responses and ATOMIC acknowledges
	RNRNaks      uint64 `json:"rnr_naks"`
	Naks         Naks   `json:"naks"`
	Reserved     uint64 `json:"reserved"` // syndromes without a meaning
}

// Naks counts NAKs by their code.
type Naks struct {
	Sequence          uint64 `json:"sequence"`
	InvalidRequest    uint64 `json:"invalid_request"`
	RemoteAccess      uint64 `json:"remote_access"`
	RemoteOperational uint64 `json:"remote_operational"`
	InvalidRDRequest  uint64 `json:"invalid_rd_request"`
	Reserved          uint64 `json:"reserved"`
}

// Total is the number of NAKs, RNR NAKs not among them.
func (n Naks) Total() uint64 {
	return n.Sequence + n.InvalidRequest + n.RemoteAccess + n.RemoteOperational + n.InvalidRDRequest + n.Reserved
}

// ECN counts RoCE packets by the congestion field of their IP header or GRH.
type ECN struct {
	NotECT uint64 `json:"not_ect"`
	ECT0   uint64 `json:"ect0"`
	ECT1   uint64 `json:"ect1"`
	CE     uint64 `json:"ce"`
}

func (e ECN) total() uint64 { return e.NotECT + e.ECT0 + e.ECT1 + e.CE }

// Frame names a frame.
type Frame struct {
	Input  int    `json:"input"`  // index into Report.Inputs
	Number uint64 `json:"number"` // within the input, from 1
	Time   int64  `json:"time"`
	Offset int64  `json:"offset"` // of its record in the input, in bytes
}

// New makes a report of what was read from inputs, and of what was concluded.
func New(inputs []capture.Input, c *pipeline.Result, findings []record.Finding, version string) *Report {
	r := &Report{
		Schema:  SchemaVersion,
		Tool:    Tool{Name: "rocelens", Version: version},
		Inputs:  make([]Input, 0, len(inputs)),
		Capture: newCapture(c),
		ICRC:    newCRC(&c.ICRC),
		AETH:    newAETH(&c.AETH),
		ECN:     newECN(&c.Counters),
		VCRC:    newVCRC(&c.Counters),
		Opcodes: newOpcodes(&c.Counters),

		Sessions: c.Sessions, Events: c.Events, EventsLeftOut: c.EventsLeftOut + c.PausesLeftOut, Signs: c.Signs, Forgotten: c.Forgotten,
		Hosts: hwcounters.Expect(c.Sessions, c.Signs),

		Classes:   newClasses(c),
		Pause:     newPauses(inputs, c),
		Receivers: newReceivers(c, inputs), ReceiversLeftOut: c.ReceiversLeftOut,
		PauseLeftOut: c.Pause.LeftOut,
		Findings:     newFindings(findings),
	}
	for i := range inputs {
		r.Inputs = append(r.Inputs, newInput(&inputs[i]))
	}
	return r
}

func newECN(c *pipeline.Counters) ECN {
	return ECN{NotECT: c.ECN[0], ECT1: c.ECN[1], ECT0: c.ECN[2], CE: c.ECN[3]}
}

func newVCRC(c *pipeline.Counters) *CRC {
	if c.RoCE.NativeIB == 0 {
		return nil
	}
	v := newCRC(&c.VCRC)
	return &v
}

func newOpcodes(c *pipeline.Counters) Opcodes {
	all := Opcodes{}
	for op, n := range c.Opcodes {
		if n > 0 {
			all = append(all, OpcodeCount{decode.Opcode(op), n})
		}
	}
	return all
}

func newInput(in *capture.Input) Input {
	out := Input{
		Path:          in.Path,
		Format:        in.Format.String(),
		Compression:   in.Compression.String(),
		Packets:       in.Frames,
		Bytes:         in.Bytes,
		ReportedDrops: in.Drops,
	}
	if d := in.Damage; d != nil {
		at := d.Offset
		out.DamagedAt, out.Damage, out.whole = &at, d.Error(), d.Whole
	}
	return out
}

func newCapture(c *pipeline.Result) Capture {
	out := Capture{
		Packets: c.Packets, Bytes: c.Bytes,
		RoCE:            RoCE(c.RoCE),
		RoCEBytes:       c.RoCEBytes,
		Other:           c.Packets - c.RoCE.Total(),
		Malformed:       c.Malformed,
		Truncated:       c.Truncated,
		TruncatedMirror: c.Flag(decode.MirrorCut),
		Fragments:       c.Flag(decode.Fragment),
		Encapsulations:  make(map[string]uint64),
		OtherKinds:      make(map[string]uint64),
		UnknownInner:    c.Flag(decode.UnknownInner),
		QuotedRoCE:      c.Flag(decode.QuotesRoCE),
		CNPBodies:       c.Flag(decode.CNPBodyNotZero),
	}
	if c.Packets > 0 {
		first, last := c.First, c.Last
		out.First, out.Last = &first, &last
	}
	if d := &c.Duplicates; d.Undecided == 0 && d.Unplaced == 0 && len(d.Later) == 0 {
		n := d.Capture // what comes twice from one place, and is not nearly all, is taken for the network's
		out.Duplicates = &n
	}
	if !c.Duplicates.Decided() {
		out.noDuplicates = noDuplicates(&c.Duplicates)
	}
	if c.Malformed > 0 {
		out.FirstMalformed = newFrame(c.FirstMalformed)
	}
	if _, missing, known := c.Mirrors.Lost(); known {
		out.MirrorMissing = &missing
	}
	out.MirrorLeftOut = c.Mirrors.Unplaced
	for i := range c.Mirrors.Rows {
		out.Mirrors = append(out.Mirrors, newMirror(&c.Mirrors.Rows[i]))
	}
	for _, e := range decode.Encaps() {
		out.Encapsulations[e.Name()] = c.Encap(e)
	}
	for _, k := range otherKinds {
		if n := c.Kind(k.kind); n > 0 {
			out.OtherKinds[k.key] = n
		}
	}
	if l := &c.UnknownLinks; l.N > 0 {
		out.UnknownLinks = linkCounts(l)
	}
	return out
}

func newMirror(m *pipeline.Mirror) Mirror {
	out := Mirror{
		Input: int(m.Input), Src: string(m.Src.Append(nil, m.Kind)), Dst: string(m.Dst.Append(nil, m.Kind)),
		Version: int(m.Version), Session: int(m.Session), Hardware: int(m.Hardware), Packets: m.Frames,
	}
	if m.Known {
		missing := m.Missing
		out.Missing, out.Gaps, out.Late, out.Repeated, out.Restarts = &missing, m.Gaps, m.Late, m.Repeated, m.Restarts
		if m.Gaps > 0 {
			out.FirstGap = newFrame(m.FirstGap)
		}
	}
	return out
}

// noDuplicates says why it is not known how many copies the capture made.
func noDuplicates(d *pipeline.Duplicates) string {
	atLeast := ""
	if d.Capture > 0 {
		atLeast = plural(d.Capture, "RoCE packet") + " or more captured again; "
	}
	switch {
	case d.Network > 0:
		return atLeast + "not known of " + plural(d.Network, "packet") + " that came twice whether the capture or the network doubled them"
	case len(d.Later) > 0:
		return atLeast + "not known: packets come again too late to be counted"
	case d.Undecided > 0:
		return atLeast + "can't be told from retransmissions: without IP IDs they look the same"
	}
	return atLeast + "not known: there are more pairs of addresses than are told apart"
}

func newCRC(c *pipeline.CRC) CRC {
	out := CRC{Unverifiable: c.Unverifiable}
	for _, r := range crcReasons {
		if n := c.Reasons[r.reason]; n > 0 {
			if out.Reasons == nil {
				out.Reasons = make(map[string]uint64)
			}
			out.Reasons[r.key] = n
		}
	}
	if c.Unchecked > 0 {
		return out
	}
	good, bad := c.Good, c.Bad
	out.Good, out.Bad = &good, &bad
	if bad > 0 {
		out.FirstBad = newFrame(c.FirstBad)
	}
	return out
}

func newAETH(a *pipeline.AETH) AETH {
	out := AETH{
		Acks: a.Acks, ResponseAcks: a.ResponseAcks, RNRNaks: a.RNRNaks, Reserved: a.Reserved,
		Naks: Naks{
			Sequence:          a.Naks[decode.NakSequence],
			InvalidRequest:    a.Naks[decode.NakInvalidRequest],
			RemoteAccess:      a.Naks[decode.NakRemoteAccess],
			RemoteOperational: a.Naks[decode.NakRemoteOperational],
			InvalidRDRequest:  a.Naks[decode.NakInvalidRDRequest],
		},
	}
	for _, n := range a.Naks[decode.NakInvalidRDRequest+1:] {
		out.Naks.Reserved += n
	}
	return out
}

func newFrame(f record.FrameRef) *Frame {
	return &Frame{Input: int(f.Input), Number: f.Number, Time: f.Time, Offset: f.Offset}
}

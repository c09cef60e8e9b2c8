package scenario

// Marking is what the headers of a session's packets say beside its work. The
// zero value is what everybody has: DSCP 26 with ECT(0), CNPs with DSCP 48, and
// the default P_Key.
type Marking struct {
	DSCP [2]uint8 // of what each side sends, CNPs aside
	// From the packet Change on, counted from 1, what side a sends has the DSCP
	// ChangeTo.
	Change   int
	ChangeTo uint8
	Answers  uint8 // the DSCP of answers without data
	CNP      uint8 // the DSCP of CNPs
	NotECT   bool
	PKey     [2]uint16
}

// MarkingTruth is what the headers of a session's packets say, where that is
// not the usual.
type MarkingTruth struct {
	DSCPA uint8 `json:"dscp_a"` // of what a sends, CNPs aside
	DSCPB uint8 `json:"dscp_b"`
	// Changed is how many packets of a had the DSCP ChangedTo instead, when they
	// were sent.
	Changed   uint64 `json:"changed,omitempty"`
	ChangedTo uint8  `json:"changed_to,omitempty"`
	Answers   uint8  `json:"dscp_answers,omitempty"` // of answers without data, where it is another one
	CNP       uint8  `json:"dscp_cnp"`
	NotECT    bool   `json:"not_ect,omitempty"`
	PKeyA     uint16 `json:"p_key_a"`
	PKeyB     uint16 `json:"p_key_b"`
}

// truth is nil for the zero value.
func (m *Marking) truth() *MarkingTruth {
	if *m == (Marking{}) {
		return nil
	}
	return &MarkingTruth{
		DSCPA: m.dscp(0), DSCPB: m.dscp(1), ChangedTo: m.ChangeTo, Answers: m.Answers, CNP: m.cnp(), NotECT: m.NotECT,
		PKeyA: m.pkey(0), PKeyB: m.pkey(1),
	}
}

func (m *Marking) dscp(side int) uint8 { return valueOr(m.DSCP[side], dscpData) }
func (m *Marking) cnp() uint8          { return valueOr(m.CNP, dscpCNP) }
func (m *Marking) pkey(side int) uint16 {
	return valueOr(m.PKey[side], 0xffff)
}

func valueOr[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// mark writes it into a packet that is about to be sent.
func (se *session) mark(p *packet) {
	m := &se.spec.Marking
	if se.truth.Marking == nil || p.kind == kindMAD {
		return
	}
	if m.NotECT && p.kind != kindCNP {
		p.ecn = 0
	}
	switch {
	case p.kind == kindCNP:
		p.dscp = m.cnp()
		return
	case p.kind == kindAnswer && p.payload == 0 && m.Answers != 0:
		p.dscp = m.Answers
	default:
		p.dscp = m.dscp(p.from)
	}
	if p.from != 0 {
		return
	}
	if se.sent++; m.Change > 0 && se.sent >= m.Change {
		p.dscp = m.ChangeTo
		se.truth.Marking.Changed++
	}
}

// Package filter is Wireshark's display-filter language over the field table of
// package decode: it says of a packet whether it matches an expression such as
//
//	infiniband.bth.destqp == 0x8c && infiniband.aeth.syndrome & 0x60
//
// A filter is compiled once. What a decode.Packet says by itself is read from
// it, and the field table is asked for the rest. docs/filters.md describes the
// language, and in what Wireshark's versions differ.
package filter

import (
	"time"

	"github.com/rocelens/rocelens/decode"
)

// Filter is a compiled filter. One goroutine at a time may use it.
type Filter struct {
	test  test // nil matches everything
	needs needs
	m     machine
}

// needs is what has to be known of a packet beside its decoding.
type needs struct{ notes, icrc, displayed bool }

// Compile compiles a filter. Times of day without a zone are in loc. The error
// is an *Error. The empty filter matches every packet.
func Compile(expr string, loc *time.Location) (*Filter, error) {
	n, err := parse(expr)
	if err != nil {
		return nil, err
	}
	f := &Filter{}
	if n == nil {
		return f, nil
	}
	c := &compiler{expr: expr, loc: loc}
	if f.test, err = c.compile(n); err != nil {
		return nil, err
	}
	f.needs = c.needs
	return f, nil
}

// NeedNotes says whether the filter asks for what packets are in their
// sessions: Extra.Note must be set where something is known of a packet.
func (f *Filter) NeedNotes() bool { return f.needs.notes }

// NeedICRC says whether the filter asks for the result of VerifyICRC, so that it
// must be called before.
func (f *Filter) NeedICRC() bool { return f.needs.icrc }

// NeedDisplayed says whether what the filter says of a packet depends on which
// packets were shown before.
func (f *Filter) NeedDisplayed() bool { return f.needs.displayed }

// Match says whether the packet matches. x tells what is not in the packet; it
// is Reset where the field table is asked.
func (f *Filter) Match(p *decode.Packet, x *decode.Extra) bool {
	if f.test == nil {
		return true
	}
	m := &f.m
	m.p, m.x, m.asked = p, x, false
	m.vals, m.text = m.vals[:0], m.text[:0]
	return f.test(m)
}

// test is a compiled test.
type test func(m *machine) bool

// maxValues bounds how many values an operand has in one packet, and with them
// the work that arithmetic over fields that occur several times is: each value
// goes with each. Fields of a packet of MaxLayers headers stay below it; values
// beyond it are left out.
const maxValues = 256

// machine is what evaluating takes. Its memory is kept from packet to packet.
type machine struct {
	p     *decode.Packet
	x     *decode.Extra
	asked bool // the field table was, of this packet
	vals  []value
	found []decode.Value
	text  []byte // that values were made of
	chars latin1
}

// table makes ready for asking the field table.
func (m *machine) table() {
	if !m.asked {
		m.asked = true
		m.x.Reset()
	}
}

// push adds a value, if there is room behind base, where its operand's begin.
func (m *machine) push(base int, v value) {
	if len(m.vals)-base < maxValues {
		m.vals = append(m.vals, v)
	}
}

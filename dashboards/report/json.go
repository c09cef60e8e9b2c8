package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/rocelens/rocelens/decode"
)

// Options is how a report is written.
type Options struct {
	// Color uses the terminal's colours in text.
	Color bool
	// Width is the columns that sentences are wrapped at, 100 where it is 0.
	Width int
	// Location is the time zone of text, the local one where it is nil.
	Location *time.Location
	// Top is how many sessions text lists, DefaultTop where it is 0.
	Top int
	// Sort is what sessions text lists first.
	Sort Sort
}

// JSON writes the report as JSON, indented by two spaces. Options are not
// used: a script gets the same bytes everywhere. Sessions and events are
// written one by one, so that the text is never in memory as a whole.
func JSON(w io.Writer, r *Report, _ Options) error {
	o := newObject(w)
	o.member("schema", r.Schema)
	o.member("tool", r.Tool)
	if r.Partial {
		o.member("partial", true)
	}
	o.member("inputs", r.Inputs)
	o.member("capture", r.Capture)
	o.member("icrc", r.ICRC)
	if r.VCRC != nil {
		o.member("vcrc", r.VCRC)
	}
	o.member("aeth", r.AETH)
	o.member("ecn", r.ECN)
	o.member("opcodes", r.Opcodes)
	if r.Forgotten > 0 {
		o.member("sessions_forgotten", r.Forgotten)
	}
	o.list("sessions", r.Sessions.Len(), func(i int) any { return newSession(r.Sessions.At(i)) })
	o.list("events", len(r.Events), func(i int) any { return eventJSON{&r.Events[i]} })
	o.member("events_left_out", r.EventsLeftOut)
	o.list("expected_counters", len(r.Hosts), func(i int) any { return newHost(&r.Hosts[i]) })
	o.member("pause", r.Pause)
	if r.PauseLeftOut > 0 {
		o.member("pause_left_out", r.PauseLeftOut)
	}
	o.member("findings", r.Findings)
	return o.close()
}

// object writes a JSON object member by member. The first error stays.
type object struct {
	w   *bufio.Writer
	buf bytes.Buffer
	n   int // members
	err error
}

func newObject(w io.Writer) *object { return &object{w: bufio.NewWriter(w)} }

func (o *object) key(key string) {
	if o.n > 0 {
		o.w.WriteByte(',')
	} else {
		o.w.WriteByte('{')
	}
	o.n++
	o.w.WriteString("\n  " + strconv.Quote(key) + ": ")
}

// value writes v, its further lines indented.
func (o *object) value(v any, indent string) {
	if o.err != nil {
		return
	}
	o.buf.Reset()
	enc := json.NewEncoder(&o.buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent(indent, "  ")
	if err := enc.Encode(v); err != nil {
		o.err = fmt.Errorf("encoding the report: %w", err)
		return
	}
	o.w.Write(bytes.TrimSuffix(o.buf.Bytes(), []byte("\n")))
}

func (o *object) member(key string, v any) {
	o.key(key)
	o.value(v, "  ")
}

// list writes an array of n values, made one at a time.
func (o *object) list(key string, n int, at func(i int) any) {
	o.key(key)
	o.w.WriteByte('[')
	for i := range n {
		if i > 0 {
			o.w.WriteByte(',')
		}
		o.w.WriteString("\n    ")
		o.value(at(i), "    ")
	}
	if n > 0 {
		o.w.WriteString("\n  ")
	}
	o.w.WriteByte(']')
}

func (o *object) close() error {
	if o.err != nil {
		return o.err
	}
	o.w.WriteString("\n}\n")
	return o.w.Flush()
}

// Opcodes are the opcodes that occurred, in the order of their numbers. In
// JSON they are one object: the name, the number of packets.
type Opcodes []OpcodeCount

// OpcodeCount is how many packets have an opcode.
type OpcodeCount struct {
	Opcode  decode.Opcode
	Packets uint64
}

// MarshalJSON writes an object that keeps the order.
func (o Opcodes) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, c := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendQuote(b, c.Opcode.String())
		b = append(b, ':')
		b = strconv.AppendUint(b, c.Packets, 10)
	}
	return append(b, '}'), nil
}

// Map is the opcodes by name.
func (o Opcodes) Map() map[string]uint64 {
	m := make(map[string]uint64, len(o))
	for _, c := range o {
		m[c.Opcode.String()] = c.Packets
	}
	return m
}

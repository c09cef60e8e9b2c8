package report

import (
	"bufio"
	"io"
	"iter"
	"strconv"
	"time"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
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
	if r.Filter != nil {
		o.member("filter", r.Filter)
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
	o.sessions(r.Sessions.All())
	o.list("events", len(r.Events), func(i int) any { return eventJSON{&r.Events[i]} })
	o.member("events_left_out", r.EventsLeftOut)
	o.list("expected_counters", len(r.Hosts), func(i int) any { return newHost(&r.Hosts[i]) })
	o.member("classes", r.Classes)
	o.member("pause_visible", r.Capture.OtherKinds["pfc"]+r.Capture.OtherKinds["pause"] > 0)
	o.member("pause", r.Pause)
	if r.PauseLeftOut > 0 {
		o.member("pause_left_out", r.PauseLeftOut)
	}
	o.member("receivers", r.Receivers)
	if r.ReceiversLeftOut > 0 {
		o.member("receivers_left_out", r.ReceiversLeftOut)
	}
	o.member("findings", r.Findings)
	return o.close()
}

// object writes a JSON object member by member. The first error stays.
type object struct {
	w *bufio.Writer
	sessionEncoder
}

func newObject(w io.Writer) *object {
	o := &object{w: bufio.NewWriter(w), sessionEncoder: newSessionEncoder()}
	o.begin()
	return o
}

// flush writes what is encoded, and says whether to go on.
func (o *object) flush() bool {
	if o.err == nil {
		_, o.err = o.w.Write(o.b)
	}
	o.b = o.b[:0]
	return o.err == nil
}

func (o *object) member(key string, v any) {
	o.value(key, v)
	o.flush()
}

// list writes an array of n values, made one at a time.
func (o *object) list(key string, n int, at func(i int) any) {
	o.array(key)
	for i := range n {
		o.element()
		o.encode(at(i))
		if !o.flush() {
			return
		}
	}
	o.endArray()
}

// sessions writes the member of that name.
func (o *object) sessions(all iter.Seq[*record.Session]) {
	o.array("sessions")
	for s := range all {
		o.element()
		o.session(s)
		if !o.flush() {
			return
		}
	}
	o.endArray()
}

func (o *object) close() error {
	o.end()
	o.b = append(o.b, '\n')
	if !o.flush() {
		return o.err
	}
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

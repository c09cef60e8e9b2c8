package report

import (
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
}

// JSON writes the report as JSON, indented by two spaces. Options are not
// used: a script gets the same bytes everywhere.
func JSON(w io.Writer, r *Report, _ Options) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(r); err != nil {
		return fmt.Errorf("encoding the report: %w", err)
	}
	_, err := w.Write(b.Bytes())
	return err
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

package schema

import (
	"fmt"

	"github.com/ClickHouse/ch-go/proto"
)

// Origin says where records come from. Every row has it.
type Origin struct {
	Probe string // who looked: the name of the host, say
	Run   string // of one program over its inputs, see package runs
	// Inputs are what records refer to by index.
	Inputs []Input
}

// Input is a tap, where packets were captured: a file or a live interface.
type Input struct {
	Tap        string
	Interfaces []string // names, by the index of the input's interface
}

// tap is the name of an input, "" where there is none such.
func (o *Origin) tap(input int32) string {
	if int(uint32(input)) < len(o.Inputs) {
		return o.Inputs[input].Tap
	}
	return ""
}

// iface is the name of an interface of an input, "" where it has none.
func (o *Origin) iface(input, iface int32) string {
	if int(uint32(input)) < len(o.Inputs) {
		if names := o.Inputs[input].Interfaces; int(uint32(iface)) < len(names) {
			return names[iface]
		}
	}
	return ""
}

// Rows is a table that records of one type go into.
type Rows[R any] struct {
	Table  *Table
	fields []field[R]
}

// rows is a table with the columns that all have before those given.
func rows[R any](t Table, fields []field[R]) *Rows[R] {
	s := &Rows[R]{Table: &t}
	s.fields = append([]field[R]{
		placed("probe", docProbe, func(o *Origin, _ *R) string { return o.Probe }),
		placed("run", docRun, func(o *Origin, _ *R) string { return o.Run }),
	}, fields...)
	for i := range s.fields {
		t.Columns = append(t.Columns, s.fields[i].Column)
	}
	t.Columns = append(t.Columns, loaded(typeSecond))
	return s
}

// loaded is when a row came into the store, which the server says.
func loaded(typ string) Column {
	return Column{Name: "loaded", Type: typ, Codec: codecZSTD, Default: "now()", Doc: docLoaded}
}

// Batch collects rows of one table, column by column. It keeps its memory when
// it is emptied. It is for one goroutine.
type Batch[R any] struct {
	table  *Table
	head   []string // names and types, as the format Native has them
	origin Origin
	cells  []cells[R]
	rows   int
	buf    proto.Buffer // Encode's
}

// Batch is a new and empty one.
func (s *Rows[R]) Batch() *Batch[R] {
	b := &Batch[R]{table: s.Table}
	for i := range s.fields {
		f := &s.fields[i]
		b.cells = append(b.cells, f.cells(&b.origin))
		b.head = append(b.head, f.Name, f.Type)
	}
	return b
}

// Table is where the rows go.
func (b *Batch[R]) Table() *Table { return b.table }

// Rows is how many there are.
func (b *Batch[R]) Rows() int { return b.rows }

// Append adds a row for each record, of which it keeps nothing but strings.
func (b *Batch[R]) Append(o *Origin, records []R) {
	b.origin = *o
	b.rows += len(records)
	for len(records) > 0 {
		some := records[:min(len(records), inCache)]
		for i := range b.cells {
			b.cells[i].fill(some)
		}
		records = records[len(some):]
	}
}

// inCache is how many records are taken apart at a time, column by column: so
// many that they stay in the processor's first cache meanwhile.
const inCache = 16

// Reset takes all rows away.
func (b *Batch[R]) Reset() {
	for i := range b.cells {
		b.cells[i].data.Reset()
	}
	b.rows = 0
}

// Encode appends the rows to dst as one block of ClickHouse's format Native,
// with the columns of Table.Inserted.
func (b *Batch[R]) Encode(dst []byte) ([]byte, error) {
	buf := &b.buf
	buf.Buf = dst
	defer func() { buf.Buf = nil }()
	buf.PutInt(len(b.cells))
	buf.PutInt(b.rows)
	for i := range b.cells {
		d := b.cells[i].data
		if n := d.Rows(); n != b.rows {
			return dst, fmt.Errorf("column %s of %s has %d rows of %d", b.head[2*i], b.table.Name, n, b.rows)
		}
		buf.PutString(b.head[2*i])
		buf.PutString(b.head[2*i+1])
		if b.rows == 0 {
			continue
		}
		if s, ok := d.(interface{ EncodeState(*proto.Buffer) }); ok {
			s.EncodeState(buf)
		}
		d.EncodeColumn(buf)
	}
	return buf.Buf, nil
}

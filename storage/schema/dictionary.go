package schema

import "github.com/ClickHouse/ch-go/proto"

// dictionary is a LowCardinality(String) column: each value once, and for each
// row the number of its value. What a value is called is asked once a batch, so
// that a row costs no string.
type dictionary[K comparable] struct {
	say    func(dst []byte, k K) []byte
	at     map[K]uint32
	last   K
	lastN  uint32
	words  proto.ColStr
	rows   proto.ColUInt32
	text   []byte
	keys8  proto.ColUInt8 // rows, as they are sent
	keys16 proto.ColUInt16
}

func newDictionary[K comparable](say func([]byte, K) []byte) *dictionary[K] {
	return &dictionary[K]{say: say, at: make(map[K]uint32)}
}

// maxWords bounds a dictionary across batches: one that grew beyond it begins
// anew with the next batch.
const maxWords = 1 << 12

func (d *dictionary[K]) add(k K) {
	if len(d.rows) == 0 || k != d.last {
		d.last, d.lastN = k, d.number(k)
	}
	d.rows = append(d.rows, d.lastN)
}

// number is that of a value.
func (d *dictionary[K]) number(k K) uint32 {
	n, ok := d.at[k]
	if !ok {
		n = uint32(len(d.at))
		d.at[k] = n
		d.text = d.say(d.text[:0], k)
		d.words.AppendBytes(d.text)
	}
	return n
}

func (d *dictionary[K]) Rows() int { return len(d.rows) }

// Reset takes the rows away. Words stay, and are sent again: they are few.
func (d *dictionary[K]) Reset() {
	d.rows = d.rows[:0]
	if len(d.at) > maxWords {
		clear(d.at)
		d.words.Reset()
	}
}

// How LowCardinality is sent, as ch-go's proto.ColLowCardinality does it: the
// version of keys before the column, then the kind of keys with two flags, the
// words and the rows, each with their number.
const (
	dictionaryVersion = 1
	dictionaryFlags   = 1<<9 | 1<<10 // words come along, and replace those before
)

func (d *dictionary[K]) EncodeState(b *proto.Buffer) { b.PutInt64(dictionaryVersion) }

func (d *dictionary[K]) EncodeColumn(b *proto.Buffer) {
	if len(d.rows) == 0 {
		return // not even the numbers
	}
	kind := proto.KeyUInt32
	switch n := len(d.at); {
	case n <= 1<<8:
		kind = proto.KeyUInt8
	case n <= 1<<16:
		kind = proto.KeyUInt16
	}
	b.PutInt64(int64(kind) | dictionaryFlags)
	b.PutInt64(int64(d.words.Rows()))
	d.words.EncodeColumn(b)
	b.PutInt64(int64(len(d.rows)))
	switch kind {
	case proto.KeyUInt8:
		d.keys8 = d.keys8[:0]
		for _, r := range d.rows {
			d.keys8 = append(d.keys8, uint8(r))
		}
		d.keys8.EncodeColumn(b)
	case proto.KeyUInt16:
		d.keys16 = d.keys16[:0]
		for _, r := range d.rows {
			d.keys16 = append(d.keys16, uint16(r))
		}
		d.keys16.EncodeColumn(b)
	default:
		d.rows.EncodeColumn(b)
	}
}

// mapColumn is a Map from LowCardinality(String).
type mapColumn[V any, C interface {
	data
	Append(V)
}] struct {
	offsets proto.ColUInt64
	keys    *dictionary[string]
	values  C
}

func newMapColumn[V any, C interface {
	data
	Append(V)
}](values C) *mapColumn[V, C] {
	return &mapColumn[V, C]{keys: newDictionary(sayString), values: values}
}

// add adds an item to the row, and end ends the row.
func (c *mapColumn[V, C]) add(key string, v V) {
	c.keys.add(key)
	c.values.Append(v)
}

func (c *mapColumn[V, C]) end() { c.offsets = append(c.offsets, uint64(c.values.Rows())) }

func (c *mapColumn[V, C]) Rows() int { return len(c.offsets) }

func (c *mapColumn[V, C]) Reset() {
	c.offsets.Reset()
	c.keys.Reset()
	c.values.Reset()
}

func (c *mapColumn[V, C]) EncodeState(b *proto.Buffer) { c.keys.EncodeState(b) }

func (c *mapColumn[V, C]) EncodeColumn(b *proto.Buffer) {
	c.offsets.EncodeColumn(b)
	c.keys.EncodeColumn(b) // nothing where it is empty, as ClickHouse has it
	c.values.EncodeColumn(b)
}

func sayString(dst []byte, s string) []byte { return append(dst, s...) }

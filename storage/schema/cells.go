package schema

import (
	"encoding/binary"
	"strings"

	"github.com/ClickHouse/ch-go/proto"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/sketch"
)

// cells are the values of one column in a batch. They keep their memory from
// one batch to the next.
type cells[R any] struct {
	data data
	fill func(rows []R)
}

// data is what ClickHouse's format Native needs of a column.
type data interface {
	Rows() int
	EncodeColumn(b *proto.Buffer)
	Reset()
}

// field is a column with its way from records to cells.
type field[R any] struct {
	Column
	cells func(o *Origin) cells[R]
}

// numbers is a field whose cells are a slice.
func numbers[R, T any, C ~[]T, P interface {
	*C
	data
}](name, typ, codec, doc string, get func(*R) T) field[R] {
	return field[R]{
		Column{Name: name, Type: typ, Codec: codec, Doc: doc},
		func(*Origin) cells[R] {
			col := new(C)
			return cells[R]{P(col), func(rows []R) {
				v := *col
				for i := range rows {
					v = append(v, get(&rows[i]))
				}
				*col = v
			}}
		},
	}
}

func boolean[R any](name, doc string, get func(*R) bool) field[R] {
	return numbers[R, bool, proto.ColBool](name, "Bool", codecZSTD, doc, get)
}

func u8[R any](name, codec, doc string, get func(*R) uint8) field[R] {
	return numbers[R, uint8, proto.ColUInt8](name, "UInt8", codec, doc, get)
}

func u16[R any](name, codec, doc string, get func(*R) uint16) field[R] {
	return numbers[R, uint16, proto.ColUInt16](name, "UInt16", codec, doc, get)
}

func u32[R any](name, codec, doc string, get func(*R) uint32) field[R] {
	return numbers[R, uint32, proto.ColUInt32](name, "UInt32", codec, doc, get)
}

func u64[R any](name, codec, doc string, get func(*R) uint64) field[R] {
	return numbers[R, uint64, proto.ColUInt64](name, "UInt64", codec, doc, get)
}

func i8[R any](name, codec, doc string, get func(*R) int8) field[R] {
	return numbers[R, int8, proto.ColInt8](name, "Int8", codec, doc, get)
}

func i32[R any](name, codec, doc string, get func(*R) int32) field[R] {
	return numbers[R, int32, proto.ColInt32](name, "Int32", codec, doc, get)
}

func i64[R any](name, codec, doc string, get func(*R) int64) field[R] {
	return numbers[R, int64, proto.ColInt64](name, "Int64", codec, doc, get)
}

func f32[R any](name, codec, doc string, get func(*R) float32) field[R] {
	return numbers[R, float32, proto.ColFloat32](name, "Float32", codec, doc, get)
}

// when is a time in ns since the epoch. Its zone makes days the same on every
// server.
func when[R any](name, doc string, get func(*R) int64) field[R] {
	return numbers[R, int64, proto.ColInt64](name, typeTime, codecTime, doc, get)
}

// addr is an address as IPv6, IPv4 mapped.
func addr[R any](name, doc string, get func(*R) decode.Addr) field[R] {
	return numbers[R, proto.IPv6, proto.ColIPv6](name, "IPv6", codecZSTD, doc, func(r *R) (ip proto.IPv6) {
		a := get(r)
		binary.BigEndian.PutUint64(ip[:8], a.Hi)
		binary.BigEndian.PutUint64(ip[8:], a.Lo)
		return ip
	})
}

// text is a string that is another one in most rows.
func text[R any](name, doc string, get func(*R) string) field[R] {
	return field[R]{
		Column{Name: name, Type: "String", Codec: codecZSTD, Doc: doc},
		func(*Origin) cells[R] {
			col := new(proto.ColStr)
			return cells[R]{col, func(rows []R) {
				for i := range rows {
					col.Append(get(&rows[i]))
				}
			}}
		},
	}
}

// texts is a list of strings.
func texts[R any](name, doc string, get func(*R) []string) field[R] {
	return field[R]{
		Column{Name: name, Type: "Array(String)", Codec: codecZSTD, Doc: doc},
		func(*Origin) cells[R] {
			col := new(proto.ColStr).Array()
			return cells[R]{col, func(rows []R) {
				for i := range rows {
					col.Append(get(&rows[i]))
				}
			}}
		},
	}
}

// word is one of few values, by its name: a LowCardinality(String). The name of
// a value is asked for once a batch.
func word[R any, K comparable](name, doc string, get func(*R) K, say func(dst []byte, k K) []byte) field[R] {
	return field[R]{
		Column{Name: name, Type: typeWord, Codec: codecZSTD, Doc: doc},
		func(*Origin) cells[R] {
			d := newDictionary(say)
			return cells[R]{d, func(rows []R) {
				for i := range rows {
					d.add(get(&rows[i]))
				}
			}}
		},
	}
}

// named is word of a string.
func named[R any](name, doc string, get func(*R) string) field[R] {
	return word(name, doc, get, sayString)
}

// stringed is word of what has a String method.
func stringed[R any, K interface {
	comparable
	String() string
}](name, doc string, get func(*R) K) field[R] {
	return word(name, doc, get, func(dst []byte, k K) []byte { return append(dst, k.String()...) })
}

// histogram is a distribution: how many values are in which bucket of
// pipeline/sketch.
func histogram[R any](name, doc string, get func(*R) *sketch.Histogram) field[R] {
	return field[R]{
		Column{Name: name, Type: typeHistogram, Codec: codecZSTD, Doc: doc + ". " + histogramDoc},
		func(*Origin) cells[R] {
			col := new(histogramColumn)
			add := col.add
			return cells[R]{col, func(rows []R) {
				for i := range rows {
					if h := get(&rows[i]); h != nil && h.Count > 0 {
						h.Each(add)
					}
					col.offsets = append(col.offsets, uint64(len(col.keys)))
				}
			}}
		},
	}
}

// histogramColumn is a Map(UInt16, UInt64).
type histogramColumn struct {
	offsets proto.ColUInt64
	keys    proto.ColUInt16
	counts  proto.ColUInt64
}

func (c *histogramColumn) add(bucket int, n uint32) {
	c.keys = append(c.keys, uint16(bucket))
	c.counts = append(c.counts, uint64(n))
}

func (c *histogramColumn) Rows() int { return len(c.offsets) }

func (c *histogramColumn) Reset() {
	c.offsets.Reset()
	c.keys.Reset()
	c.counts.Reset()
}

func (c *histogramColumn) EncodeColumn(b *proto.Buffer) {
	c.offsets.EncodeColumn(b)
	c.keys.EncodeColumn(b)
	c.counts.EncodeColumn(b)
}

// dscps is a counter for each DSCP.
func dscps[R any](name, doc string, get func(*R) []record.DSCPCount) field[R] {
	return field[R]{
		Column{Name: name, Type: "Map(UInt8, UInt64)", Codec: codecZSTD, Doc: doc},
		func(*Origin) cells[R] {
			keys, counts := new(proto.ColUInt8), new(proto.ColUInt64)
			col := proto.NewMap(keys, counts)
			return cells[R]{col, func(rows []R) {
				for i := range rows {
					for _, c := range get(&rows[i]) {
						keys.Append(c.DSCP)
						counts.Append(c.Packets)
					}
					col.Offsets.Append(uint64(len(*keys)))
				}
			}}
		},
	}
}

// counters are those of some names that are not 0. What they are, each says: it
// calls count for all of them.
func counters[R any](name, doc string, each func(r *R, c *tally)) field[R] {
	return field[R]{
		Column{Name: name, Type: typeCounters, Codec: codecZSTD, Doc: doc + ": " + strings.Join(countedBy(each), ", ")},
		func(*Origin) cells[R] {
			col := &tally{keys: newDictionary(sayString)}
			return cells[R]{col, func(rows []R) {
				for i := range rows {
					each(&rows[i], col)
					col.end()
				}
			}}
		},
	}
}

// placed is a word that says where a record comes from.
func placed[R any](name, doc string, get func(*Origin, *R) string) field[R] {
	return field[R]{
		Column{Name: name, Type: typeWord, Codec: codecZSTD, Doc: doc},
		func(o *Origin) cells[R] {
			d := newDictionary(sayString)
			return cells[R]{d, func(rows []R) {
				for i := range rows {
					d.add(get(o, &rows[i]))
				}
			}}
		},
	}
}

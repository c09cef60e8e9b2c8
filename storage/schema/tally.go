package schema

import (
	"reflect"

	"github.com/ClickHouse/ch-go/proto"
)

// tally is a Map(LowCardinality(String), Int64) of counters, which are 0 where
// they are not in it.
type tally struct {
	offsets proto.ColUInt64
	keys    *dictionary[string]
	values  proto.ColInt64
}

// count adds a counter to the row, and end ends the row.
func (t *tally) count(name string, n int64) {
	if n != 0 {
		t.add(name, n)
	}
}

func (t *tally) add(name string, n int64) {
	t.keys.add(name)
	t.values = append(t.values, n)
}

func (t *tally) end() { t.offsets = append(t.offsets, uint64(len(t.values))) }

func (t *tally) Rows() int { return len(t.offsets) }

func (t *tally) Reset() {
	t.offsets.Reset()
	t.keys.Reset()
	t.values.Reset()
}

func (t *tally) EncodeState(b *proto.Buffer) { t.keys.EncodeState(b) }

func (t *tally) EncodeColumn(b *proto.Buffer) {
	t.offsets.EncodeColumn(b)
	t.keys.EncodeColumn(b)
	t.values.EncodeColumn(b)
}

// countedBy are the names of all counters that each counts: those of a record in
// which nothing is 0.
func countedBy[R any](each func(r *R, t *tally)) []string {
	var names []string
	t := &tally{keys: newDictionary(func(dst []byte, name string) []byte {
		names = append(names, name)
		return dst
	})}
	var r R
	fillOnes(reflect.ValueOf(&r).Elem())
	each(&r, t)
	return names
}

// fillOnes sets every number under v to 1, also behind pointers.
func fillOnes(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.CanSet() {
			v.Set(reflect.New(v.Type().Elem()))
			fillOnes(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fillOnes(v.Field(i))
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			fillOnes(v.Index(i))
		}
	case reflect.Int64:
		v.SetInt(1)
	case reflect.Uint64:
		v.SetUint(1)
	}
}

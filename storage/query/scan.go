package query

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// scan reads all rows into structs. A column goes into the field
// with its name in JSON; one of a struct in it has the names of both, with _
// between. Every column has a field and every field a column.
func scan[T any](rows driver.Rows) ([]T, error) {
	var all []T
	columns := rows.Columns()
	if len(columns) == 0 { // as over HTTP, where there are no rows
		return nil, rows.Err()
	}
	var path [][]int
	index := fieldsOf(reflect.TypeFor[T]())
	for _, c := range columns {
		p, ok := index[c]
		if !ok {
			return nil, fmt.Errorf("the answer has a column %s, which %v has not", c, reflect.TypeFor[T]())
		}
		path = append(path, p)
	}
	if len(columns) != len(index) {
		return nil, fmt.Errorf("the answer has %d columns, %v has %d", len(columns), reflect.TypeFor[T](), len(index))
	}
	dest := make([]any, len(columns))
	for rows.Next() {
		var row T
		v := reflect.ValueOf(&row).Elem()
		for i, p := range path {
			dest[i] = v.FieldByIndex(p).Addr().Interface()
		}
		if err := rows.Scan(dest...); err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	return all, rows.Err()
}

// fieldsOf are the paths of all fields of a struct by the names of their columns.
func fieldsOf(t reflect.Type) map[string][]int {
	all := make(map[string][]int)
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner := f.Type.Kind() == reflect.Struct && f.Type != timeType
		switch {
		case inner && f.Anonymous:
			for n, p := range fieldsOf(f.Type) {
				all[n] = append([]int{i}, p...)
			}
		case inner:
			for n, p := range fieldsOf(f.Type) {
				all[name+"_"+n] = append([]int{i}, p...)
			}
		default:
			all[name] = []int{i}
		}
	}
	return all
}

var timeType = reflect.TypeFor[time.Time]()

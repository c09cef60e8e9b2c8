package decode_test

import (
	"fmt"
	"reflect"

	"github.com/rocelens/rocelens/decode"
)

// exported lists the exported fields of a packet that are not its bytes.
func exported(p *decode.Packet) string {
	s := ""
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		for i := range v.NumField() {
			f := v.Type().Field(i)
			switch {
			case f.Anonymous:
				walk(v.Field(i))
			case f.IsExported() && f.Name != "Data" && f.Name != "Frame":
				s += fmt.Sprintf("%s=%v ", f.Name, v.Field(i).Interface())
			}
		}
	}
	walk(reflect.ValueOf(p).Elem())
	return s
}

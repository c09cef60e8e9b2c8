package track

import (
	"reflect"
	"testing"
)

// TestLines: what begins a group of fields begins a line of the processor's cache, in
// each element of a chunk.
func TestLines(t *testing.T) {
	for _, tc := range []struct {
		of    reflect.Type
		heads []string
	}{
		{reflect.TypeFor[flow](), []string{"packets", "goodput", "life"}},
		{reflect.TypeFor[stream](), []string{"lastAnswer", "cumAcked", "oneMessage", "sent"}},
	} {
		if tc.of.Size()%cacheLine != 0 {
			t.Errorf("%s has %d bytes, no whole lines", tc.of, tc.of.Size())
		}
		for i, name := range tc.heads {
			f, ok := tc.of.FieldByName(name)
			if want := cacheLine*(i+1) - allocatorBytes; !ok || f.Offset != uintptr(want) {
				t.Errorf("%s.%s is at %d, not %d", tc.of, name, f.Offset, want)
			}
		}
	}
}

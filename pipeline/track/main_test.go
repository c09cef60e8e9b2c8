package track

import (
	"fmt"
	"os"
	"reflect"
	"testing"
)

// TestMain looks, after all tests, that what all flows without requests share, and all
// streams without READs, is as empty as it was.
func TestMain(m *testing.M) {
	code := m.Run()
	if !reflect.DeepEqual(noStream, stream{reads: &noReads}) || !reflect.ValueOf(noReads).IsZero() {
		fmt.Fprintf(os.Stderr, "noStream or noReads was written to: %+v %+v\n", noStream, noReads)
		code = 1
	}
	os.Exit(code)
}

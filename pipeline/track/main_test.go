package track

import (
	"fmt"
	"os"
	"reflect"
	"testing"
)

// TestMain looks, after all tests, that the stream which all flows without
// requests share is as empty as it was.
func TestMain(m *testing.M) {
	code := m.Run()
	if !reflect.ValueOf(noStream).IsZero() {
		fmt.Fprintf(os.Stderr, "noStream was written to: %+v\n", noStream)
		code = 1
	}
	os.Exit(code)
}

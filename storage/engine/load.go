//go:build linux && (amd64 || arm64) && !static

package engine

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
)

const canLoad = true

// runLibrary runs the program that is in the library, with args behind its name.
func runLibrary(path string, args []string) error {
	handle, err := purego.Dlopen(path, purego.RTLD_NOW)
	if err != nil {
		return fmt.Errorf("the library of ClickHouse can't be loaded: %w", err)
	}
	for _, symbol := range []string{"chdb_query_cmdline", "chdb_result_error"} {
		if _, err := purego.Dlsym(handle, symbol); err != nil {
			return fmt.Errorf("%s is no library of chDB %d.%d or newer: it has no %s", path, minMajor, minMinor, symbol)
		}
	}
	var run func(argc int32, argv **byte) unsafe.Pointer
	var resultError func(unsafe.Pointer) string
	purego.RegisterLibFunc(&run, handle, "chdb_query_cmdline")
	purego.RegisterLibFunc(&resultError, handle, "chdb_result_error")
	args = append([]string{"clickhouse-local"}, args...)
	argv := make([]*byte, len(args)+1) // the last one is nil
	for i, a := range args {
		argv[i] = &append([]byte(a), 0)[0]
	}
	result := run(int32(len(args)), &argv[0])
	runtime.KeepAlive(argv)
	if result != nil {
		if msg := strings.TrimSpace(resultError(result)); msg != "" {
			return errors.New(msg)
		}
	}
	return nil
}

package dsn

import "unsafe"

// overwrite writes stars over a part of s, which must be an element of os.Args:
// those strings are the process's argument memory itself, which is writable.
func overwrite(s string, from, to int) {
	b := unsafe.Slice(unsafe.StringData(s), len(s))
	for i := from; i < to; i++ {
		b[i] = '*'
	}
}

//go:build !linux

package dsn

// overwrite does nothing: arguments can't be changed here.
func overwrite(string, int, int) {}

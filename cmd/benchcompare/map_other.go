//go:build !unix

package main

import "os"

// mapFile reads the file instead.
func mapFile(path string) (data []byte, unmap func(), err error) {
	data, err = os.ReadFile(path)
	return data, func() {}, err
}

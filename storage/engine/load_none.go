//go:build linux && ((!amd64 && !arm64) || static)

package engine

import "errors"

const canLoad = false

func runLibrary(string, []string) error {
	return errors.New("this build of rocelens can't load libraries")
}

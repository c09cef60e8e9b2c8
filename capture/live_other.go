//go:build !linux

package capture

import "errors"

var errLive = errors.New("live capture needs Linux: write files with another program, and read those")

// OpenLive needs Linux.
func OpenLive(LiveConfig) (Source, error) { return nil, errLive }

// OpenSockets needs Linux.
func OpenSockets(LiveConfig) ([]int, error) { return nil, errLive }

// Look says that there is nothing to capture.
func (c *LiveConfig) Look() error { return errLive }

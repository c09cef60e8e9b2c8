//go:build !unix

package storetest

import "time"

// CPU is not known here.
func CPU() time.Duration { return 0 }

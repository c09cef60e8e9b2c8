//go:build !linux

package storetest

import "time"

// ProcessCPU is not known here.
func ProcessCPU(int) time.Duration { return 0 }

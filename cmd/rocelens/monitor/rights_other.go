//go:build !linux

package monitor

import "github.com/rocelens/rocelens/capture"

// GiveUpRights does nothing: nothing can be captured here.
func GiveUpRights(*capture.LiveConfig, []string) error { return nil }

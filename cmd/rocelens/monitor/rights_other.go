//go:build !linux

package monitor

import (
	"context"

	"github.com/rocelens/rocelens/capture"
)

// GiveUpRights does nothing: nothing can be captured here.
func GiveUpRights(context.Context, *capture.LiveConfig, []string) error { return nil }

// RightsGone says that none were given up.
func RightsGone() bool { return false }

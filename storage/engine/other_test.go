//go:build !linux

package engine_test

import (
	"strings"
	"testing"

	"github.com/rocelens/rocelens/storage/engine"
)

func TestNotSupported(t *testing.T) {
	cfg := engine.DefaultConfig()
	cfg.Dir = t.TempDir()
	e, err := engine.New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "not supported on") {
		t.Error(err)
	}
}

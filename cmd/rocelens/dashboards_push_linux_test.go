package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rocelens/rocelens/dashboards/grafana/push/grafanatest"
)

// TestDashboardsPushPipe: the token may come out of a pipe, and where it does not come, that is
// told, and can be interrupted.
func TestDashboardsPushPipe(t *testing.T) {
	s := grafanatest.New(t, 13, "")
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	pushIt := func(ctx context.Context, want string) {
		t.Helper()
		var out, errOut bytes.Buffer
		code := run(ctx, []string{"dashboards", "push", "--grafana", s.URL(), "--token-file", pipe, "--timeout", "1s", "--dry-run"}, nil, &out, &errOut)
		if code != exitFailed || errOut.String() != want || out.Len() > 0 {
			t.Errorf("exit code %d, %s%s", code, out.String(), errOut.String())
		}
	}
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	pushIt(interrupted, "rocelens: interrupted: nothing was changed\n")
	pushIt(t.Context(), "rocelens: the token: "+pipe+" gave none within 1s (--timeout)\n")

	// Readers that were given up wait still: each writer goes away once it wrote, and they with it.
	f, err := os.OpenFile(pipe, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	other := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(other, 0o600); err != nil {
		t.Fatal(err)
	}
	wrote := make(chan error, 1)
	go func() { wrote <- os.WriteFile(other, []byte(s.Token+"\n"), 0) }()
	var out, errOut bytes.Buffer
	if code := run(t.Context(), []string{"dashboards", "push", "--grafana", s.URL(), "--token-file", other, "--dry-run"}, nil, &out, &errOut); code != exitDone || !strings.Contains(out.String(), "would create 9") {
		t.Errorf("exit code %d, %s%s", code, out.String(), errOut.String())
	}
	if err := <-wrote; err != nil {
		t.Error(err)
	}
}

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/rocelens/rocelens/capture/capturetest"
)

// TestCompose: what the container is to do is a right command line.
func TestCompose(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(capturetest.Root(t), "deploy", "docker", "compose.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Services struct {
			Rocelens struct{ Command []string }
		}
	}
	if err := yaml.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	var args []string
	for _, a := range c.Services.Rocelens.Command {
		args = append(args, strings.ReplaceAll(a, "${INTERFACE:?}", "lo"))
	}
	t.Setenv("ROCELENS_STORE_PASSWORD", "secret")
	var out, said bytes.Buffer
	if code := run(t.Context(), append(args, "--check"), nil, &out, &said); code != exitDone || !strings.Contains(out.String(), "go to clickhouse://rocelens@127.0.0.1:9000/rocelens") {
		t.Errorf("%d: %s%s", code, out.String(), said.String())
	}
}

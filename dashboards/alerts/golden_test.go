package alerts_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/dashboards/alerts"
)

var update = flag.Bool("update", false, "write the rules and their documentation anew; read them before keeping them")

// TestGolden: the rules that are carried, and the documentation, are those of the
// table.
func TestGolden(t *testing.T) {
	markdown := func() ([]byte, error) {
		var b bytes.Buffer
		err := alerts.Markdown(&b)
		return b.Bytes(), err
	}
	for _, f := range []struct {
		path          string
		make, carried func() ([]byte, error)
	}{
		{filepath.Join("rules", alerts.PrometheusFile), alerts.MakePrometheus, alerts.Prometheus},
		{filepath.Join("rules", alerts.GrafanaFile), alerts.MakeGrafana, alerts.Grafana},
		{filepath.Join("..", "..", "docs", "alerts.md"), markdown, nil},
	} {
		made, err := f.make()
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(f.path, made, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if f.carried == nil {
			f.carried = func() ([]byte, error) { return os.ReadFile(f.path) }
		}
		carried, err := f.carried()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(carried), string(made)); diff != "" {
			t.Errorf("%s (-carried +made); -update writes it:\n%s", f.path, diff)
		}
	}
}

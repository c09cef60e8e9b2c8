package grafana_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/dashboards/grafana"
)

var update = flag.Bool("update", false, "write the boards anew; read them before keeping them")

// TestGolden: the boards that are carried are those that are made.
func TestGolden(t *testing.T) {
	for _, uid := range grafana.UIDs() {
		made, err := grafana.Make(uid)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("boards", uid+".json")
		if *update {
			if err := os.WriteFile(path, made, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		carried, err := grafana.Board(uid)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(carried), string(made)); diff != "" {
			t.Errorf("%s (-carried +made); -update writes it:\n%s", path, diff)
		}
	}
	if all, err := filepath.Glob("boards/*.json"); err != nil || len(all) != len(grafana.UIDs()) {
		t.Errorf("%d files for %d boards: %v", len(all), len(grafana.UIDs()), err)
	}
}

// withoutInputs is a board without what Grafana asks when it is imported.
func withoutInputs(t testing.TB, data []byte) []byte {
	t.Helper()
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	delete(all, "__inputs")
	delete(all, "__requires")
	data, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

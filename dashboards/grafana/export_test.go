package grafana_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/rocelens/rocelens/dashboards/grafana"
	"github.com/rocelens/rocelens/dashboards/grafana/boardtest"
	"github.com/rocelens/rocelens/storage/dsn"
)

// TestExport: what is written are boards whose data sources are those that are
// written with them, with all that a DSN says of them.
func TestExport(t *testing.T) {
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, []byte("-- a $certificate --\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := dsn.Parse("clickhouse://me:tellno1@[fd00::1],ch2/my_db?secure=true&cluster=main&ca=" + ca)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	e := grafana.Export{Store: d, Prometheus: "http://prom:9090/$x"}
	first := export(t, &e, dir)
	if second := export(t, &e, dir); first != second {
		t.Error("a second export writes something else")
	}
	if strings.Contains(first, "tellno1") {
		t.Error("the password was written")
	}
	var sources struct {
		Datasources []struct {
			UID, Type, URL string
			JSONData       map[string]any    `yaml:"jsonData"`
			Secure         map[string]string `yaml:"secureJsonData"`
		}
	}
	if err := yaml.Unmarshal(read(t, dir, "provisioning/datasources/rocelens.yaml"), &sources); err != nil {
		t.Fatal(err)
	}
	ch, prom := sources.Datasources[0], sources.Datasources[1]
	for key, want := range map[string]any{
		"host": "fd00::1", "port": 9440, "protocol": "native", "secure": true, "username": "me", "defaultDatabase": "my_db", "tlsAuthWithCACert": true,
	} {
		if ch.JSONData[key] != want {
			t.Errorf("%s is %v, not %v", key, ch.JSONData[key], want)
		}
	}
	if ch.Secure["tlsCACert"] != "-- a $$certificate --\n" || prom.URL != "http://prom:9090/$$x" {
		t.Errorf("Grafana would expand %q, %q", ch.Secure["tlsCACert"], prom.URL)
	}
	known := map[string]string{ch.Type: ch.UID, prom.Type: prom.UID}
	for _, uid := range grafana.UIDs() {
		var b boardtest.Board
		if err := json.Unmarshal(read(t, dir, "dashboards/"+uid+".json"), &b); err != nil {
			t.Fatal(err)
		}
		if b.UID != uid {
			t.Errorf("%s has the UID %s", uid, b.UID)
		}
		for _, p := range b.Panels {
			for _, q := range p.Targets {
				if known[q.Datasource.Type] != q.Datasource.UID {
					t.Errorf("%s: %s asks %v", uid, p.Title, q.Datasource)
				}
			}
		}
		for _, v := range b.Templating.List {
			if v.Name == "database" && v.Query != "my_db" {
				t.Errorf("%s: the database is %v", uid, v.Query)
			}
		}
	}
}

// TestExportReplaces: links and modes stay, and what is no file is left alone.
func TestExportReplaces(t *testing.T) {
	d, err := dsn.Parse("http://ch1/first")
	if err != nil {
		t.Fatal(err)
	}
	dir, other := t.TempDir(), filepath.Join(t.TempDir(), "pfc")
	e := grafana.Export{Store: d, Prometheus: "http://prom:9090"}
	export(t, &e, dir)
	board := filepath.Join(dir, "dashboards", "rocelens-pfc.json")
	for _, err := range []error{os.WriteFile(other, []byte("old"), 0o600), os.Remove(board), os.Symlink(other, board)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	export(t, &e, dir)
	at, err := os.Lstat(board)
	if err != nil || at.Mode().Type() != os.ModeSymlink {
		t.Errorf("the link is %v, %v", at, err)
	}
	if at, err = os.Stat(other); err != nil || at.Size() < 1000 || runtime.GOOS != "windows" && at.Mode().Perm() != 0o600 {
		t.Errorf("what it leads to is %v, %v", at, err)
	}
	if err := errors.Join(os.Remove(board), os.Mkdir(board, 0o755)); err != nil {
		t.Fatal(err)
	}
	if names, err := e.Write(dir); err == nil || !strings.Contains(err.Error(), board+" is there and is no file") || slices.Contains(names, "dashboards/rocelens-pfc.json") {
		t.Errorf("%v, %v", names, err)
	}
	if names, err := e.Write(""); err == nil || len(names) > 0 {
		t.Errorf("without a directory: %v, %v", names, err)
	}
}

// export writes, and returns all that was written.
func export(t *testing.T, e *grafana.Export, dir string) string {
	t.Helper()
	names, err := e.Write(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, name := range names {
		all.Write(read(t, dir, name))
	}
	return all.String()
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

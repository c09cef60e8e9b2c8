package grafana

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rocelens/rocelens/dashboards/alerts"
	"github.com/rocelens/rocelens/storage/dsn"
)

// The UIDs of the data sources of boards that Grafana reads from files.
const (
	clickHouseUID = "rocelens-clickhouse"
	prometheusUID = alerts.DatasourceUID
)

// Export is what boards that Grafana reads from files have for data sources.
type Export struct {
	Store      *dsn.DSN // a server
	Prometheus string   // URL
	// Seen is where Grafana sees the directory, if that is elsewhere: in a
	// container, say.
	Seen string
}

// Validate says what can't be written.
func (e *Export) Validate() error {
	if e.Store.Dir != "" {
		return errors.New("an embedded store has no address that Grafana could ask: run \"rocelens store serve\" and name http://USER@127.0.0.1:8123")
	}
	u, err := url.Parse(e.Prometheus)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("%q is no address of Prometheus: use http://HOST:9090", e.Prometheus)
	}
	if u.User != nil {
		return errors.New("the address of Prometheus has a user: what is written is no place for passwords; set it in Grafana")
	}
	return nil
}

// Write writes boards, what tells Grafana of them and of their data sources, and
// alerts, into a directory, and returns the paths of the files in it. No password is written: Grafana takes it from
// its environment.
func (e *Export) Write(dir string) ([]string, error) {
	if err := e.Validate(); err != nil {
		return nil, err
	}
	seen := e.Seen
	if seen == "" {
		var err error
		if seen, err = filepath.Abs(dir); err != nil {
			return nil, err
		}
	}
	source, err := e.clickHouse()
	if err != nil {
		return nil, err
	}
	var done []string
	write := func(name string, data []byte) error {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		done = append(done, name)
		return os.WriteFile(path, data, 0o644)
	}
	for _, uid := range UIDs() {
		data, err := e.board(uid)
		if err != nil {
			return done, err
		}
		if err := write("dashboards/"+uid+".json", data); err != nil {
			return done, err
		}
	}
	for _, f := range []struct {
		name string
		read func() ([]byte, error)
	}{{alerts.GrafanaFile, alerts.Grafana}, {alerts.PrometheusFile, alerts.Prometheus}} {
		data, err := f.read()
		if err != nil {
			return done, err
		}
		if err := write("alerts/"+f.name, data); err != nil {
			return done, err
		}
	}
	for _, f := range []struct {
		name string
		what any
	}{
		{"provisioning/dashboards/rocelens.yaml", map[string]any{"apiVersion": 1, "providers": []any{map[string]any{
			"name": "rocelens", "folder": "RoCE", "folderUid": "rocelens", "type": "file", "allowUiUpdates": false,
			"options": map[string]any{"path": literal(strings.TrimSuffix(seen, "/") + "/dashboards")},
		}}}},
		{"provisioning/datasources/rocelens.yaml", map[string]any{"apiVersion": 1, "datasources": []any{source, map[string]any{
			"name": "rocelens Prometheus", "uid": prometheusUID, "type": prometheusType, "access": "proxy", "url": literal(e.Prometheus),
		}}}},
	} {
		data, err := yaml.Marshal(f.what)
		if err != nil {
			return done, err
		}
		if err := write(f.name, data); err != nil {
			return done, err
		}
	}
	return done, nil
}

// literal is text as it is, in files in which Grafana puts its environment.
func literal(s string) string { return strings.ReplaceAll(s, "$", "$$") }

// board is one with the data sources of the export, which asks for nothing.
func (e *Export) board(uid string) ([]byte, error) {
	data, err := Board(uid)
	if err != nil {
		return nil, err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	delete(all, "__inputs")
	delete(all, "__requires")
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(all); err != nil {
		return nil, err
	}
	return []byte(strings.NewReplacer(
		"${"+inputClickHouse+"}", clickHouseUID, "${"+inputPrometheus+"}", prometheusUID, "${"+inputDatabase+"}", e.Store.Database,
	).Replace(b.String())), nil
}

// clickHouse is the data source of the store, as its plugin wants it.
func (e *Export) clickHouse() (map[string]any, error) {
	d := e.Store
	host, port, err := net.SplitHostPort(d.Hosts[0])
	if err != nil {
		return nil, err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, err
	}
	protocol := "native"
	if d.HTTP {
		protocol = "http"
	}
	settings := map[string]any{
		"host": literal(host), "port": number, "protocol": protocol, "secure": d.Secure, "defaultDatabase": literal(d.Database),
		"username": "${" + dsn.UserEnv + "}",
	}
	if d.User != "" {
		settings["username"] = literal(d.User)
	}
	secure := map[string]any{"password": "${" + dsn.PasswordEnv + "}"}
	if d.CAFile != "" {
		ca, err := os.ReadFile(d.CAFile)
		if err != nil {
			return nil, err
		}
		settings["tlsAuthWithCACert"], secure["tlsCACert"] = true, literal(string(ca))
	}
	return map[string]any{
		"name": "rocelens ClickHouse", "uid": clickHouseUID, "type": clickHouseType, "access": "proxy", "jsonData": settings, "secureJsonData": secure,
	}, nil
}

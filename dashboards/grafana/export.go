package grafana

import (
	"bytes"
	"crypto/rand"
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

// The folder of the boards, unless another is asked for.
const (
	FolderUID   = "rocelens"
	FolderTitle = "RoCE"
)

// The UIDs of the data sources of boards that ask for none.
const (
	clickHouseUID = "rocelens-clickhouse"
	prometheusUID = alerts.DatasourceUID
)

// Export is what boards have for data sources where Grafana does not ask for them.
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
	if err == nil && u.User != nil || err != nil && strings.Contains(e.Prometheus, "@") { // then it may have one, and is not repeated
		return errors.New("the address of Prometheus has a user: what is written is no place for passwords; set it in Grafana")
	}
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return fmt.Errorf("%q is no address of Prometheus: use http://HOST:9090", e.Prometheus)
	}
	return CheckAddress("Prometheus", u, e.Prometheus)
}

// Write writes boards, what tells Grafana of them and of their data sources, and
// alerts, into a directory, and returns the paths of the files in it. No password is written: Grafana takes it from
// its environment.
func (e *Export) Write(dir string) ([]string, error) {
	if dir == "" {
		return nil, errors.New("the boards need a directory, and its name is empty: . is the current one")
	}
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
	sources, err := e.provisioned()
	if err != nil {
		return nil, err
	}
	var done []string
	write := func(name string, data []byte) error {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := replace(path, data); err != nil {
			return err
		}
		done = append(done, name)
		return nil
	}
	for _, uid := range UIDs() {
		data, err := e.Board(uid)
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
			"name": "rocelens", "folder": FolderTitle, "folderUid": FolderUID, "type": "file", "allowUiUpdates": false,
			"options": map[string]any{"path": literal(strings.TrimSuffix(seen, "/") + "/dashboards")},
		}}}},
		{"provisioning/datasources/rocelens.yaml", map[string]any{"apiVersion": 1, "datasources": sources}},
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

// replace puts a file in the place of path, or leaves what is there as it is. Grafana, which may
// look at any time, takes no notice of the name that the file has until it is whole.
func replace(path string, data []byte) (err error) {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to // a link stays one
	}
	was, err := os.Stat(path)
	if err == nil && !was.Mode().IsRegular() {
		return fmt.Errorf("%s is there and is no file", path)
	}
	f, err := os.OpenFile(path+"."+rand.Text()+".part", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(data)
	if err == nil && was != nil {
		err = f.Chmod(was.Mode().Perm())
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// literal is text as it is, in files in which Grafana puts its environment.
func literal(s string) string { return strings.ReplaceAll(s, "$", "$$") }

// Board is the JSON of a board with the data sources of the export, which asks for
// nothing.
func (e *Export) Board(uid string) ([]byte, error) {
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

// Source is a data source of the boards, as Grafana keeps it.
type Source struct {
	Name, UID, Type string
	URL             string // empty where the settings have the address
	Settings        map[string]any
	// Secrets are what Grafana encrypts, and shows to nobody.
	Secrets map[string]string
}

// Sources are the data sources of the boards: the store, with the user and the password
// that its name has, and Prometheus.
func (e *Export) Sources() ([]Source, error) {
	if err := e.Validate(); err != nil {
		return nil, err
	}
	store, err := e.clickHouse()
	if err != nil {
		return nil, err
	}
	return []Source{store, {Name: "rocelens Prometheus", UID: prometheusUID, Type: prometheusType, URL: e.Prometheus}}, nil
}

// The settings of the ClickHouse plugin that this package has to know again.
const (
	settingUser    = "username"
	secretPassword = "password"
)

// clickHouse is the data source of the store, as its plugin wants it.
func (e *Export) clickHouse() (Source, error) {
	d := e.Store
	host, port, err := net.SplitHostPort(d.Hosts[0])
	if err != nil {
		return Source{}, err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return Source{}, err
	}
	protocol := "native"
	if d.HTTP {
		protocol = "http"
	}
	s := Source{Name: "rocelens ClickHouse", UID: clickHouseUID, Type: clickHouseType, Secrets: map[string]string{}, Settings: map[string]any{
		"host": host, "port": number, "protocol": protocol, "secure": d.Secure, "defaultDatabase": d.Database, settingUser: d.User,
	}}
	if p := d.Password.Reveal(); p != "" {
		s.Secrets[secretPassword] = p
	}
	if d.CAFile != "" {
		ca, err := os.ReadFile(d.CAFile)
		if err != nil {
			return Source{}, err
		}
		s.Settings["tlsAuthWithCACert"], s.Secrets["tlsCACert"] = true, string(ca)
	}
	return s, nil
}

// provisioned are the data sources as files have them: Grafana takes the password from its
// environment, and a user that the store's name does not have.
func (e *Export) provisioned() ([]any, error) {
	sources, err := e.Sources()
	if err != nil {
		return nil, err
	}
	all := make([]any, 0, len(sources))
	for _, s := range sources {
		f := map[string]any{"name": s.Name, "uid": s.UID, "type": s.Type, "access": "proxy"}
		if s.URL != "" {
			f["url"] = literal(s.URL)
		}
		if s.UID == clickHouseUID {
			settings, secrets := map[string]any{}, map[string]any{}
			for k, v := range s.Settings {
				if text, is := v.(string); is {
					v = literal(text)
				}
				settings[k] = v
			}
			for k, v := range s.Secrets {
				secrets[k] = literal(v)
			}
			if settings[settingUser] == "" {
				settings[settingUser] = "${" + dsn.UserEnv + "}"
			}
			secrets[secretPassword] = "${" + dsn.PasswordEnv + "}"
			f["jsonData"], f["secureJsonData"] = settings, secrets
		}
		all = append(all, f)
	}
	return all, nil
}

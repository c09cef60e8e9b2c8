package push_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/dashboards/grafana"
	"github.com/rocelens/rocelens/dashboards/grafana/push"
	"github.com/rocelens/rocelens/dashboards/grafana/push/grafanatest"
	"github.com/rocelens/rocelens/storage/dsn"
)

// password is that of the store, and looks otherwise in a URL.
const password = "h:u/n%t e@r+2"

const (
	clickHouse = "rocelens-clickhouse"
	prometheus = "rocelens-prometheus"
	pfc        = "rocelens-pfc"
)

func client(t *testing.T, s *grafanatest.Server, change func(*push.Config)) *push.Client {
	t.Helper()
	cfg := push.DefaultConfig()
	cfg.URL, cfg.Token = s.URL(), dsn.NewSecret(s.Token)
	if change != nil {
		change(&cfg)
	}
	c, err := push.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func wanted(t *testing.T) push.Wanted {
	t.Helper()
	d, err := dsn.Parse("clickhouse://grafana@ch1:9440/fabric?secure=true")
	if err != nil {
		t.Fatal(err)
	}
	d.Password = dsn.NewSecret(password)
	return push.Wanted{Folder: grafana.FolderUID, Export: &grafana.Export{Store: d, Prometheus: "http://prom:9090"}}
}

// all is everything that a push is about, with the same action.
func all(a push.Action) map[string]push.Action {
	m := map[string]push.Action{"folder rocelens": a, "data source " + clickHouse: a, "data source " + prometheus: a}
	for _, uid := range grafana.UIDs() {
		m["board "+uid] = a
	}
	return m
}

func but(m map[string]push.Action, what string, a push.Action) map[string]push.Action {
	m[what] = a
	return m
}

// pushed does what is to be done, and says what that was, with the notes of steps.
func pushed(ctx context.Context, c *push.Client, w push.Wanted) (did map[string]push.Action, notes map[string]string, err error) {
	did, notes = map[string]push.Action{}, map[string]string{}
	plan, err := c.Plan(ctx, w)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range plan.Steps {
		notes[s.UID] = s.Note
	}
	err = plan.Apply(ctx, func(s push.Step) error {
		did[s.Kind+" "+s.UID] = s.Action
		return nil
	})
	return did, notes, err
}

// must is a push that goes well, and does what it should.
func must(t *testing.T, c *push.Client, w push.Wanted, want map[string]push.Action) map[string]string {
	t.Helper()
	did, notes, err := pushed(t.Context(), c, w)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, did); diff != "" {
		t.Fatalf("(-want +did):\n%s", diff)
	}
	return notes
}

// mustNot is a push that is refused, with a text in its error, and sends nothing.
func mustNot(t *testing.T, s *grafanatest.Server, c *push.Client, w push.Wanted, want string) {
	t.Helper()
	s.Forget()
	_, _, err := pushed(t.Context(), c, w)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the error is %v; it should have %q", err, want)
	}
	if sent := s.Sent(); len(sent) > 0 {
		t.Errorf("%v was sent", sent)
	}
}

func versions(t *testing.T, test func(t *testing.T, version int)) {
	for _, v := range grafanatest.Versions {
		t.Run(fmt.Sprint(v), func(t *testing.T) { test(t, v) })
	}
}

// TestPush: a fresh push makes all there is, with what it should have, and a second one
// sends nothing, also where Grafana gives boards back otherwise than they came.
func TestPush(t *testing.T) {
	versions(t, func(t *testing.T, version int) {
		for _, rewrites := range []bool{false, true} {
			s := grafanatest.New(t, version, "/ops/grafana")
			s.Rewrites = rewrites
			c, w := client(t, s, nil), wanted(t)
			must(t, c, w, all(push.Created))
			if len(s.Sent()) != 9 {
				t.Errorf("%d were sent: %v", len(s.Sent()), s.Sent())
			}
			checkBoards(t, s, w.Export)
			checkSources(t, s)
			s.Forget()
			must(t, client(t, s, nil), w, all(push.Unchanged))
			w.Force = true // only what can't be compared is sent again
			s.Forget()
			must(t, c, w, but(all(push.Unchanged), "data source "+clickHouse, push.Updated))
			if want := []string{"PUT /ops/grafana/api/datasources/uid/" + clickHouse}; !slices.Equal(s.Sent(), want) {
				t.Errorf("%v was sent", s.Sent())
			}
		}
	})
}

func checkBoards(t *testing.T, s *grafanatest.Server, e *grafana.Export) {
	t.Helper()
	for _, uid := range grafana.UIDs() {
		got, folder := s.Board(uid)
		data, err := e.Board(uid)
		if err != nil {
			t.Fatal(err)
		}
		var want grafanatest.Object
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" || folder != grafana.FolderUID {
			t.Errorf("%s is in %s, (-want +got):\n%s", uid, folder, diff)
		}
	}
}

func checkSources(t *testing.T, s *grafanatest.Server) {
	t.Helper()
	ch, prom := s.Source(clickHouse), s.Source(prometheus)
	want := grafanatest.Object{"host": "ch1", "port": 9440.0, "protocol": "native", "secure": true, "username": "grafana", "defaultDatabase": "fabric"}
	if diff := cmp.Diff(any(want), ch["jsonData"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if s.Secret(clickHouse, "password") != password {
		t.Errorf("the password is %q", s.Secret(clickHouse, "password"))
	}
	if ch["type"] != "grafana-clickhouse-datasource" || ch["access"] != "proxy" || prom["type"] != "prometheus" || prom["url"] != "http://prom:9090" {
		t.Errorf("%v, %v", ch, prom)
	}
}

// TestDryRun: a plan asks, and sends nothing.
func TestDryRun(t *testing.T) {
	s := grafanatest.New(t, 13, "")
	p, err := client(t, s, nil).Plan(t.Context(), wanted(t))
	if err != nil {
		t.Fatal(err)
	}
	if p.Grafana != "13.6.1" || p.Old() || len(p.Steps) != 9 || len(s.Sent()) > 0 || len(s.Asked()) != 10 {
		t.Errorf("%+v after %v", p, s.Asked())
	}
}

// TestOld: a Grafana that the boards are not made for is known.
func TestOld(t *testing.T) {
	for version, old := range map[string]bool{"10.4.19": true, "11.5.0": true, "11.6.0": false, "12.0.0-pre": false, "13.1.0+security-01": false, "": false, "main": false} {
		if p := (push.Plan{Grafana: version}); p.Old() != old {
			t.Errorf("%q: old is %v", version, p.Old())
		}
	}
}

// TestNewer: what an older push left is overwritten, and nothing else.
func TestNewer(t *testing.T) {
	versions(t, func(t *testing.T, version int) {
		s := grafanatest.New(t, version, "")
		c, w := client(t, s, nil), wanted(t)
		must(t, c, w, all(push.Created))
		s.Save("rocelens-mine", grafana.FolderUID, "", grafanatest.Object{"title": "mine"})
		w.Export.Store.Database = "other" // is in each board, and in the data source
		want := all(push.Updated)
		want["folder rocelens"], want["data source "+prometheus] = push.Unchanged, push.Unchanged
		notes := must(t, c, w, want)
		if notes[clickHouse] != "defaultDatabase" {
			t.Errorf("the note is %q", notes[clickHouse])
		}
		checkBoards(t, s, w.Export)
		if b, _ := s.Board("rocelens-mine"); b["title"] != "mine" {
			t.Error("a board of somebody else was touched")
		}
		if s.Secret(clickHouse, "password") != password {
			t.Error("the password got lost")
		}
		must(t, c, w, all(push.Unchanged))
	})
}

// TestEdited: what somebody did to a board in Grafana is told, and overwritten only if asked
// for.
func TestEdited(t *testing.T) {
	versions(t, func(t *testing.T, version int) {
		s := grafanatest.New(t, version, "")
		c, w := client(t, s, nil), wanted(t)
		must(t, c, w, all(push.Created))
		s.Edit(pfc, "carol", "title", "mine now")
		w.Export.Prometheus = "http://other:9090" // must not be sent either
		mustNot(t, s, c, w, "board rocelens-pfc was changed in Grafana by carol on 2026-02-03 04:05 UTC: save what is to be kept under another name, then --force overwrites it")
		s.AddFolder("net", "Network")
		s.Move("rocelens-ecn", "net")
		mustNot(t, s, c, w, "board rocelens-ecn is in the folder net (Network): --force moves it to rocelens")
		s.Move("rocelens-ecn", "")
		mustNot(t, s, c, w, "board rocelens-ecn is in no folder: --force moves it to rocelens")
		s.Edit("rocelens-ecn", "carol", "refresh", "5s")
		mustNot(t, s, c, w, "board rocelens-ecn is in no folder, and was changed in Grafana by carol")
		w.Force = true
		want := all(push.Unchanged)
		want["board "+pfc], want["board rocelens-ecn"], want["data source "+prometheus], want["data source "+clickHouse] = push.Updated, push.Updated, push.Updated, push.Updated
		notes := must(t, c, w, want)
		if notes[pfc] != "was changed in Grafana by carol on 2026-02-03 04:05 UTC" {
			t.Errorf("the note is %q", notes[pfc])
		}
		checkBoards(t, s, w.Export)
		w.Force = false
		must(t, c, w, all(push.Unchanged))
		// Changed and changed back is not changed.
		b, _ := s.Board(pfc)
		s.Edit(pfc, "carol", "title", "x")
		s.Edit(pfc, "carol", "title", b["title"])
		must(t, c, w, all(push.Unchanged))
	})
}

// TestMark: a mark counts in the newest entry of the history, and as a whole.
func TestMark(t *testing.T) {
	s := grafanatest.New(t, 12, "")
	c, w := client(t, s, nil), wanted(t)
	must(t, c, w, all(push.Created))
	b, _ := s.Board(pfc)
	b["title"] = "mine"
	const sum = "00112233445566778899aabbccddeeff"
	for _, message := range []string{"", "Restored from version 1", "I like rocelens dashboards push, content " + sum, "rocelens dashboards push, content " + sum + "0"} {
		s.Save(pfc, grafana.FolderUID, message, b)
		mustNot(t, s, c, w, "board rocelens-pfc was changed in Grafana by admin")
	}
	s.Save(pfc, grafana.FolderUID, "rocelens dashboards push, content "+sum, b) // an older rocelens
	must(t, c, w, but(all(push.Unchanged), "board "+pfc, push.Updated))
}

// TestFile: boards that Grafana has from files are not fought over.
func TestFile(t *testing.T) {
	s := grafanatest.New(t, 12, "")
	c, w := client(t, s, nil), wanted(t)
	must(t, c, w, all(push.Created))
	s.FromFile(pfc)
	must(t, c, w, all(push.Unchanged))
	s.Edit(pfc, "file", "title", "of the file")
	w.Force = true
	mustNot(t, s, c, w, "board rocelens-pfc comes from a file that Grafana reads")
}

// TestSource: a data source keeps what is not ours, and one that is not ours to change is
// not changed.
func TestSource(t *testing.T) {
	s := grafanatest.New(t, 13, "")
	c, w := client(t, s, nil), wanted(t)
	must(t, c, w, all(push.Created))
	s.SetSource(clickHouse, "name", "the fabric")
	s.SetSource(clickHouse, "isDefault", true)
	s.SetSetting(clickHouse, "dialTimeout", "3")
	must(t, c, w, all(push.Unchanged))
	s.SetSetting(clickHouse, "host", "elsewhere")
	s.SetSetting(clickHouse, "port", 1)
	w.Export.Store.Password = dsn.NewSecret("") // Grafana has it
	notes := must(t, c, w, but(all(push.Unchanged), "data source "+clickHouse, push.Updated))
	if notes[clickHouse] != "host, port" {
		t.Errorf("the note is %q", notes[clickHouse])
	}
	d := s.Source(clickHouse)
	settings := d["jsonData"].(grafanatest.Object)
	if d["name"] != "the fabric" || d["isDefault"] != true || settings["dialTimeout"] != "3" || settings["host"] != "ch1" || s.Secret(clickHouse, "password") != password {
		t.Errorf("%v", d)
	}
	w.Export.Prometheus = "http://prom:9090/" // the same
	must(t, c, w, all(push.Unchanged))

	s.SetSource(prometheus, "url", "http://u:hunter2@other")
	s.SetSource(prometheus, "readOnly", true)
	notes = must(t, c, w, but(all(push.Unchanged), "data source "+prometheus, push.Kept))
	if notes[prometheus] != "Grafana has it from a file, in which it differs: url" {
		t.Errorf("the note is %q", notes[prometheus])
	}
	s.SetSource(prometheus, "type", "loki")
	w.Force = true
	mustNot(t, s, c, w, `data source rocelens-prometheus is there and has the type "loki", not prometheus`)
}

// TestSecretMissing: a password that Grafana lacks is sent.
func TestSecretMissing(t *testing.T) {
	s := grafanatest.New(t, 11, "")
	c, w := client(t, s, nil), wanted(t)
	w.Export.Store.Password = dsn.NewSecret("")
	must(t, c, w, all(push.Created))
	w.Export.Store.Password = dsn.NewSecret(password)
	must(t, c, w, but(all(push.Unchanged), "data source "+clickHouse, push.Updated))
	if s.Secret(clickHouse, "password") != password {
		t.Error("the password was not sent")
	}
	must(t, c, w, all(push.Unchanged))
}

// TestFolder: only ours is made, and its name is who has it's.
func TestFolder(t *testing.T) {
	s := grafanatest.New(t, 11, "")
	c, w := client(t, s, nil), wanted(t)
	w.Folder = "net"
	mustNot(t, s, c, w, "folder net is not there: make it in Grafana")
	s.AddFolder("net", "Network")
	want := all(push.Created)
	delete(want, "folder rocelens")
	want["folder net"] = push.Unchanged
	must(t, c, w, want)
	if _, folder := s.Board(pfc); folder != "net" {
		t.Errorf("the board is in %s", folder)
	}
	for _, uid := range []string{"", "general", "../../admin", "a b", strings.Repeat("x", 41)} {
		w.Folder = uid
		mustNot(t, s, c, w, "is no UID of a folder")
	}
}

// TestRace: somebody is faster than we are, between asking and sending.
func TestRace(t *testing.T) {
	s := grafanatest.New(t, 12, "")
	c, w := client(t, s, nil), wanted(t)
	apply := func(w push.Wanted, meanwhile func(), status int, want string) {
		t.Helper()
		plan, err := c.Plan(t.Context(), w)
		if err != nil {
			t.Fatal(err)
		}
		meanwhile()
		err = plan.Apply(t.Context(), func(push.Step) error { return nil })
		var e *push.Error
		if !errors.As(err, &e) || e.Status != status || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v; it should be %d, %q", err, status, want)
		}
	}
	apply(w, func() { s.AddFolder(grafana.FolderUID, "RoCE") }, 412, "folder rocelens: there is a folder with this UID or name already")
	apply(w, func() { s.SetSource("other", "name", "rocelens ClickHouse") }, 409, "data source rocelens-clickhouse: there is a data source with this name and another UID")
	s.SetSource("other", "name", "other")
	apply(w, func() { s.Save("rocelens-ecn", "", "", grafanatest.Object{"title": "x"}) }, 412, "board rocelens-ecn: somebody made another with this UID")
	w.Force = true
	if _, _, err := pushed(t.Context(), c, w); err != nil {
		t.Fatal(err)
	}
	w.Force = false
	w.Export.Store.Database = "new"
	apply(w, func() { s.SetSetting(clickHouse, "x", "y") }, 409, "data source rocelens-clickhouse: somebody changed it in Grafana just now")
	apply(w, func() { s.Edit("rocelens-ecn", "carol", "title", "x") }, 412, "board rocelens-ecn: somebody changed it in Grafana just now")
	mustNot(t, s, c, w, "board rocelens-ecn was changed in Grafana by carol")
}

// TestPermissions: what the token may not do is said with the permission that it lacks.
func TestPermissions(t *testing.T) {
	for _, c := range []struct{ lacks, want string }{
		{"folders:read", "folder rocelens: the token may not read the folder: it needs the permission folders:read"},
		{"folders:create", "folder rocelens: the token may not make a folder: it needs the permission folders:create, which a service account with the role Editor has"},
		{"datasources:read", "the token may not read data sources: it needs the permission datasources:read, which a service account with the role Admin has"},
		{"datasources:create", "the token may not make data sources: it needs the permission datasources:create"},
		{"dashboards:read", "board rocelens-ecn: the token may not read boards and their history: it needs the permission dashboards:read"},
		{"dashboards:write", "board rocelens-ecn: the token may not write boards: it needs the permission dashboards:create and dashboards:write in the folder"},
	} {
		s := grafanatest.New(t, 11, "")
		s.Lacks = []string{c.lacks}
		_, _, err := pushed(t.Context(), client(t, s, nil), wanted(t))
		var e *push.Error
		if !errors.As(err, &e) || e.Status != http.StatusForbidden || !strings.Contains(err.Error(), c.want) {
			t.Errorf("without %s: %v; it should be %q", c.lacks, err, c.want)
		}
	}
	s := grafanatest.New(t, 13, "")
	c, w := client(t, s, nil), wanted(t)
	must(t, c, w, all(push.Created))
	s.SetSetting(clickHouse, "host", "x")
	s.Lacks = []string{"datasources:write"}
	if _, _, err := pushed(t.Context(), c, w); err == nil || !strings.Contains(err.Error(), "the token may not change data sources: it needs the permission datasources:write") {
		t.Error(err)
	}
}

// TestTLS: an own certificate is trusted when it is named, and not before.
func TestTLS(t *testing.T) {
	s, ca := grafanatest.NewTLS(t, 12, "/grafana")
	if _, _, err := pushed(t.Context(), client(t, s, nil), wanted(t)); err == nil || !strings.Contains(err.Error(), "is not trusted") || !strings.Contains(err.Error(), "--ca-file") {
		t.Error(err)
	}
	must(t, client(t, s, func(c *push.Config) { c.CAFile = ca }), wanted(t), all(push.Created))
	plainHTTP := client(t, s, func(c *push.Config) { c.URL = "http" + strings.TrimPrefix(c.URL, "https") })
	if _, err := plainHTTP.Plan(t.Context(), wanted(t)); err == nil {
		t.Error("TLS was spoken to without")
	}
	noTLS := grafanatest.New(t, 12, "")
	secure := client(t, noTLS, func(c *push.Config) { c.URL = "https" + strings.TrimPrefix(c.URL, "http") })
	if _, err := secure.Plan(t.Context(), wanted(t)); err == nil || !strings.Contains(err.Error(), "does not speak TLS: use http://") {
		t.Error(err)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte("none\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := push.DefaultConfig()
	cfg.URL, cfg.CAFile = s.URL(), empty
	if _, err := push.New(cfg); err == nil || !strings.Contains(err.Error(), "has no certificate") {
		t.Error(err)
	}
}

// TestConfig: what can't be an address or a token is told, and not repeated.
func TestConfig(t *testing.T) {
	for _, c := range []struct{ url, token, want string }{
		{"", "", "no address of Grafana"},
		{"grafana:3000", "", "no address of Grafana"},
		{"ftp://host", "", "no address of Grafana"},
		{"http://:3000", "", "no address of Grafana"},
		{"http://host/?orgId=hunter2", "", "the address of Grafana has something behind its path"},
		{"http://host/#", "", "the address of Grafana has something behind its path"},
		{"http://host:99999/grafana", "", "the address of Grafana has the port 99999: ports are 1 to 65535"},
		{"http://[::1]:0", "", "the address of Grafana has the port 0: ports are 1 to 65535"},
		{"http://admin:hunter2@host", "", "users and passwords are not taken"},
		{"http://admin:hunter2%@host", "", "users and passwords are not taken"},
		{"http://host/", "admin:hunter2", "the token has a colon"},
		{"http://host/", "hunter2 hunter2", "the token has a blank"},
		{"http://host/", "hunter2é", "the token has a blank or another character"},
	} {
		cfg := push.DefaultConfig()
		cfg.URL, cfg.Token = c.url, dsn.NewSecret(c.token)
		_, err := push.New(cfg)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", c.url, err)
		}
	}
	cfg := push.Config{URL: "http://host"}
	if _, err := push.New(cfg); err == nil {
		t.Error("no time-out was taken")
	}
}

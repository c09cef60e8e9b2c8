// Package grafanatest has a Grafana for tests: it answers what Grafana documents of its
// HTTP API, for versions 11, 12 and 13, keeps what it is sent, and fails the test when it is
// asked for anything else. It is no judge of boards.
package grafanatest

import (
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Versions are the major versions that a Server can be.
var Versions = []int{11, 12, 13}

// Object is one of JSON.
type Object = map[string]any

// Server is a Grafana with one organisation.
type Server struct {
	// Token is the one that is taken.
	Token string
	// Lacks are permissions that the token has not.
	Lacks []string
	// Rewrites says that boards are given back otherwise than they came, as when Grafana
	// brings them to its own form.
	Rewrites bool

	t       testing.TB
	version int
	http    *httptest.Server
	path    string

	mu      sync.Mutex
	before  func(w http.ResponseWriter, r *http.Request) bool
	numbers int // the last id that was given
	folders map[string]Object
	sources map[string]Object
	boards  map[string]*board
	// secrets are those of data sources, by UID and name.
	secrets map[string]map[string]string
	asked   []string
	sent    []string
}

type board struct {
	content     Object
	id, version int
	folder      string
	file        bool
	history     []Object // the newest first
}

// New starts a Grafana of a major version, under a path, which may be empty. It ends with
// the test.
func New(t testing.TB, version int, path string) *Server {
	t.Helper()
	s := unstarted(t, version, path)
	s.http.Start()
	return s
}

// NewTLS is New with a certificate that nobody trusts, and a file with what would be needed
// for that.
func NewTLS(t testing.TB, version int, path string) (s *Server, caFile string) {
	t.Helper()
	s = unstarted(t, version, path)
	s.http.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	s.http.StartTLS()
	caFile = filepath.Join(t.TempDir(), "ca.pem")
	data := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.http.Certificate().Raw})
	if err := os.WriteFile(caFile, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return s, caFile
}

func unstarted(t testing.TB, version int, path string) *Server {
	s := &Server{
		Token: "glsa_0123456789abcdefABCDEF_fedcba98", t: t, version: version, path: path,
		folders: map[string]Object{}, sources: map[string]Object{}, boards: map[string]*board{}, secrets: map[string]map[string]string{},
	}
	s.http = httptest.NewUnstartedServer(s)
	// What clients do wrong on purpose is no news.
	s.http.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	t.Cleanup(s.http.Close)
	return s
}

// URL is where it is.
func (s *Server) URL() string { return s.http.URL + s.path + "/" }

// Host is where it is, without the path.
func (s *Server) Host() string { return s.http.URL }

// Before has f asked first from now on: it may answer a request itself, and then returns
// true.
func (s *Server) Before(f func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = f
}

// Asked are all requests so far, and Sent those that change something.
func (s *Server) Asked() []string { return s.list(&s.asked) }

// Sent are the requests so far that change something.
func (s *Server) Sent() []string { return s.list(&s.sent) }

func (s *Server) list(of *[]string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(*of)
}

// Forget forgets which requests there were.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked, s.sent = nil, nil
}

func (s *Server) number() int {
	s.numbers++
	return s.numbers
}

// ServeHTTP answers.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, r.Method+" "+r.URL.RequestURI())
	if r.Method != http.MethodGet {
		s.sent = append(s.sent, r.Method+" "+r.URL.RequestURI())
	}
	before := s.before
	s.mu.Unlock()
	if before != nil && before(w, r) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	path, under := strings.CutPrefix(r.URL.Path, s.path+"/api/")
	if !under {
		if s.path != "" && strings.HasPrefix(r.URL.Path, "/api/") { // serve_from_sub_path
			http.Redirect(w, r, s.path+r.URL.Path, http.StatusMovedPermanently)
			return
		}
		answer(w, http.StatusNotFound, Object{"message": "Not found"})
		return
	}
	if r.Method == http.MethodGet && path == "health" {
		answer(w, http.StatusOK, Object{"commit": "0a1b2c3d4e", "database": "ok", "version": fmt.Sprintf("%d.6.1", s.version)})
		return
	}
	if r.Header.Get("Authorization") != "Bearer "+s.Token {
		answer(w, http.StatusUnauthorized, Object{"message": "Invalid API key", "messageId": "api-key.invalid", "statusCode": 401, "traceID": ""})
		return
	}
	var body Object
	if r.Method != http.MethodGet {
		if r.Header.Get("Content-Type") != "application/json" {
			s.t.Errorf("%s %s is sent as %q", r.Method, r.URL, r.Header.Get("Content-Type"))
		}
		data, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(data, &body)
		}
		if err != nil {
			answer(w, http.StatusBadRequest, Object{"message": "bad request data"})
			return
		}
	}
	s.route(w, r, strings.Split(path, "/"), body)
}

func (s *Server) route(w http.ResponseWriter, r *http.Request, path []string, body Object) {
	is := func(method string, pattern ...string) bool {
		if r.Method != method || len(path) != len(pattern) {
			return false
		}
		for i, p := range pattern {
			if p != "*" && p != path[i] {
				return false
			}
		}
		return true
	}
	uid := path[len(path)-1]
	switch {
	case is("GET", "folders", "*"):
		s.allowed(w, "folders:read", func() { s.getFolder(w, uid) })
	case is("POST", "folders"):
		s.allowed(w, "folders:create", func() { s.postFolder(w, body) })
	case is("GET", "datasources", "uid", "*"):
		s.allowed(w, "datasources:read", func() { s.getSource(w, uid) })
	case is("POST", "datasources"):
		s.allowed(w, "datasources:create", func() { s.postSource(w, body) })
	case is("PUT", "datasources", "uid", "*"):
		s.allowed(w, "datasources:write", func() { s.putSource(w, uid, body) })
	case is("GET", "dashboards", "uid", "*"):
		s.allowed(w, "dashboards:read", func() { s.getBoard(w, uid) })
	case is("GET", "dashboards", "uid", "*", "versions"):
		s.allowed(w, "dashboards:write", func() { s.getVersions(w, path[2], r.URL.Query().Get("limit")) })
	case is("POST", "dashboards", "db"):
		s.allowed(w, "dashboards:write", func() { s.postBoard(w, body) })
	default:
		s.t.Errorf("%s %s is not documented", r.Method, r.URL)
		answer(w, http.StatusNotFound, Object{"message": "Not found"})
	}
}

func (s *Server) allowed(w http.ResponseWriter, permission string, do func()) {
	if !slices.Contains(s.Lacks, permission) {
		do()
		return
	}
	answer(w, http.StatusForbidden, Object{
		"accessErrorId": "ACE0123456789", "title": "Access denied",
		"message": "You'll need additional permissions to perform this action. Permissions needed: " + permission,
	})
}

func answer(w http.ResponseWriter, code int, what any) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(what)
}

func (s *Server) getFolder(w http.ResponseWriter, uid string) {
	f, has := s.folders[uid]
	switch {
	case has:
		answer(w, http.StatusOK, f)
	case s.version < 12:
		answer(w, http.StatusNotFound, Object{"message": "folder not found", "status": "not-found"})
	default:
		answer(w, http.StatusNotFound, Object{"message": "folder not found", "messageId": "folder.not-found", "statusCode": 404, "traceID": ""})
	}
}

func (s *Server) postFolder(w http.ResponseWriter, body Object) {
	uid, _ := body["uid"].(string)
	title, _ := body["title"].(string)
	if uid == "" || title == "" {
		s.t.Errorf("a folder without UID or title: %v", body)
	}
	if _, has := s.folders[uid]; has {
		answer(w, http.StatusPreconditionFailed, Object{"message": "a folder with that uid already exists"})
		return
	}
	s.folders[uid] = s.folder(uid, title)
	answer(w, http.StatusOK, s.folders[uid])
}

func (s *Server) folder(uid, title string) Object {
	return Object{
		"id": s.number(), "uid": uid, "title": title, "url": s.path + "/dashboards/f/" + uid, "hasAcl": false, "canSave": true, "canEdit": true, "canAdmin": true,
		"createdBy": "admin", "created": "2026-01-31T17:43:12+01:00", "updatedBy": "admin", "updated": "2026-01-31T17:43:12+01:00", "version": 1,
	}
}

// sourceFields are those of a data source that may be sent.
var sourceFields = []string{
	"id", "uid", "orgId", "name", "type", "access", "url", "password", "user", "database", "basicAuth", "basicAuthUser", "withCredentials", "isDefault", "jsonData",
	"secureJsonData", "version",
}

func (s *Server) checkFields(what string, body Object, known []string) {
	for k := range body {
		if !slices.Contains(known, k) {
			s.t.Errorf("a %s is sent with %q, which is not documented", what, k)
		}
	}
}

func (s *Server) getSource(w http.ResponseWriter, uid string) {
	d, has := s.sources[uid]
	if !has {
		answer(w, http.StatusNotFound, Object{"message": "Data source not found", "traceID": ""})
		return
	}
	answer(w, http.StatusOK, d)
}

func (s *Server) postSource(w http.ResponseWriter, body Object) {
	s.checkFields("data source", body, sourceFields)
	uid, _ := body["uid"].(string)
	for _, d := range s.sources {
		if d["name"] == body["name"] {
			answer(w, http.StatusConflict, Object{"message": "data source with the same name already exists", "traceID": ""})
			return
		}
		if d["uid"] == uid {
			answer(w, http.StatusConflict, Object{"message": "data source with the same uid already exists", "traceID": ""})
			return
		}
	}
	s.sources[uid] = Object{"id": s.number(), "orgId": 1, "version": 0, "readOnly": false, "isDefault": false, "basicAuth": false, "basicAuthUser": "", "withCredentials": false, "user": "", "database": "", "typeLogoUrl": ""}
	s.keepSource(uid, body)
	answer(w, http.StatusOK, Object{"datasource": s.sources[uid], "id": s.sources[uid]["id"], "message": "Datasource added", "name": body["name"]})
}

func (s *Server) putSource(w http.ResponseWriter, uid string, body Object) {
	s.checkFields("data source", body, sourceFields)
	d, has := s.sources[uid]
	switch {
	case !has:
		answer(w, http.StatusNotFound, Object{"message": "Data source not found", "traceID": ""})
	case d["readOnly"] == true:
		answer(w, http.StatusForbidden, Object{"message": "Cannot update read-only data source", "traceID": ""})
	case body["version"] != nil && number(body["version"]) != number(d["version"]):
		answer(w, http.StatusConflict, Object{"message": "Datasource has already been updated by someone else. Please reload and try again", "traceID": ""})
	default:
		s.keepSource(uid, body)
		answer(w, http.StatusOK, Object{"datasource": s.sources[uid], "id": d["id"], "message": "Datasource updated", "name": body["name"]})
	}
}

// keepSource takes what was sent, and keeps the secrets that were not.
func (s *Server) keepSource(uid string, body Object) {
	d := s.sources[uid]
	version := number(d["version"])
	secrets := s.secrets[uid]
	if secrets == nil {
		secrets = map[string]string{}
		s.secrets[uid] = secrets
	}
	sent, _ := body["secureJsonData"].(Object)
	for k, v := range sent {
		secrets[k], _ = v.(string)
	}
	fields := Object{}
	for k := range secrets {
		fields[k] = true
	}
	id := d["id"]
	maps.Copy(d, body)
	delete(d, "secureJsonData")
	d["id"], d["uid"], d["version"], d["secureJsonFields"] = id, uid, version+1, fields
}

// number is one of JSON, or of ours.
func number(v any) int {
	switch v := v.(type) {
	case float64:
		return int(v)
	case int:
		return v
	}
	return 0
}

func (s *Server) getBoard(w http.ResponseWriter, uid string) {
	b, has := s.boards[uid]
	if !has {
		answer(w, http.StatusNotFound, Object{"message": "Dashboard not found", "traceID": ""})
		return
	}
	c := maps.Clone(b.content)
	c["id"], c["version"] = b.id, b.version
	if s.Rewrites {
		delete(c, "fiscalYearStartMonth")
		c["preload"], c["schemaVersion"] = false, 43
	}
	title := "General"
	if f := s.folders[b.folder]; f != nil {
		title, _ = f["title"].(string)
	}
	answer(w, http.StatusOK, Object{"dashboard": c, "meta": Object{
		"isStarred": false, "url": s.path + "/d/" + uid, "folderId": 1, "folderUid": b.folder, "folderTitle": title, "slug": uid, "provisioned": b.file, "version": b.version,
	}})
}

func (s *Server) getVersions(w http.ResponseWriter, uid, limit string) {
	b, has := s.boards[uid]
	if !has || len(b.history) == 0 {
		answer(w, http.StatusNotFound, Object{"message": "Dashboard version not found"})
		return
	}
	list := b.history
	if limit == "1" {
		list = list[:1]
	}
	if s.version < 12 {
		answer(w, http.StatusOK, list)
		return
	}
	answer(w, http.StatusOK, Object{"continueToken": "", "versions": list})
}

func (s *Server) postBoard(w http.ResponseWriter, body Object) {
	s.checkFields("board", body, []string{"dashboard", "folderUid", "message", "overwrite"})
	content, _ := body["dashboard"].(Object)
	uid, _ := content["uid"].(string)
	folder, _ := body["folderUid"].(string)
	message, _ := body["message"].(string)
	if uid == "" || len(message) > 500 {
		s.t.Errorf("a board with UID %q and a message of %d characters", uid, len(message))
	}
	if _, has := s.folders[folder]; !has {
		answer(w, http.StatusBadRequest, Object{"message": "folder not found"})
		return
	}
	b, has := s.boards[uid]
	switch {
	case !has && content["id"] != nil:
		answer(w, http.StatusNotFound, Object{"message": "Dashboard not found", "status": "not-found"})
		return
	case has && b.file:
		answer(w, http.StatusBadRequest, Object{"message": "Cannot save provisioned dashboard"})
		return
	case has && body["overwrite"] != true && content["id"] == nil:
		answer(w, http.StatusPreconditionFailed, Object{"message": "A dashboard with the same uid already exists", "status": "name-exists"})
		return
	case has && body["overwrite"] != true && number(content["version"]) != b.version:
		answer(w, http.StatusPreconditionFailed, Object{"message": "The dashboard has been changed by someone else", "status": "version-mismatch"})
		return
	}
	s.save(uid, folder, message, "sa-rocelens", content)
	b = s.boards[uid]
	answer(w, http.StatusOK, Object{"id": b.id, "uid": uid, "url": s.path + "/d/" + uid, "status": "success", "version": b.version, "slug": uid})
}

func (s *Server) save(uid, folder, message, by string, content Object) {
	b := s.boards[uid]
	if b == nil {
		b = &board{id: s.number()}
		s.boards[uid] = b
	}
	b.version++
	b.folder, b.content = folder, maps.Clone(content)
	b.content["uid"] = uid
	delete(b.content, "id")
	delete(b.content, "version")
	b.history = append([]Object{{
		"id": s.number(), "dashboardId": b.id, "uid": uid, "parentVersion": b.version - 1, "restoredFrom": 0, "version": b.version,
		"created": "2026-02-03T04:05:06Z", "createdBy": by, "message": message,
	}}, b.history...)
}

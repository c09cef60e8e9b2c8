package push_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log" //nolint:depguard // net/http uses it
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rocelens/rocelens/dashboards/grafana/push"
	"github.com/rocelens/rocelens/dashboards/grafana/push/grafanatest"
	"github.com/rocelens/rocelens/storage/dsn"
)

// calls are all requests that a push can make: the first of each kind in a fresh push, and
// those that only a later one makes.
var calls = []struct {
	method, path string
	sdk, later   bool // the SDK makes it
}{
	{"GET", "/api/health", true, false},
	{"GET", "/api/folders/rocelens", true, false},
	{"GET", "/api/datasources/uid/" + clickHouse, false, false},
	{"GET", "/api/dashboards/uid/" + pfc, false, false},
	{"POST", "/api/folders", true, false},
	{"POST", "/api/datasources", false, false},
	{"POST", "/api/dashboards/db", false, false},
	{"PUT", "/api/datasources/uid/" + clickHouse, false, true},
	{"GET", "/api/dashboards/uid/" + pfc + "/versions", false, true},
}

// at answers one of the calls, and leaves the others alone.
func at(method, path string, answer http.HandlerFunc) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != method || r.URL.Path != path {
			return false
		}
		answer(w, r)
		return true
	}
}

func reply(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if contentType != "" {
			w.Header().Set("Content-Type", contentType)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func sendTo(location string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", location)
		w.WriteHeader(http.StatusFound)
	}
}

const (
	asJSON = "application/json; charset=UTF-8"
	asHTML = "text/html; charset=utf-8"
)

// answers are what a Grafana or a proxy before it may say instead of what was asked for.
var answers = []struct {
	name   string
	answer http.HandlerFunc
	status int
	want   string // in the error, with HOST for where it is
	// except begins calls of which something else is said.
	except string
}{
	{"401", reply(401, asJSON, `{"message":"Invalid API key","messageId":"api-key.invalid","statusCode":401,"traceID":""}`), 401, "Grafana at HOST does not take the token: it is wrong, expired, or of another Grafana (Grafana: Invalid API key)", ""},
	{"401 of a proxy", reply(401, asHTML, "<html>Authorization Required"), 401, "what answers at HOST wants a login (401 Unauthorized), and is not Grafana: a proxy before it?", ""},
	{"403", reply(403, asJSON, `{"message":"You'll need additional permissions","title":"Access denied"}`), 403, "the token may not ", "GET /api/health"},
	{"403 of a proxy", reply(403, asHTML, "<html>Forbidden"), 403, "HOST answers 403 Forbidden with a web page: it is not Grafana, or something before it refuses us", ""},
	{"404 of another server", reply(404, "text/plain", "404 page not found\n"), 404, "there is no Grafana at HOST: the address is wrong, or the path that Grafana is under is missing", ""},
	{"409", reply(409, asJSON, `{"message":"in the way"}`), 409, "(Grafana: in the way)", ""},
	{"412", reply(412, asJSON, `{"message":"The dashboard has been changed by someone else","status":"version-mismatch"}`), 412, "somebody changed it in Grafana just now: push again", "GET "},
	{"412 of a plugin", reply(412, asJSON, `{"message":"The dashboard belongs to plugin X.","status":"plugin-dashboard"}`), 412, "", ""},
	{"400", reply(400, asJSON, `{"message":"Cannot save provisioned dashboard"}`), 400, "400 Bad Request (Grafana: Cannot save provisioned dashboard)", ""},
	{"500", reply(500, asJSON, `{"message":"Failed to query datasource","traceID":"0"}`), 500, "500 Internal Server Error (Grafana: Failed to query datasource)", ""},
	{"502 empty", reply(502, "", ""), 502, "HOST answers 502 Bad Gateway: a proxy is there, and Grafana behind it is not", ""},
	{"503 page", reply(503, asHTML, "<html>nginx"), 503, "HOST answers 503 Service Unavailable with a web page: a proxy is there", ""},
	{"503 null", reply(503, asJSON, "null"), 503, "HOST answers 503 Service Unavailable: a proxy is there", ""},
	{"200 page", reply(200, asHTML, "<!DOCTYPE html><title>Sign in"), 200, "HOST answers with a web page: it is not Grafana, or the path that Grafana is under is missing, or a proxy wants a login first", ""},
	{"200 page without a type", reply(200, "application/octet-stream", "\n <html>"), 200, "HOST answers with a web page", ""},
	{"200 empty", reply(200, asJSON, ""), 200, "HOST answers 200 OK with nothing in it: it is not Grafana", ""},
	{"204", reply(204, "", ""), 204, "HOST answers 204 No Content with nothing in it", ""},
	{"200 no JSON", reply(200, asJSON, `{"message": "cut`), 200, "HOST answers with something that is not JSON", ""},
	{"login", sendTo("/login?redirect=%2Fapi&secret=x"), 302, "HOST sends us to a login, HOST/login: the token was not taken", ""},
	{"login elsewhere", sendTo("https://u:p@sso.example.com/realms/x?state=y"), 302, "HOST sends us to a login, https://sso.example.com/realms/x:", ""},
	{"elsewhere", sendTo("https://grafana.example.com/"), 302, "HOST sends us to https://grafana.example.com/, which is not followed", ""},
	{"nowhere", sendTo(""), 302, "HOST answers 302 Found and does not say where to", ""},
	{"too long", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `"`+strings.Repeat("x", 9<<20)+`"`)
	}, 200, "the answer of HOST is longer than 8 MiB", ""},
	{"cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"id":`)
	}, 0, "the answer of HOST broke off: unexpected EOF", ""},
	{"hung up", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 0, "the answer of HOST broke off: ", ""},
}

// TestAnswers: whatever is answered to whichever call, it is told in words, nothing panics,
// and nothing more is sent.
func TestAnswers(t *testing.T) {
	fresh := grafanatest.New(t, 13, "")
	later := grafanatest.New(t, 12, "")
	w := wanted(t)
	must(t, client(t, later, nil), w, all(push.Created))
	later.SetSetting(clickHouse, "host", "x")
	later.Save(pfc, "rocelens", "rocelens dashboards push, content 00112233445566778899aabbccddeeff", grafanatest.Object{"title": "old"})
	for _, call := range calls {
		for i, a := range answers {
			if !call.sdk && i%4 != 0 && a.name != "502 empty" { // own calls are all made by one function
				continue
			}
			s := fresh
			if call.later {
				s = later
			}
			name := call.method + " " + call.path
			var sent atomic.Bool // is the call over
			bad := at(call.method, call.path, a.answer)
			s.Before(func(w http.ResponseWriter, r *http.Request) bool {
				if sent.Load() {
					t.Errorf("%s after %s was answered by %s", r.Method+r.URL.Path, name, a.name)
				}
				if r.Method == call.method && r.URL.Path == call.path {
					sent.Store(true)
				}
				if r.Method != http.MethodGet && !sent.Load() { // what is before it does not change anything
					reply(200, asJSON, "{}")(w, r)
					return true
				}
				return bad(w, r)
			})
			_, _, err := pushed(t.Context(), client(t, s, nil), w)
			if !sent.Load() {
				t.Fatalf("%s was not made", name)
			}
			var e *push.Error
			want := strings.ReplaceAll(a.want, "HOST", s.Host())
			if !errors.As(err, &e) || e.Status != a.status || (a.except == "" || !strings.HasPrefix(name, a.except)) && !strings.Contains(err.Error(), want) {
				t.Errorf("%s, %s: the error is %v; it should be %d and have %q", name, a.name, err, a.status, want)
			}
			if err != nil && call.method == "GET" && (strings.Contains(err.Error(), "somebody") || strings.Contains(err.Error(), "there is a ")) {
				t.Errorf("%s, %s: nothing was written, and the error is %v", name, a.name, err)
			}
		}
	}
}

// TestMissing: what Grafana does not have is no error where it may be missing, and one
// where it may not.
func TestMissing(t *testing.T) {
	s := grafanatest.New(t, 13, "")
	s.Before(at("GET", "/api/health", reply(404, asJSON, `{"message":"Not found"}`)))
	mustNot(t, s, client(t, s, nil), wanted(t), "there is no Grafana at "+s.Host())
	s.Before(at("POST", "/api/dashboards/db", reply(404, asJSON, `{"message":"Dashboard not found","status":"not-found"}`)))
	_, _, err := pushed(t.Context(), client(t, s, nil), wanted(t))
	if err == nil || !strings.Contains(err.Error(), "board rocelens-ecn: Grafana can't write boards: 404 Not Found (Grafana: Dashboard not found)") {
		t.Error(err)
	}
}

// TestUnexpected: JSON that is not what Grafana documents is told in words, and not taken for
// something that somebody has to decide about.
func TestUnexpected(t *testing.T) {
	for _, body := range []string{
		`[]`, `"x"`, `7`, `{}`, `null`, `{"status":"ok"}`, `{"uid":"other","dashboard":{"uid":"other"}}`, `{"dashboard":[]}`, `{"dashboard":{"uid":[1e999999999]},"meta":7}`,
		`{"versions":7}`, `{"jsonData":7,"type":[]}`, strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
	} {
		for _, call := range calls {
			if call.method != "GET" || call.later {
				continue
			}
			s := grafanatest.New(t, 13, "")
			s.Before(at(call.method, call.path, reply(200, asJSON, body)))
			_, err := client(t, s, nil).Plan(t.Context(), wanted(t))
			want := s.Host() + " answers GET " + call.path[1:] + " with something else than Grafana does: "
			if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "json: ") {
				t.Errorf("%s is answered to %s, and the error is %v", body, call.path, err)
			}
		}
	}
	s := grafanatest.New(t, 13, "")
	s.Before(at("GET", "/api/health", reply(200, asJSON, `{"database":"ok"}`))) // hide_version
	if plan, err := client(t, s, nil).Plan(t.Context(), wanted(t)); err != nil || plan.Grafana != "" {
		t.Error(err)
	}
}

// TestCircle: what sends us where we are, is not said to have another address.
func TestCircle(t *testing.T) {
	s := grafanatest.New(t, 13, "")
	for _, to := range []string{"/api/health", s.Host() + "/api/health?x=y#z", "?again"} {
		s.Before(at("GET", "/api/health", sendTo(to)))
		_, err := client(t, s, nil).Plan(t.Context(), wanted(t))
		if err == nil || !strings.Contains(err.Error(), s.Host()+" sends us back to the address that was asked, "+s.Host()+"/api/health: ") {
			t.Errorf("%s: %v", to, err)
		}
	}
}

// TestSubPath: without the path that Grafana is under, it says where it is.
func TestSubPath(t *testing.T) {
	s := grafanatest.New(t, 12, "/ops/grafana")
	for _, c := range []struct{ path, want string }{
		{"/", "sends us to " + s.Host() + "/ops/grafana: use that address"},
		{"/ops", "there is no Grafana at " + s.Host() + "/ops"},
	} {
		mustNot(t, s, client(t, s, func(cfg *push.Config) { cfg.URL = s.Host() + c.path }), wanted(t), c.want)
	}
	must(t, client(t, s, func(cfg *push.Config) { cfg.URL = s.Host() + "/ops/grafana" }), wanted(t), all(push.Created))
}

// TestNoToken: Grafana is asked without one, and its refusal says what to do.
func TestNoToken(t *testing.T) {
	s := grafanatest.New(t, 12, "")
	mustNot(t, s, client(t, s, func(c *push.Config) { c.Token = dsn.Secret{} }), wanted(t), "wants a token: name a file that has it with --token-file, or set ROCELENS_GRAFANA_TOKEN")
	mustNot(t, s, client(t, s, func(c *push.Config) { c.Token = dsn.NewSecret("glsa_old") }), wanted(t), "does not take the token")
}

// TestTimeout: an answer that does not come, and one that does not end.
func TestTimeout(t *testing.T) {
	s := grafanatest.New(t, 12, "")
	for _, begins := range []bool{false, true} {
		s.Before(func(w http.ResponseWriter, r *http.Request) bool {
			if begins {
				_, _ = io.WriteString(w, "{")
				w.(http.Flusher).Flush()
			}
			<-r.Context().Done()
			return true
		})
		c := client(t, s, func(c *push.Config) { c.Timeout = 50 * time.Millisecond })
		mustNot(t, s, c, wanted(t), "did not answer within 50ms")
	}
}

// TestCancel: a context that ends, ends the push, whatever it is at.
func TestCancel(t *testing.T) {
	for _, call := range calls[:7] {
		s := grafanatest.New(t, 12, "")
		ctx, cancel := context.WithCancel(t.Context())
		s.Before(at(call.method, call.path, func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // else a server does not see that the client goes
			cancel()
			<-r.Context().Done()
		}))
		if _, _, err := pushed(ctx, client(t, s, nil), wanted(t)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s %s: %v", call.method, call.path, err)
		}
		asked := s.Asked()
		if last := asked[len(asked)-1]; last != call.method+" "+call.path {
			t.Errorf("%s came after it", last)
		}
		cancel()
	}
}

// TestUnreachable: nobody listens.
func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	cfg := push.DefaultConfig()
	cfg.URL = "http://" + addr
	c, err := push.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Plan(t.Context(), wanted(t)); err == nil || !strings.Contains(err.Error(), "http://"+addr+" can't be reached: ") {
		t.Error(err)
	}
}

// TestSecrets: neither the token nor the password of the store is in an error, a note or
// the log, even if all that is sent is repeated in every place that an answer has.
func TestSecrets(t *testing.T) {
	for _, status := range []int{200, 201, 302, 401, 412, 502} {
		for _, call := range calls[:7] {
			for _, asGrafana := range []bool{true, false} {
				s := grafanatest.New(t, 13, "")
				s.Before(at(call.method, call.path, func(w http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					said := fmt.Sprintf("%v %s %s %s", r.Header, body, password, url.QueryEscape(password))
					w.Header().Set("Location", "/login/"+url.PathEscape(said))
					w.WriteHeader(status)
					if !asGrafana {
						_, _ = io.WriteString(w, said)
						return
					}
					_ = json.NewEncoder(w).Encode(map[string]any{"message": said, "status": said, "title": s.Token, "uid": s.Token, "version": s.Token, "name": s.Token, "type": s.Token})
				}))
				var shown strings.Builder
				c := client(t, s, func(cfg *push.Config) { cfg.Log = func(line string) { shown.WriteString(line + "\n") } })
				plan, err := c.Plan(t.Context(), wanted(t))
				if err == nil {
					err = plan.Apply(t.Context(), func(push.Step) error { return nil })
					fmt.Fprintf(&shown, "%+v\n", plan)
				}
				fmt.Fprintf(&shown, "%v\n%+v\n", err, errors.Unwrap(err))
				for _, secret := range []string{s.Token, password, url.QueryEscape(password), url.PathEscape(password)} {
					if strings.Contains(shown.String(), secret) {
						t.Errorf("%s %s, %d: %q shows in\n%s", call.method, call.path, status, secret, shown.String())
					}
				}
				if !strings.Contains(shown.String(), call.method+" "+call.path+": "+fmt.Sprint(status)) {
					t.Errorf("the log has no %s %s: %s", call.method, call.path, shown.String())
				}
			}
		}
	}
}

// TestNoIdle: an answer that must have no body and has one all the same, with the token in it, is
// not taken for another answer, which net/http would write to the standard logger.
func TestNoIdle(t *testing.T) {
	var logged strings.Builder
	log.SetOutput(&logged)
	defer log.SetOutput(os.Stderr)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		r, err := http.ReadRequest(bufio.NewReader(conn))
		if err != nil {
			return
		}
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 204 No Content\r\n\r\n%s", r.Header.Get("Authorization"))
		_, _ = io.Copy(io.Discard, conn) // until the client is done with what it got, and closes
	}()
	cfg := push.DefaultConfig()
	cfg.URL, cfg.Token = "http://"+l.Addr().String(), dsn.NewSecret("glsa_0123")
	c, err := push.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Plan(t.Context(), wanted(t))
	var e *push.Error
	if !errors.As(err, &e) || e.Status != http.StatusNoContent {
		t.Error(err)
	}
	<-closed
	log.SetOutput(os.Stderr) // after which nobody writes into it
	if logged.Len() > 0 {
		t.Errorf("the standard logger was told %q", logged.String())
	}
}

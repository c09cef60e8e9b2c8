package push

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Error is what Grafana, or what stands in its place, answered instead of what was
// asked for, in words that say what to do. It shows no secret.
type Error struct {
	// Status is that of HTTP, 0 where there was no answer.
	Status int
	// Reason is Grafana's own word for it, if it has one: version-mismatch, say.
	Reason string

	grafana bool // Grafana itself said it
	msg     string
	err     error
}

func (e *Error) Error() string { return e.msg }

// Unwrap is what the network said, if it did.
func (e *Error) Unwrap() error { return e.err }

// missing says that Grafana has not what was asked for.
func missing(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == http.StatusNotFound && e.grafana
}

// operation is a call of Grafana's API as it is spoken of, with the permission that
// its documentation asks for. The roles are those that have it from the start.
type operation struct {
	method, path string // the path is a prefix
	does         string
	permission   string
	role         string
}

// operations are all calls that are made. The first that fits counts.
var operations = []operation{
	{http.MethodGet, "api/health", "ask which Grafana it is", "", ""},
	{http.MethodGet, "api/folders/", "read the folder", "folders:read", "Viewer"},
	{http.MethodPost, "api/folders", "make a folder", "folders:create", "Editor"},
	{http.MethodGet, "api/datasources/uid/", "read data sources", "datasources:read", "Admin"},
	{http.MethodPost, "api/datasources", "make data sources", "datasources:create", "Admin"},
	{http.MethodPut, "api/datasources/uid/", "change data sources", "datasources:write", "Admin"},
	{http.MethodGet, "api/dashboards/uid/", "read boards and their history", "dashboards:read and dashboards:write in the folder", "Editor"},
	{http.MethodPost, "api/dashboards/db", "write boards", "dashboards:create and dashboards:write in the folder", "Editor"},
}

func (t *transport) operation(req *http.Request) operation {
	path := t.path(req)
	for _, o := range operations {
		if o.method == req.Method && strings.HasPrefix(path, o.path) {
			return o
		}
	}
	return operation{does: "answer " + req.Method + " " + path}
}

func (t *transport) errorf(status int, format string, args ...any) *Error {
	return &Error{Status: status, msg: t.hide(fmt.Sprintf(format, args...))}
}

// said is the body of an error, as Grafana has it.
type said struct {
	Message string `json:"message"`
	Status  any    `json:"status"` // a word, or a number
}

// maxSaid bounds what is repeated of an answer, in characters.
const maxSaid = 300

// show is a text of a stranger as a terminal can be given it, without secrets.
func (t *transport) show(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, t.hide(s))
	if r := []rune(s); len(r) > maxSaid {
		s = string(r[:maxSaid]) + "..."
	}
	return strings.TrimSpace(s)
}

// judge says what is wrong with an answer.
func (t *transport) judge(req *http.Request, resp *http.Response, body []byte) *Error {
	op, code := t.operation(req), resp.StatusCode
	page := strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") || bytes.HasPrefix(bytes.TrimSpace(body), []byte("<"))
	switch {
	case code >= 200 && code < 300:
		switch {
		case json.Valid(body):
			return nil
		case page:
			return t.errorf(code, "%s answers with a web page: it is not Grafana, or the path that Grafana is under is missing, or a proxy wants a login first", t.base)
		case len(body) == 0:
			return t.errorf(code, "%s answers %s with nothing in it: it is not Grafana", t.base, t.show(resp.Status))
		}
		return t.errorf(code, "%s answers with something that is not JSON: it is not Grafana", t.base)
	case code >= 300 && code < 400:
		return t.redirected(req, resp)
	}
	var what said
	isGrafana := json.Unmarshal(body, &what) == nil && what.Message != ""
	if !isGrafana {
		return t.notGrafana(resp, page)
	}
	e := t.refused(op, code, t.show(what.Message))
	e.grafana = true
	if word, is := what.Status.(string); is {
		e.Reason = t.show(word)
	}
	e.msg = t.conflict(req, e, t.show(what.Message))
	return e
}

// redirected says where an answer sends us. Nothing is followed: the token would go
// along.
func (t *transport) redirected(req *http.Request, resp *http.Response) *Error {
	to, err := req.URL.Parse(resp.Header.Get("Location"))
	if err != nil || resp.Header.Get("Location") == "" {
		return t.errorf(resp.StatusCode, "%s answers %s and does not say where to: it is not Grafana", t.base, t.show(resp.Status))
	}
	there := *to
	there.User, there.RawQuery, there.Fragment = nil, "", ""
	where := t.show(there.String())
	if sameAddress(&there, req.URL) {
		return t.errorf(resp.StatusCode, "%s sends us back to the address that was asked, %s: it is not Grafana, or a proxy before it goes in a circle", t.base, where)
	}
	// Where only scheme, host, or the path before changed, the rest is the address.
	if base, is := strings.CutSuffix(there.Path, "/"+t.path(req)); is {
		there.Path = base
		return t.errorf(resp.StatusCode, "%s sends us to %s: use that address", t.base, t.show(there.String()))
	}
	if login.MatchString(there.Host + there.Path) {
		return t.errorf(resp.StatusCode, "%s sends us to a login, %s: the token was not taken, or a proxy before Grafana wants a login of its own", t.base, where)
	}
	return t.errorf(resp.StatusCode, "%s sends us to %s, which is not followed: use the address of Grafana itself", t.base, where)
}

// sameAddress compares addresses but for what is behind their paths.
func sameAddress(a, b *url.URL) bool {
	port := func(u *url.URL) string {
		if p := u.Port(); p != "" {
			return p
		}
		return map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b) && a.Path == b.Path
}

// login fits addresses of pages that ask who one is.
var login = regexp.MustCompile(`(?i)log-?in|sign[-_]?in|auth|sso`)

// notGrafana is an error that does not look like one of Grafana's.
func (t *transport) notGrafana(resp *http.Response, page bool) *Error {
	status, how := t.show(resp.Status), ""
	if page {
		how = " with a web page"
	}
	switch code := resp.StatusCode; {
	case code == http.StatusNotFound:
		return t.errorf(code, "there is no Grafana at %s: the address is wrong, or the path that Grafana is under is missing, as in https://HOST/grafana/", t.base)
	case code == http.StatusUnauthorized:
		return t.errorf(code, "what answers at %s wants a login (%s), and is not Grafana: a proxy before it?", t.base, status)
	case code >= 500:
		return t.errorf(code, "%s answers %s%s: a proxy is there, and Grafana behind it is not", t.base, status, how)
	}
	return t.errorf(resp.StatusCode, "%s answers %s%s: it is not Grafana, or something before it refuses us", t.base, status, how)
}

// refused is an error that Grafana gave itself.
func (t *transport) refused(op operation, code int, message string) *Error {
	switch {
	case code == http.StatusUnauthorized && t.token.Reveal() == "":
		return t.errorf(code, "Grafana at %s wants a token: name a file that has it with --token-file, or set %s", t.base, TokenEnv)
	case code == http.StatusUnauthorized:
		return t.errorf(code, "Grafana at %s does not take the token: it is wrong, expired, or of another Grafana (Grafana: %s)", t.base, message)
	case code == http.StatusForbidden && op.permission != "":
		return t.errorf(code, "the token may not %s: it needs the permission %s, which a service account with the role %s has (Grafana: %s)", op.does, op.permission, op.role, message)
	case code == http.StatusNotFound && op.permission == "":
		return t.errorf(code, "there is no Grafana at %s, or an older one than is known: the path that it is under may be missing, as in https://HOST/grafana/ (it says: %s)", t.base, message)
	}
	return t.errorf(code, "Grafana can't %s: %d %s (Grafana: %s)", op.does, code, http.StatusText(code), message)
}

// conflict says what is in the way of what was to be written, where an error means that.
func (t *transport) conflict(req *http.Request, e *Error, message string) string {
	path, text := t.path(req), ""
	switch {
	case e.Status != http.StatusConflict && e.Status != http.StatusPreconditionFailed, req.Method == http.MethodGet:
		return e.msg
	case e.Reason == "version-mismatch", req.Method == http.MethodPut:
		text = "somebody changed it in Grafana just now: push again, which says who"
	case e.Reason == "plugin-dashboard":
		text = "it belongs to a plugin of Grafana: --force overwrites it"
	case path == "api/folders":
		text = "there is a folder with this UID or name already, which the token may not see: give it the permission folders:read, or name another with --folder"
	case path == "api/datasources":
		text = "there is a data source with this name and another UID: rename it in Grafana, or delete it"
	default:
		text = "somebody made another with this UID or title just now: push again"
	}
	return text + " (Grafana: " + message + ")"
}

// noAnswer says why no answer came. asked is the context of who asked, limited the one
// that has the time-out too.
func (t *transport) noAnswer(asked, limited context.Context, err error) error {
	if e := asked.Err(); e != nil {
		return e
	}
	var untrusted *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var op *net.OpError
	var e *Error
	switch {
	case limited.Err() != nil:
		e = t.errorf(0, "%s did not answer within %v", t.base, t.timeout)
	case errors.As(err, &untrusted):
		e = t.errorf(0, "%s is not trusted: %v (--ca-file names certificates to trust)", t.base, untrusted.Err)
	// net/http has no type for it.
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		e = t.errorf(0, "%s does not speak TLS: use http:// if that is meant", t.base)
	case errors.As(err, &op) && op.Op == "dial":
		e = t.errorf(0, "%s can't be reached: %v", t.base, op.Err)
	default:
		e = t.errorf(0, "the answer of %s broke off: %v", t.base, err)
	}
	e.err = err
	return e
}

// unexpected is of an answer that is JSON, and not what Grafana documents. err is what reading it
// said, if it did; in words it is of no use to those who push.
func (t *transport) unexpected(method, path string, err error) error {
	what := "what answers is not Grafana, or the path that Grafana is under is missing"
	if path != "api/health" {
		what = "something before it answers in its place, or it is of a version that is not known here"
	}
	e := t.errorf(0, "%s answers %s %s with something else than Grafana does: %s", t.base, method, path, what)
	e.err = err
	return e
}

// ofSDK is an error of a call of the SDK. What is none of ours, it says of an answer that it
// can't read, or of a status that it does not expect, and repeats the whole of it.
func (t *transport) ofSDK(method, path string, err error) error {
	if err == nil {
		return nil
	}
	var e *Error
	err = plain(err)
	if errors.As(err, &e) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return t.unexpected(method, path, nil)
}

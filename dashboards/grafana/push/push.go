// Package push puts the boards, their folder and their data sources into a Grafana that
// runs, through its HTTP API, and leaves alone what it finds there as it should be.
package push

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/grafana-tools/sdk"

	"github.com/rocelens/rocelens/dashboards/grafana"
	"github.com/rocelens/rocelens/storage/dsn"
)

// TokenEnv is the environment variable with the token.
const TokenEnv = "ROCELENS_GRAFANA_TOKEN"

// Config says which Grafana, and as whom.
type Config struct {
	// URL is where Grafana is, with the path that it is under if there is one.
	URL string
	// Token is that of a service account. Without one, nothing is said of who asks.
	Token dsn.Secret
	// CAFile has certificates to trust besides the system's.
	CAFile string
	// Timeout is the longest that one answer may take.
	Timeout time.Duration
	// Agent is what Grafana's log calls us.
	Agent string
	// Log is told of each request, without token and bodies, if it is not nil.
	Log func(line string)
}

// DefaultConfig is one that lacks the URL.
func DefaultConfig() Config { return Config{Timeout: 30 * time.Second, Agent: "rocelens"} }

// Client talks to one Grafana. It is for one goroutine.
type Client struct {
	base *url.URL
	http *http.Client
	// sdk makes the calls that it is up to: it knows folders by UID, and data sources
	// and the folders of boards by number alone.
	sdk *sdk.Client
	way *transport
}

var errAddress = errors.New("this is no address of Grafana: use http://HOST:3000, or https://HOST/grafana/ where it is under a path")

// address reads where Grafana is. No error repeats it: it may hold a password.
func address(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err == nil && u.User != nil || strings.Contains(s, "@") {
		return nil, fmt.Errorf("the address of Grafana has a user in it: users and passwords are not taken; "+
			"make a service account in Grafana, and put its token into a file or into %s", TokenEnv)
	}
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, errAddress
	}
	if err := grafana.CheckAddress("Grafana", u, s); err != nil {
		return nil, err
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimRight(u.Path, "/")}, nil
}

// CheckToken says what a token can't be. It does not repeat it.
func CheckToken(token dsn.Secret) error {
	for _, r := range token.Reveal() {
		if r == ':' {
			return errors.New("the token has a colon: it looks like a user with a password, which are not taken; use the token of a service account of Grafana")
		}
		if r <= ' ' || r > '~' {
			return errors.New("the token has a blank or another character that no token of Grafana has")
		}
	}
	return nil
}

// New makes a client. It sends nothing.
func New(cfg Config) (*Client, error) {
	base, err := address(cfg.URL)
	if err != nil {
		return nil, err
	}
	if err := CheckToken(cfg.Token); err != nil {
		return nil, err
	}
	if cfg.Timeout <= 0 {
		return nil, fmt.Errorf("a time-out of %v: it must be more than none", cfg.Timeout)
	}
	next := http.DefaultTransport.(*http.Transport).Clone()
	// What comes over an idle connection, net/http writes to the standard logger, and it may
	// repeat the token. The requests are few: none is kept open.
	next.DisableKeepAlives = true
	if cfg.CAFile != "" {
		roots, err := trusted(cfg.CAFile)
		if err != nil {
			return nil, err
		}
		next.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	way := &transport{base: base, next: next, token: cfg.Token, timeout: cfg.Timeout, agent: cfg.Agent, log: cfg.Log}
	c := &Client{base: base, way: way, http: &http.Client{Transport: way}}
	// It is given no token: one with a colon it would put into addresses.
	c.sdk, err = sdk.NewClient(base.String(), "", c.http)
	return c, err
}

// trusted are the system's certificates and those of a file.
func trusted(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s has no certificate: it must be PEM", file)
	}
	return roots, nil
}

// Close lets go of what is left of connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// URL is the address of something in this Grafana, for people.
func (c *Client) URL(path string) string { return c.base.JoinPath(path).String() }

// call makes a call that the SDK lacks. The parts of the path are ours or UIDs, and
// need no escaping. The answer is read into out, if that is not nil.
func (c *Client) call(ctx context.Context, method, path, query string, in, out any) error {
	u := c.base.JoinPath(path)
	u.RawQuery = query
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err != nil {
		return err
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return plain(err)
	}
	defer resp.Body.Close()
	if out == nil {
		return nil
	}
	d := json.NewDecoder(resp.Body)
	d.UseNumber()
	if err := d.Decode(out); err != nil {
		return c.way.unexpected(method, path, err)
	}
	return nil
}

// plain is an error without what net/http and the SDK put around it.
func plain(err error) error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	for _, end := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, end) {
			return end
		}
	}
	return err
}

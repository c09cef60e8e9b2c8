// Package dsn reads the name of a store, as users write it, and finds user and
// password for it. Passwords that it has read show in nothing that is printed.
package dsn

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/rocelens/rocelens/storage/engine"
	"github.com/rocelens/rocelens/storage/schema"
)

// DSN names a store.
type DSN struct {
	// Dir is the directory of an embedded ClickHouse. The rest, but Database, is
	// empty then.
	Dir string

	HTTP   bool     // otherwise ClickHouse's own protocol
	Secure bool     // TLS
	Hosts  []string // host:port each

	Database string
	Cluster  string // "" for a single server

	User     string
	Password Secret
	// PasswordFile has the password, where Password is empty.
	PasswordFile string
	// CAFile has certificates to trust besides the system's.
	CAFile string

	Compression string // lz4, zstd or none; "" for what suits
}

// Secret is a password or a token. No way of printing shows it.
type Secret struct{ s string }

// NewSecret is a secret of a text.
func NewSecret(s string) Secret { return Secret{s} }

// Reveal is the password itself.
func (s Secret) Reveal() string { return s.s }

func (s Secret) String() string {
	if s.s == "" {
		return ""
	}
	return hidden
}

// Format is String for every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText is String.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// HideIn takes the secret out of a text, as it is and as URLs have it: a server or a
// proxy may repeat what it was sent.
func (s Secret) HideIn(text string) string {
	if s.s == "" {
		return text
	}
	for _, form := range []string{s.s, url.QueryEscape(s.s), url.PathEscape(s.s), strings.TrimPrefix(url.UserPassword("", s.s).String(), ":")} {
		text = strings.ReplaceAll(text, form, hidden)
	}
	return text
}

// hidden stands for a password.
const hidden = "***"

// Forms are the forms of a DSN, for help and errors.
const Forms = "clickhouse://USER@HOST:9000/DATABASE, http://HOST:8123, https://HOST:8443 or embedded:DIR"

var errForm = errors.New("this is no name of a store: use " + Forms)

// Parse reads a DSN. Errors do not repeat what may be a password.
func Parse(s string) (*DSN, error) {
	if strings.HasPrefix(s, "embedded:") {
		dir, err := engine.ParseDSN(s)
		if err != nil {
			return nil, err
		}
		return &DSN{Dir: dir, Database: schema.DefaultDatabase}, nil
	}
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		return nil, errForm
	}
	d := &DSN{Database: schema.DefaultDatabase}
	switch scheme {
	case "clickhouse":
	case "http":
		d.HTTP = true
	case "https":
		d.HTTP, d.Secure = true, true
	default:
		return nil, errForm
	}
	rest, query, _ := strings.Cut(rest, "?")
	rest, path, _ := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		if err := d.user(rest[:at]); err != nil {
			return nil, err
		}
		rest = rest[at+1:]
	}
	if path != "" {
		d.Database = strings.TrimSuffix(path, "/")
	}
	if err := d.options(query); err != nil {
		return nil, err
	}
	if err := d.hosts(rest); err != nil {
		return nil, err
	}
	o := schema.DefaultOptions()
	o.Database, o.Cluster = d.Database, d.Cluster
	return d, o.Validate()
}

func (d *DSN) user(info string) error {
	name, password, has := strings.Cut(info, ":")
	user, err1 := url.PathUnescape(name)
	secret, err2 := url.PathUnescape(password)
	if err1 != nil || err2 != nil {
		return errors.New("user or password of the store: write %25 for %, %40 for @, %2F for / and %3F for ?")
	}
	d.User = user
	if has {
		d.Password = NewSecret(secret)
	}
	return nil
}

// maxHosts bounds the servers of one DSN.
const maxHosts = 64

func (d *DSN) hosts(list string) error {
	port := map[[2]bool]string{{false, false}: "9000", {false, true}: "9440", {true, false}: "8123", {true, true}: "8443"}[[2]bool{d.HTTP, d.Secure}]
	for _, h := range strings.Split(list, ",") {
		if !strings.Contains(h, ":") || strings.HasSuffix(h, "]") {
			h += ":" + port
		}
		host, p, err := net.SplitHostPort(h)
		if err != nil || host == "" || p == "" || strings.Trim(p, "0123456789") != "" || strings.ContainsAny(host, "@/?# \t\n\\") {
			// What is wrong may be a password with a character that needs escaping.
			return errors.New("the store's host: use HOST or HOST:PORT, [ADDRESS]:PORT for IPv6, and commas between several; " +
				"in user and password write %40 for @, %2F for / and %3F for ?")
		}
		d.Hosts = append(d.Hosts, net.JoinHostPort(host, p))
	}
	if len(d.Hosts) > maxHosts {
		return fmt.Errorf("the store has more than %d hosts: name a few, the cluster knows the others", maxHosts)
	}
	return nil
}

// optionNames are what may follow the question mark.
var optionNames = []string{"ca", "cluster", "compression", "password_file", "secure"}

func (d *DSN) options(query string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return errors.New("what follows ? in the name of the store: use NAME=VALUE with & between, as in ?cluster=rails&secure=true")
	}
	for name, v := range values {
		if !slices.Contains(optionNames, name) {
			return fmt.Errorf("the name of the store has an unknown option: use %s", strings.Join(optionNames, ", "))
		}
		if len(v) != 1 {
			return fmt.Errorf("the name of the store has %s twice", name)
		}
		switch value := v[0]; name {
		case "ca":
			d.CAFile = value
		case "cluster":
			d.Cluster = value
		case "password_file":
			d.PasswordFile = value
		case "compression":
			if value != "lz4" && value != "zstd" && value != "none" {
				return errors.New("compression of the store: use lz4, zstd or none")
			}
			d.Compression = value
		case "secure":
			if value != "true" && value != "false" {
				return errors.New("secure, of the store: use true or false")
			}
			d.Secure = d.Secure || value == "true"
		}
	}
	return nil
}

// String is the DSN without the password.
func (d *DSN) String() string {
	if d.Dir != "" {
		return "embedded:" + d.Dir
	}
	scheme := "clickhouse"
	switch {
	case d.HTTP && d.Secure:
		scheme = "https"
	case d.HTTP:
		scheme = "http"
	}
	s := scheme + "://"
	if d.User != "" {
		s += url.PathEscape(d.User) + "@"
	}
	s += strings.Join(d.Hosts, ",") + "/" + d.Database
	sep := "?"
	if d.Cluster != "" {
		s += sep + "cluster=" + d.Cluster
		sep = "&"
	}
	if d.Secure && !d.HTTP {
		s += sep + "secure=true"
	}
	return s
}

package client_test

import (
	"crypto/tls"
	"encoding/pem"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/storage/client"
	"github.com/rocelens/rocelens/storage/dsn"
	"github.com/rocelens/rocelens/storage/engine"
	"github.com/rocelens/rocelens/storage/engine/enginetest"
)

// TestTLS: over TLS a server is trusted by the certificates of the DSN's file, for
// the names in its own, and by neither of them otherwise.
func TestTLS(t *testing.T) {
	enginetest.Need(t)
	cfg := engine.DefaultConfig()
	cfg.Dir, cfg.Native = t.TempDir(), true
	p := enginetest.StartConfig(t, cfg).Endpoint()
	// Its certificate is for 127.0.0.1, not for localhost.
	issuer := httptest.NewTLSServer(nil)
	defer issuer.Close()
	plain := httptest.NewServer(nil)
	defer plain.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: issuer.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, way := range []struct{ form, to string }{{"clickhouse://HOST?secure=true", p.Native}, {"https://HOST", p.Addr}} {
		addr := behindTLS(t, issuer.TLS.Certificates, way.to)
		_, port, _ := net.SplitHostPort(addr)
		for _, c := range []struct{ host, options, says string }{
			{host: addr, options: "ca=" + ca},
			{host: addr, says: "is not trusted: x509: certificate signed by unknown authority"},
			{host: "localhost:" + port, options: "ca=" + ca, says: "not localhost (option ca=FILE"},
			{host: strings.TrimPrefix(plain.URL, "http://"), options: "ca=" + ca, says: "does not speak TLS"}, // it speaks none
		} {
			name := strings.ReplaceAll(way.form, "HOST", c.host)
			if c.options != "" && strings.Contains(name, "?") {
				name += "&" + c.options
			} else if c.options != "" {
				name += "?" + c.options
			}
			d, err := dsn.Parse(name)
			if err != nil {
				t.Fatal(err)
			}
			d.User, d.Password = p.User, dsn.NewSecret(p.Password)
			conn, err := client.Open(t.Context(), client.FromDSN(d))
			if c.says != "" {
				if err == nil || !strings.Contains(err.Error(), c.says) {
					t.Errorf("%s: %v, want %q", name, err, c.says)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			var two uint16
			if err := conn.Row(t.Context(), []any{&two}, "SELECT 1 + 1"); err != nil || two != 2 {
				t.Errorf("%s: %d %v", name, two, err)
			}
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// behindTLS is the address of a listener that takes TLS off.
func behindTLS(t *testing.T, own []tls.Certificate, to string) string {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: own})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				server, err := net.Dial("tcp", to)
				if err != nil {
					return
				}
				defer server.Close()
				go func() {
					defer server.Close()
					_, _ = io.Copy(server, c)
				}()
				_, _ = io.Copy(c, server)
			}()
		}
	}()
	return l.Addr().String()
}

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestUnasked: what a server sends behind its answer, the credentials that it was sent, shows
// nowhere.
func TestUnasked(t *testing.T) {
	sent := make(chan string, 100)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		secret := r.Header.Get("Authorization")
		sent <- secret
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 204 No Content\r\n\r\n%s", secret)
		_, _ = io.Copy(io.Discard, conn) // until the other side closes
	}))
	defer s.Close()
	cmd := exec.Command("/proc/self/exe", "store", "migrate", strings.Replace(s.URL, "http://", "http://me@", 1)+"/rocelens")
	cmd.Args[0] = "rocelens" // see TestMain
	cmd.Env = append(os.Environ(), "ROCELENS_STORE_PASSWORD=hunter2")
	said, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(said), "204") {
		t.Errorf("%v: %s", err, said)
	}
	if len(sent) == 0 {
		t.Fatal("it sent nothing")
	}
	secret := <-sent
	if !strings.HasPrefix(secret, "Basic ") || strings.Contains(string(said), secret) {
		t.Errorf("%q was sent, and it says %s", secret, said)
	}
}

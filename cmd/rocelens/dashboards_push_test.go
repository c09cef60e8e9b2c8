package main

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/dashboards/grafana/push/grafanatest"
)

// pushBoards runs the command against a Grafana, and returns what it said.
func pushBoards(t *testing.T, ctx context.Context, s *grafanatest.Server, more ...string) (code int, out, errOut string) { //nolint:revive // t is first everywhere
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(s.Token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var o, e bytes.Buffer
	code = run(ctx, append([]string{"dashboards", "push", "--grafana", s.URL(), "--token-file", file, "--prometheus", "http://prom:9090"}, more...), nil, &o, &e)
	if text := o.String() + e.String(); strings.Contains(text, s.Token) || shows(text, awkward) != "" {
		t.Errorf("a secret shows in %s", text)
	}
	return code, o.String(), e.String()
}

// TestDashboardsPush: a dry run, a push, another, and what people do in between.
func TestDashboardsPush(t *testing.T) {
	t.Setenv("ROCELENS_STORE_PASSWORD", awkward)
	t.Setenv("ROCELENS_STORE_USER", "me")
	s := grafanatest.New(t, 13, "/grafana")
	check := func(name string, wantCode int, wantOut, wantErr string, more ...string) {
		t.Helper()
		code, out, errOut := pushBoards(t, t.Context(), s, more...)
		out = strings.ReplaceAll(out, s.URL(), "URL/")
		if code != wantCode || out != wantOut || errOut != wantErr {
			t.Errorf("%s: exit code %d\n%s%s", name, code, out, errOut)
		}
	}
	things := func(word string) string {
		return word + ` folder rocelens (RoCE)
` + word + ` data source rocelens-clickhouse (rocelens ClickHouse)
` + word + ` data source rocelens-prometheus (rocelens Prometheus)
` + word + ` board rocelens-ecn (RoCE: ECN lag)
` + word + ` board rocelens-loss (RoCE: retransmits and loss)
` + word + ` board rocelens-overview (RoCE: fabric overview)
` + word + ` board rocelens-pfc (RoCE: PFC storms)
` + word + ` board rocelens-probe (RoCE: probe health)
` + word + ` board rocelens-session (RoCE: session)
`
	}
	check("dry run", exitDone, things("would create")+"would create 9; URL/d/rocelens-overview\n", "", "--dry-run")
	if len(s.Sent()) > 0 {
		t.Errorf("a dry run sent %v", s.Sent())
	}
	check("fresh", exitDone, things("created")+"created 9; URL/d/rocelens-overview\n", "")
	if s.Secret("rocelens-clickhouse", "password") != awkward {
		t.Error("the password did not arrive")
	}
	s.Forget()
	check("again", exitDone, things("unchanged")+"unchanged: Grafana has all of it; URL/d/rocelens-overview\n", "")
	if len(s.Sent()) > 0 {
		t.Errorf("a second push sent %v", s.Sent())
	}
	s.Edit("rocelens-pfc", "carol", "title", "mine")
	const by = "was changed in Grafana by carol on 2026-02-03 04:05 UTC"
	const refusal = "rocelens: board rocelens-pfc " + by + ": save what is to be kept under another name, then --force overwrites it\nrocelens: nothing was changed in Grafana\n"
	check("edited", exitFailed, "", refusal)
	pfc := "unchanged board rocelens-pfc (RoCE: PFC storms)\n"
	check("edited, dry run", exitFailed, strings.Replace(things("unchanged"), pfc, "would refuse board rocelens-pfc (RoCE: PFC storms)\n", 1), refusal, "--dry-run")
	forced := strings.Replace(things("unchanged"), pfc, "updated board rocelens-pfc (RoCE: PFC storms): "+by+"\n", 1)
	forced = strings.Replace(forced, "unchanged data source rocelens-clickhouse (rocelens ClickHouse)", "updated data source rocelens-clickhouse (rocelens ClickHouse): password sent anew", 1)
	check("forced", exitDone, forced+"updated 2, unchanged 7; URL/d/rocelens-overview\n", "", "--force")
	s.SetSource("rocelens-prometheus", "url", "http://elsewhere")
	s.SetSource("rocelens-prometheus", "readOnly", true)
	kept := strings.Replace(things("unchanged"), "unchanged data source rocelens-prometheus (rocelens Prometheus)",
		"kept data source rocelens-prometheus (rocelens Prometheus): Grafana has it from a file, in which it differs: url", 1)
	check("from a file", exitDone, kept+"kept 1, unchanged 8; URL/d/rocelens-overview\n", "")
}

// TestDashboardsPushVerbose: requests are said, and secrets are not; also in what
// is refused.
func TestDashboardsPushVerbose(t *testing.T) {
	s := grafanatest.New(t, 12, "")
	if code, _, errOut := pushBoards(t, t.Context(), s, "-v", "--store", "clickhouse://me:"+"h%3Au%2Fn%25t%20e%40r%2B2"+"@ch1"); code != exitDone || !strings.Contains(errOut, "POST /api/dashboards/db: 200 OK, ") {
		t.Errorf("exit code %d, %s", code, errOut)
	}
	if s.Secret("rocelens-clickhouse", "password") != awkward {
		t.Error("the password did not arrive")
	}
	t.Setenv("ROCELENS_GRAFANA_TOKEN", "glsa_wrong")
	var out, errOut bytes.Buffer
	if code := run(t.Context(), []string{"dashboards", "push", "--grafana", s.URL(), "--verbose"}, nil, &out, &errOut); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	if text := out.String() + errOut.String(); !strings.Contains(text, "does not take the token") || strings.Contains(text, "glsa_wrong") {
		t.Error(text)
	}
}

// TestDashboardsPushOld: it is said that a Grafana is too old.
func TestDashboardsPushOld(t *testing.T) {
	s := grafanatest.New(t, 10, "")
	if code, _, errOut := pushBoards(t, t.Context(), s); code != exitDone || errOut != "Grafana 10.6.1 is older than 11.6.0: boards may show errors\n" {
		t.Errorf("exit code %d, %s", code, errOut)
	}
}

// TestDashboardsPushInterrupted: Ctrl-C while boards are written says how far it came.
func TestDashboardsPushInterrupted(t *testing.T) {
	for at, want := range map[string]string{
		"/api/health":        "rocelens: interrupted: nothing was changed\n",
		"/api/dashboards/db": "rocelens: interrupted: what is named above was done; push again for the rest\n",
	} {
		s := grafanatest.New(t, 12, "")
		ctx, cancel := context.WithCancel(t.Context())
		s.Before(func(_ http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == at {
				cancel()
			}
			return false
		})
		if code, out, errOut := pushBoards(t, ctx, s); code != exitFailed || errOut != want || strings.Contains(out, "board") {
			t.Errorf("%s: exit code %d, %s%s", at, code, out, errOut)
		}
		cancel()
	}
}

package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/dashboards/grafana/boardtest"
	"github.com/rocelens/rocelens/storage/engine/enginetest"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == parentArg {
		parent(os.Args[2])
	}
	os.Exit(enginetest.Main(m))
}

// demo is one for a test, in a directory.
func demo(dir string, out *strings.Builder) options {
	return options{dir: dir, listen: "127.0.0.1:0", captures: "../../testdata/captures", examples: captures(), prometheus: "127.0.0.1:0", every: 500 * time.Millisecond, out: out, now: time.Now()}
}

// TestDemo: with what the demo loads, each panel that asks ClickHouse has something to
// show; a second demo beside it says what it can't have; it ends when it is told to and
// leaves nothing behind; and the next one replaces what it loaded.
func TestDemo(t *testing.T) {
	enginetest.Need(t)
	dir := filepath.Join(t.TempDir(), "it's a demo")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out strings.Builder
	o := demo(dir, &out)
	pid := 0
	capturetest.Need(t, "prometheus")
	o.ready = func(s *store, sh *shown) {
		pid = s.engine.PID()
		checkPanels(t, s, sh)
		checkMetrics(t, o.prometheus)
		if got := inShell(t, out.String(), "export ", `printf %s "$ROCELENS_STORE_PASSWORD"`); got != s.engine.Endpoint().Password {
			t.Errorf("the password that it exports is %q", got)
		}
		if got := inShell(t, out.String(), "GF_", `printf %s "$GF_PATHS_PROVISIONING"`); got != filepath.Join(dir, "grafana", "provisioning") {
			t.Errorf("Grafana gets %q", got)
		}
		if got, want := inShell(t, out.String(), "docker ", `printf %s "$6"`), filepath.Join(dir, "grafana"); got != want+":"+want+":ro" {
			t.Errorf("docker gets %q", got)
		}
		refused := demo(dir, new(strings.Builder))
		if err := refused.run(ctx); err == nil || !strings.Contains(err.Error(), "in use by make demo, process "+strconv.Itoa(os.Getpid())) {
			t.Errorf("a second demo in the directory: %v", err)
		}
		refused = demo(t.TempDir(), new(strings.Builder))
		refused.listen = s.engine.Endpoint().Addr
		if err := refused.run(ctx); err == nil || !strings.Contains(err.Error(), refused.listen+" is in use by another program") || !strings.Contains(err.Error(), "make demo DEMO=") {
			t.Errorf("a second demo with the address: %v", err)
		}
		time.AfterFunc(time.Millisecond, cancel) // Ctrl-C, while it waits
	}
	if err := o.run(ctx); err != nil {
		t.Fatal(err)
	}
	if pid == 0 || syscall.Kill(pid, 0) == nil {
		t.Errorf("ClickHouse still runs as process %d", pid)
	}
	for _, want := range []string{"stopping", "/d/rocelens-overview?from=", "store query http://rocelens@127.0.0.1:", "each once and one after the other"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, out.String())
		}
	}

	out.Reset()
	again := demo(dir, &out)
	again.once, again.examples = true, captures()[:2]
	again.ready = func(s *store, _ *shown) {
		rows := boardtest.Ask(t, s.engine.Endpoint(), "SELECT count() AS n, countIf(state = 'finished') AS finished FROM rocelens.runs FINAL").Data
		if rows[0].Number("n") != 2 || rows[0].Number("finished") != 2 {
			t.Errorf("runs of the second demo: %v", rows)
		}
	}
	if err := again.run(ctx); !errors.Is(err, errInterrupted) { // it has ended
		t.Errorf("interrupted: %v", err)
	}
	if err := again.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	serve := inShell(t, out.String(), "bin/rocelens store serve ", `printf '%s|' "$@"`)
	if !strings.HasPrefix(serve, "store|serve|--listen|127.0.0.1:") || !strings.HasSuffix(serve, "|embedded:"+filepath.Join(dir, "store")+"|") {
		t.Errorf("it has the store served by %q", serve)
	}
}

// inShell does what a shell does with the line of what was printed that begins so, and then
// something else. A command is not run: its arguments are $1 and so on.
func inShell(t *testing.T, printed, begin, then string) string {
	t.Helper()
	for line := range strings.Lines(printed) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, begin) {
			continue
		}
		line = strings.TrimSuffix(line, `\`)
		if program, args, _ := strings.Cut(line, " "); program != "export" && !strings.Contains(program, "=") {
			line = "set -- " + args
		}
		got, err := exec.Command("bash", "-c", line+"\n"+then).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", line, err, got)
		}
		return string(got)
	}
	t.Errorf("no line begins with %q:\n%s", begin, printed)
	return ""
}

// checkPanels asks what the boards ask about the time of the demo.
func checkPanels(t *testing.T, s *store, sh *shown) {
	t.Helper()
	at := s.engine.Endpoint()
	queries, names := boardtest.Named(t, "grafana-clickhouse-datasource")
	screen := &boardtest.Screen{From: sh.from, To: sh.to, Variables: map[string][]string{"database": {s.Options.Database}, "find": {""}}}
	ask := func(name string) []boardtest.Row {
		q := queries[name]
		return boardtest.Ask(t, at, screen.Of(q).SQL(t, q.Text)).Data
	}
	sessions := ask("rocelens-session $session")
	if len(sessions) == 0 {
		t.Fatal("no sessions")
	}
	for _, name := range names {
		of := sessions
		if !strings.HasPrefix(name, "rocelens-session ") || strings.ContainsAny(name, "$@") {
			of = sessions[:1] // it is not about one
		}
		found := false
		for _, session := range of {
			screen.Variables["session"] = []string{session.Text("session")}
			if found = shows(queries[name], ask(name)); found {
				break
			}
		}
		if !found {
			t.Errorf("%s has nothing to show", name)
		}
	}
}

// checkMetrics waits until Prometheus has something of a second capture: a rise.
func checkMetrics(t *testing.T, prometheus string) {
	t.Helper()
	last := ""
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		resp, err := http.Get("http://" + prometheus + "/api/v1/query?query=" + url.QueryEscape("sum(rate(rocelens_packets_total[1m])) > 0"))
		if err != nil {
			last = err.Error() // it is not there yet
			continue
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if last = string(body); err == nil && strings.Contains(last, `"value"`) {
			return
		}
	}
	t.Errorf("nothing rises in Prometheus: %s", last)
}

// shows says whether rows have something to show: as series, more than zeros.
func shows(q boardtest.Query, rows []boardtest.Row) bool {
	if !q.Series {
		return len(rows) > 0
	}
	return slices.ContainsFunc(rows, func(r boardtest.Row) bool {
		for column := range r {
			if r.Number(column) > 0 {
				return true
			}
		}
		return false
	})
}

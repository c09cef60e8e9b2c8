package grafana_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/dashboards/grafana/boardtest"
)

// history is a series, a value every ten seconds, in promtool's notation.
type history struct {
	Series string `yaml:"series"`
	Values string `yaml:"values"`
}

// answer is a series of what Prometheus has to say.
type answer struct {
	Labels string  `yaml:"labels"`
	Value  float64 `yaml:"value"`
}

type exprTest struct {
	Expr     string   `yaml:"expr"`
	At       string   `yaml:"eval_time"`
	Expected []answer `yaml:"exp_samples"`
}

// mirrors are counters of two monitors, each of which calls its interface mirror0.
func mirrors(counter, labels, one, other string) []history {
	return []history{
		{`rocelens_` + counter + `{instance="leaf-1:9797",interface="mirror0"` + labels + `}`, one},
		{`rocelens_` + counter + `{instance="leaf-2:9797",interface="mirror0"` + labels + `}`, other},
	}
}

// TestNumbers asks Prometheus's own tool what panels say of histories, at the end of an hour
// in which rates are of a minute.
func TestNumbers(t *testing.T) {
	capturetest.Need(t, "promtool")
	end := time.Unix(3600, 0)
	s := &boardtest.Screen{
		From: time.Unix(0, 0), To: end, Rates: time.Minute, Interval: 30 * time.Second,
		Variables: map[string][]string{"instance": {"leaf-1:9797", "leaf-2:9797"}, "priority": {"3"}},
	}
	texts := map[string]string{}
	for _, q := range boardtest.Queries(t) {
		texts[q.Name] = q.Text
	}
	type test struct {
		Name   string     `yaml:"name"`
		Every  string     `yaml:"interval"`
		Series []history  `yaml:"input_series"`
		Exprs  []exprTest `yaml:"promql_expr_test"`
	}
	file := struct {
		Tests []test `yaml:"tests"`
	}{}
	pfc := `,type="pfc",priority="3"`
	for _, c := range []struct {
		name, query string
		series      []history
		want        []answer
	}{
		{"two links of one name at 60 % are no link at 120 %", "rocelens-overview Paused, worst link A", mirrors("paused_seconds_total", pfc, "0+6x360", "0+6x360"), []answer{{"{}", 0.6}}},
		{
			"each link has a curve of its own", "rocelens-pfc Paused A", mirrors("paused_seconds_total", pfc, "0+6x360", "0+3x360"),
			[]answer{{`{instance="leaf-1:9797",interface="mirror0",priority="3"}`, 0.6}, {`{instance="leaf-2:9797",interface="mirror0",priority="3"}`, 0.3}},
		},
		{
			"half an hour ago a link stood still for five minutes", "rocelens-overview Paused, worst link A",
			mirrors("paused_seconds_total", pfc, "0x150 0+10x30 300x180", "0x360"), []answer{{"{}", 1}},
		},
		{
			"a pause of five minutes, which counts when it ends, is no 500 %", "rocelens-overview Paused, worst link A",
			mirrors("paused_seconds_total", pfc, "0x179 300x180", "0x360"), []answer{{"{}", 1}},
		},
		{
			"a loss of half an hour ago is still to be seen", "rocelens-overview Sent again A",
			append(mirrors("retransmitted_packets_total", `,priority="3"`, "0x179 36x180", "0x360"), mirrors("packets_total", `,priority="3",class="request"`, "0+50x360", "0+50x360")...),
			[]answer{{"{}", 0.001}},
		},
		{
			"the share that alerts are about, of each link", "rocelens-loss Requests sent again A",
			append(mirrors("retransmitted_packets_total", `,priority="3"`, "0+1x360", "0x360"), mirrors("packets_total", `,priority="3",class="request"`, "0+100x360", "0+100x360")...),
			[]answer{{`{instance="leaf-1:9797",interface="mirror0",priority="3"}`, 0.01}, {`{instance="leaf-2:9797",interface="mirror0",priority="3"}`, 0}},
		},
		{
			"marks of half an hour ago too", "rocelens-overview Marked CE A",
			append(mirrors("ecn_packets_total", `,priority="3",codepoint="ce"`, "0x179 3600x180", "0x360"), mirrors("ecn_packets_total", `,priority="3",codepoint="ect0"`, "0+50x360", "0+40x360")...),
			[]answer{{"{}", 0.1}},
		},
	} {
		text, ok := texts[c.query]
		if !ok {
			t.Fatalf("no board asks %q", c.query)
		}
		file.Tests = append(file.Tests, test{c.name, "10s", c.series, []exprTest{{s.PromQL(text), "1h", c.want}}})
	}
	data, err := yaml.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "numbers.yml")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("promtool", "test", "rules", path).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

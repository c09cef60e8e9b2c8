package grafana_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rocelens/rocelens/dashboards/grafana/boardtest"
	"github.com/rocelens/rocelens/pipeline/scenario"
)

// scene is a query of a board where there is something to show.
type scene struct {
	scenario string
	// check says what is wrong with the rows, given what the scenario did.
	check func(rows []row, truth *scenario.Truth) string
	// clean does so where nothing is wrong; nil stands for no rows.
	clean func(rows []row, truth *scenario.Truth) string
}

// one wants a single row, with these values.
func one(want func(truth *scenario.Truth) map[string]any) func([]row, *scenario.Truth) string {
	return func(rows []row, truth *scenario.Truth) string {
		if len(rows) != 1 {
			return fmt.Sprintf("%d rows", len(rows))
		}
		return differs(rows[0], want(truth))
	}
}

// all wants some values in all rows, of which there are n.
func all(n int, want func(truth *scenario.Truth) map[string]any) func([]row, *scenario.Truth) string {
	return func(rows []row, truth *scenario.Truth) string {
		if len(rows) != n {
			return fmt.Sprintf("%d rows", len(rows))
		}
		for _, r := range rows {
			if diff := differs(r, want(truth)); diff != "" {
				return diff
			}
		}
		return ""
	}
}

// differs says what of some values a row has not.
func differs(r row, want map[string]any) string {
	for _, column := range slices.Sorted(maps.Keys(want)) {
		switch w := want[column].(type) {
		case string:
			if r.Text(column) != w {
				return fmt.Sprintf("%s is %v, not %s", column, r[column], w)
			}
		case float64:
			if got := r.Number(column); math.Abs(got-w) > 1e-9*math.Abs(w) {
				return fmt.Sprintf("%s is %v, not %v", column, r[column], w)
			}
		}
	}
	return ""
}

// values wants these among those of a column, in any order.
func values(column string, want ...string) func([]row, *scenario.Truth) string {
	return func(rows []row, _ *scenario.Truth) string {
		var got []string
		for _, r := range rows {
			got = append(got, r.Text(column))
		}
		for _, w := range want {
			if !slices.Contains(got, w) {
				return fmt.Sprintf("no %s among %q", w, got)
			}
		}
		return ""
	}
}

func anything([]row, *scenario.Truth) string { return "" }

// What scenarios did, as rows should say it.

func lossRow(truth *scenario.Truth) map[string]any {
	s := truth.Sessions[0]
	return map[string]any{
		"src": s.A.Addr, "dst": s.B.Addr, "src QPN": strconv.Itoa(int(s.A.QPN)), "dst QPN": strconv.Itoa(int(s.B.QPN)), "packets": float64(truth.Totals.RequestsSeen),
		"sent again": float64(truth.Totals.Fills + truth.Totals.Repeats), "lost before": float64(truth.Totals.DropsBefore), "lost behind": 0.0,
	}
}

func stormRow(truth *scenario.Truth) map[string]any {
	p := truth.Pauses[0]
	lasted := float64(p.Spans[0].End - p.Spans[0].Start)
	return map[string]any{"who pauses": p.MAC, "interface": p.Interface, "frames": float64(p.XOff), "paused": lasted, "in storms": lasted, "storms": 1.0}
}

func stateRow(truth *scenario.Truth) map[string]any {
	p := truth.Pauses[0]
	return map[string]any{"paused": float64(p.Spans[0].End-p.Spans[0].Start) / 1e9}
}

// step is a panel of the session board that has a number for each step.
func step(column string, want func(t *scenario.Truth) float64) func([]row, *scenario.Truth) string {
	return one(func(t *scenario.Truth) map[string]any { return map[string]any{column: want(t)} })
}

func zero(*scenario.Truth) float64 { return 0 }

// positive is a number that is there and more than nothing.
func positive(column string) func([]row, *scenario.Truth) string {
	return func(rows []row, _ *scenario.Truth) string {
		if len(rows) != 1 || rows[0].Number(column) <= 0 {
			return fmt.Sprintf("rows %v", rows)
		}
		return ""
	}
}

// scenes are what each query is asked about. Variables and annotations are the same in
// all boards.
var scenes = map[string]scene{
	"$probe":       {"loss_before", values("value", "probe of loss_before", "probe of pfc_storm"), anything},
	"$tap":         {"loss_before", values("value", "loss_before", "pfc_storm"), anything},
	"$host":        {"incast", values("value", "10.0.0.1", "10.0.0.2", "10.0.0.5"), anything},
	"$application": {"loss_before", values("value", "unknown"), anything},
	"@Findings":    {"loss_before", values("tags", "go-back-n", "lost-before-tap"), nil},
	"@Storms": {"pfc_storm", one(func(t *scenario.Truth) map[string]any {
		s := t.Storms[0]
		return map[string]any{"time": clock(s.Start), "timeEnd": clock(s.End), "text": "Storm from " + s.MAC + " on " + s.Interface + ", priority 3,4", "tags": "storm"}
	}), nil},

	"rocelens-overview What is wrong A": {"pfc_storm", func(rows []row, _ *scenario.Truth) string {
		if len(rows) == 0 || rows[0].Text("severity") != "critical" || rows[0].Text("code") != "pfc-storm" {
			return fmt.Sprintf("the worst is not the storm: %v", rows)
		}
		if leads := rows[0].Text("session"); leads != "none" { // it is about no session
			return fmt.Sprintf("its link leads to the session %q", leads)
		}
		return ""
	}, nil},
	"rocelens-overview Events A":                     {"loss_before", values("kind", "nak", "episode", "try"), nil},
	"rocelens-overview Flows that send most again A": {"loss_before", one(lossRow), nil},
	"rocelens-overview Busiest receivers A": {"incast", func(rows []row, t *scenario.Truth) string {
		if len(rows) != 5 {
			return fmt.Sprintf("%d rows", len(rows))
		}
		return differs(rows[0], map[string]any{"Receiver": t.Sessions[0].B.Addr, "Senders": 4.0, "Flows": 4.0, "Marked CE": float64(t.Totals.CESeen) / float64(t.Totals.RequestsSeen), "Lost": 0.0})
	}, all(2, func(*scenario.Truth) map[string]any { return map[string]any{"Marked CE": 0.0, "Lost": 0.0} })},
	"rocelens-overview Storms by port A": {"pfc_storm", all(2, stormRow), nil},

	"rocelens-loss Flows that send most again A": {"loss_before", one(lossRow), nil},
	"rocelens-loss Flows that lose most A":       {"loss_before", one(lossRow), nil},
	"rocelens-loss Loss between hosts A": {"loss_after", one(func(t *scenario.Truth) map[string]any {
		return map[string]any{"Sender": t.Sessions[0].A.Addr, "Receiver": t.Sessions[0].B.Addr, "Before the tap": 0.0, "Behind it": float64(t.Totals.DropsAfter)}
	}), nil},
	"rocelens-loss NAK reaction and ACK latency by DSCP A": {"loss_before", func(rows []row, t *scenario.Truth) string {
		if len(rows) != 2 {
			return fmt.Sprintf("%d rows", len(rows))
		}
		return differs(rows[0], map[string]any{"of": "nak_reaction", "count": float64(t.Totals.NAKsSeen), "DSCP": "26"})
	}, one(func(*scenario.Truth) map[string]any { return map[string]any{"of": "ack_latency"} })},

	"rocelens-pfc Storms by port A": {"pfc_storm", all(2, stormRow), nil},
	"rocelens-pfc Who is stopped, when A": {"pfc_storm", func(rows []row, t *scenario.Truth) string {
		if len(rows) != 4 {
			return fmt.Sprintf("%d rows", len(rows))
		}
		if wrong := all(2, stateRow)(rows[:2], t); wrong != "" {
			return wrong
		}
		// Then it is over, which only a later row says.
		over := func(*scenario.Truth) map[string]any { return map[string]any{"paused": 0.0} }
		if rows[2].Text("time") <= rows[1].Text("time") {
			return "its end is not later than it is"
		}
		return all(2, over)(rows[2:], t)
	}, nil},
	"rocelens-pfc Victims A": {"pfc_storm", one(func(t *scenario.Truth) map[string]any {
		return map[string]any{"dst": "10.0.0.2", "paused": stormRow(t)["paused"]}
	}), nil},
	"rocelens-pfc Pause trees and what is wrong with pauses A": {"pfc_tree", values("code", "pause-tree"), nil},
	"rocelens-pfc All that pause A": {"pfc_tree", all(4, func(t *scenario.Truth) map[string]any {
		return map[string]any{"pauses": float64(len(t.Pauses[0].Spans)), "storms": 0.0, "in storms": 0.0}
	}), nil},

	"rocelens-ecn Flows with most marks A": {"cnp", one(func(t *scenario.Truth) map[string]any {
		return map[string]any{"src": t.Sessions[0].A.Addr, "marked CE": float64(t.Totals.CESeen) / float64(t.Totals.RequestsSeen), "CNPs": float64(t.Totals.CNPsSeen)}
	}), nil},
	"rocelens-ecn Lag by DSCP A": {"cnp", func(rows []row, t *scenario.Truth) string {
		if wrong := values("of", "np_delay", "mark_wait", "cnp_to_slow", "slow_to_recover")(rows, t); wrong != "" {
			return wrong
		}
		return differs(rows[0], map[string]any{"DSCP": "26", "of": "np_delay", "count": float64(t.Totals.CNPsSeen)})
	}, nil},
	"rocelens-ecn Marked CE by DSCP A": {"cnp", one(func(t *scenario.Truth) map[string]any {
		return map[string]any{"class": "DSCP 26", "marked": float64(t.Totals.CESeen) / float64(t.Frames)}
	}), one(func(*scenario.Truth) map[string]any { return map[string]any{"marked": 0.0} })},

	"$session": {"loss_before", one(func(t *scenario.Truth) map[string]any {
		a, b := t.Sessions[0].A, t.Sessions[0].B
		return map[string]any{"text": fmt.Sprintf("%s QP %d - %s QP %d RC", a.Addr, a.QPN, b.Addr, b.QPN)}
	}), anything},
	"rocelens-session Session A": {"loss_before", one(func(t *scenario.Truth) map[string]any {
		return map[string]any{"service": "RC", "path MTU": float64(t.Sessions[0].PathMTU), "sent again a": float64(t.Totals.Fills + t.Totals.Repeats), "lost before a": float64(t.Totals.DropsBefore), "sent again b": 0.0}
	}), one(func(*scenario.Truth) map[string]any {
		return map[string]any{"sent again a": 0.0, "lost before a": 0.0, "lost behind a": 0.0}
	})},
	"rocelens-session Throughput A":        {"loss_before", positive("a to b"), positive("a to b")},
	"rocelens-session Throughput B":        {"loss_before", positive("b to a"), positive("b to a")},
	"rocelens-session ACK latency, p99 A":  {"loss_before", positive("a to b"), positive("a to b")},
	"rocelens-session ACK latency, p99 B":  {"loss_bidirectional", positive("b to a"), anything},
	"rocelens-session In flight, peak A":   {"loss_before", positive("a to b"), positive("a to b")},
	"rocelens-session In flight, peak B":   {"loss_bidirectional", positive("b to a"), anything},
	"rocelens-session Sent again A":        {"loss_before", step("a to b", func(t *scenario.Truth) float64 { return float64(t.Totals.Fills + t.Totals.Repeats) }), step("a to b", zero)},
	"rocelens-session Sent again B":        {"loss_bidirectional", positive("b to a"), step("b to a", zero)},
	"rocelens-session Lost A":              {"loss_before", step("a to b", func(t *scenario.Truth) float64 { return float64(t.Totals.DropsBefore) }), step("a to b", zero)},
	"rocelens-session Lost B":              {"loss_bidirectional", positive("b to a"), step("b to a", zero)},
	"rocelens-session Told to slow down A": {"cnp", step("a to b", func(t *scenario.Truth) float64 { return float64(t.Totals.CNPsSeen) }), step("a to b", zero)},
	"rocelens-session Told to slow down B": {"cnp_read", positive("b to a"), step("b to a", zero)},
	"rocelens-session Events A":            {"loss_before", values("kind", "nak", "try", "episode"), nil},
	"rocelens-session What is wrong A":     {"loss_before", values("code", "go-back-n", "lost-before-tap"), nil},
	"rocelens-probe Counters of runs A": {"loss_before", func(rows []row, t *scenario.Truth) string {
		for _, r := range rows {
			if r.Text("name") == "capture_frames" {
				return differs(r, map[string]any{"value": float64(t.Frames)})
			}
		}
		return "no capture_frames"
	}, anything},
}

// clock is a time as ClickHouse writes it.
func clock(ns int64) string { return time.Unix(0, ns).UTC().Format("2006-01-02 15:04:05.000000000") }

// sceneOf is that of a query: variables and annotations are the same in all boards.
func sceneOf(name string) (scene, bool) {
	if s, ok := scenes[name]; ok {
		return s, true
	}
	for key, s := range scenes {
		if (key[0] == '$' || key[0] == '@') && strings.HasSuffix(name, " "+key) {
			return s, true
		}
	}
	return scene{}, false
}

// on is a board that shows one tap, in the time of what was captured there.
func on(tap string, truth *scenario.Truth) *boardtest.Screen {
	return &boardtest.Screen{
		From: time.Unix(0, truth.First).Truncate(time.Second), To: time.Unix(0, truth.Last).Add(time.Second).Truncate(time.Second), Interval: time.Second,
		Variables: map[string][]string{"database": {"rocelens"}, "tap": {tap}, "find": {""}, "session": {""}},
	}
}

// TestClickHouse runs every query of every board in a real ClickHouse with
// scenarios in it: it says what they did, and nothing where nothing is wrong.
func TestClickHouse(t *testing.T) {
	l := newLab(t)
	const clean = "clean_write"
	truths := map[string]*scenario.Truth{clean: l.load(t, clean)}
	for _, s := range scenes {
		if truths[s.scenario] == nil {
			truths[s.scenario] = l.load(t, s.scenario)
		}
	}
	queries, names := boardtest.Named(t, "grafana-clickhouse-datasource")
	screens := map[string]*boardtest.Screen{}
	for tap, truth := range truths {
		s := on(tap, truth)
		if found := l.ask(t, s.SQL(t, queries["rocelens-session $session"].Text)); len(found.Data) > 0 {
			s.Variables["session"] = []string{found.Data[0].Text("session")}
		}
		screens[tap] = s
	}
	done := map[string]bool{} // queries that several boards have
	for _, name := range names {
		s, ok := sceneOf(name)
		if !ok {
			t.Errorf("nothing says what %q should answer", name)
			continue
		}
		ask := func(tap string) []row { return l.ask(t, screens[tap].SQL(t, queries[name].Text)).Data }
		if done[queries[name].Text] && (strings.Contains(name, "$") || strings.Contains(name, "@")) {
			continue
		}
		done[queries[name].Text] = true
		if wrong := s.check(ask(s.scenario), truths[s.scenario]); wrong != "" {
			t.Errorf("%s, %s: %s", name, s.scenario, wrong)
		}
		rows := ask(clean)
		if s.clean == nil && len(rows) > 0 {
			t.Errorf("%s: %d rows where nothing is wrong: %v", name, len(rows), rows[0])
		}
		if s.clean != nil {
			if wrong := s.clean(rows, truths[clean]); wrong != "" {
				t.Errorf("%s, %s: %s", name, clean, wrong)
			}
		}
	}
	for name := range scenes {
		if name[0] != '$' && name[0] != '@' && !slices.Contains(names, name) {
			t.Errorf("no board asks %q", name)
		}
	}
	t.Run("filters", func(t *testing.T) { l.filters(t, queries, truths) })
	t.Run("cost", func(t *testing.T) { l.cost(t, queries, names) })
	t.Run("idle", func(t *testing.T) { l.idle(t, queries) })
}

// filters: the variables of a board narrow what its panels show.
func (l *lab) filters(t *testing.T, queries map[string]boardtest.Query, truths map[string]*scenario.Truth) {
	for _, c := range []struct {
		query, variable, value string
		rows                   int
	}{
		{"rocelens-loss Flows that lose most A", "host", "10.0.0.1", 1},
		{"rocelens-loss Flows that lose most A", "host", "10.9.9.9", 0},
		{"rocelens-loss Flows that lose most A", "priority", "none", 1},
		{"rocelens-loss Flows that lose most A", "priority", "5", 0},
		{"rocelens-loss Flows that lose most A", "application", "unknown", 1},
		{"rocelens-loss Flows that lose most A", "application", "iser", 0},
		{"rocelens-loss Flows that lose most A", "probe", "probe of loss_before", 1},
		{"rocelens-loss Flows that lose most A", "probe", "it's another", 0},
		{"rocelens-pfc Storms by port A", "priority", "4", 1},
		{"rocelens-pfc Who is stopped, when A", "priority", "3", 2},
		{"rocelens-session $session", "find", "10.0.0.2", 1},
		{"rocelens-session $session", "find", "nobody", 0},
	} {
		tap := "loss_before"
		if strings.HasPrefix(c.query, "rocelens-pfc") {
			tap = "pfc_storm"
		}
		s := on(tap, truths[tap])
		s.Variables[c.variable] = []string{c.value}
		if rows := l.ask(t, s.SQL(t, queries[c.query].Text)).Data; len(rows) != c.rows {
			t.Errorf("%s with %s %s: %d rows, not %d", c.query, c.variable, c.value, len(rows), c.rows)
		}
	}
	// A link that two taps see stands still for as long as with one.
	storm := truths["pfc_storm"]
	both := on("pfc_storm", storm)
	both.Variables["tap"] = append(both.Variables["tap"], "pfc_storm elsewhere")
	l.loadAs(t, "pfc_storm", "pfc_storm elsewhere")
	const who = "rocelens-pfc Who is stopped, when A"
	if wrong := scenes[who].check(l.ask(t, both.SQL(t, queries[who].Text)).Data, storm); wrong != "" {
		t.Errorf("%s at two taps: %s", who, wrong)
	}
	l.finds(t, queries["rocelens-session $session"].Text, truths["loss_before"])
	// A link from a flow's row finds its session.
	s := on("loss_before", truths["loss_before"])
	flow := l.ask(t, s.SQL(t, queries["rocelens-loss Flows that lose most A"].Text)).Data[0].Text("flow")
	s.Variables["find"] = []string{flow}
	if rows := l.ask(t, s.SQL(t, queries["rocelens-session $session"].Text)).Data; len(rows) != 1 {
		t.Errorf("flow %q has %d sessions", flow, len(rows))
	}
}

// finds: a session is found by what people have of it, as they write it.
func (l *lab) finds(t *testing.T, query string, truth *scenario.Truth) {
	a := truth.Sessions[0].A
	s := on("loss_before", truth)
	id := l.ask(t, s.SQL(t, query)).Data[0].Text("session")
	for find, rows := range map[string]int{
		"": 1, " ": 1, id: 1, strings.ToUpper(id) + " ": 1, a.Addr: 1, "  " + a.Addr + "\t": 1,
		fmt.Sprint(a.QPN): 1, fmt.Sprintf("0x%x", a.QPN): 1, fmt.Sprintf(" 0X%06X ", a.QPN): 1, fmt.Sprintf("%x", a.QPN): 0,
		fmt.Sprintf("%s/0x%x", a.Addr, a.QPN): 1, fmt.Sprintf("%s / %d", a.Addr, a.QPN): 1, fmt.Sprintf("%s QP %d", a.Addr, a.QPN): 1,
		"10.9.9.9/" + fmt.Sprint(a.QPN): 0, fmt.Sprintf("%s/%d", a.Addr, a.QPN+1): 0,
		`\`: 0, `'`: 0, `10.0.0.1\' OR 1 --`: 0, "$__fromTime": 0, "${session}": 0, "%": 0, "0": 0, "?": 0, "none": 0,
	} {
		s.Variables["find"] = []string{find}
		if got := l.ask(t, s.SQL(t, query)).Data; len(got) != rows {
			t.Errorf("%q finds %d sessions, not %d", find, len(got), rows)
		}
	}
	// Of a session of which one direction is captured a QPN is not known.
	one := l.load(t, "one_sided_requests")
	s = on("one_sided_requests", one)
	text := l.ask(t, s.SQL(t, query)).Data[0].Text("text")
	if want := one.Sessions[0].A.Addr + " QP ? - "; !strings.Contains(text, want) {
		t.Errorf("a session is called %q, without %q", text, want)
	}
	s.Variables["find"] = []string{one.Sessions[0].A.Addr + "/?"}
	if got := l.ask(t, s.SQL(t, query)).Data; len(got) != 1 {
		t.Errorf("%d sessions without a QPN", len(got))
	}
}

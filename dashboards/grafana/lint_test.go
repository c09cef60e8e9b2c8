package grafana_test

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"

	"github.com/rocelens/rocelens/dashboards/grafana"
	"github.com/rocelens/rocelens/dashboards/grafana/boardtest"
)

// TestLint: what Grafana would take without a word, and a reader would not.
func TestLint(t *testing.T) {
	plugins.RegisterDefaultPlugins()
	titles := map[string]string{}
	for _, uid := range grafana.UIDs() {
		t.Run(uid, func(t *testing.T) {
			data, err := grafana.Board(uid)
			if err != nil {
				t.Fatal(err)
			}
			var d dashboard.Dashboard //nolint:staticcheck // classic boards
			var wrong cog.BuildErrors
			if err := d.UnmarshalJSONStrict(withoutInputs(t, data)); !errors.As(err, &wrong) && err != nil || len(wrong) > 0 {
				t.Errorf("not the schema of boards: %v", err)
			}
			b := boardtest.Parse(t, uid)
			if b.UID != uid || len(uid) > 40 || b.Description == "" || !slices.Equal(b.Tags, []string{"rocelens"}) || b.SchemaVersion < 36 {
				t.Errorf("UID, description, tags or version: %q %q %q %d", b.UID, b.Description, b.Tags, b.SchemaVersion)
			}
			if other, twice := titles[b.Title]; twice {
				t.Errorf("%s has the title of %s", uid, other)
			}
			titles[b.Title] = uid
			if len(b.Links) != 1 || b.Links[0].Type != "dashboards" {
				t.Errorf("links to other boards: %v", b.Links)
			}
			if len(b.Annotations.List) != 2 {
				t.Errorf("%d annotations", len(b.Annotations.List))
			}
			lintPanels(t, b)
			lintVariables(t, b, string(data))
		})
	}
}

func lintPanels(t *testing.T, b *boardtest.Board) {
	ids, titles := map[int]bool{}, map[string]bool{}
	for i, p := range b.Panels {
		if titles[p.Title] {
			t.Errorf("two panels are called %s", p.Title)
		}
		titles[p.Title] = true
		if ids[p.ID] || p.ID == 0 {
			t.Errorf("%s: id %d", p.Title, p.ID)
		}
		ids[p.ID] = true
		lintText(t, &p)
		g := p.GridPos
		if g.W <= 0 || g.H <= 0 || g.X < 0 || g.X+g.W > 24 {
			t.Errorf("%s: at %+v", p.Title, g)
		}
		for _, q := range b.Panels[:i] {
			o := q.GridPos
			if g.X < o.X+o.W && o.X < g.X+g.W && g.Y < o.Y+o.H && o.Y < g.Y+g.H {
				t.Errorf("%s is on top of %s", p.Title, q.Title)
			}
		}
		refs := map[string]bool{}
		for _, q := range p.Targets {
			if refs[q.RefID] || q.Datasource != p.Datasource {
				t.Errorf("%s: query %s twice, or of another data source", p.Title, q.RefID)
			}
			refs[q.RefID] = true
			if (q.RawSQL == "") == (q.Expr == "") || q.RawSQL != "" && q.EditorType != "sql" || q.Expr != "" && q.LegendFormat == "" {
				t.Errorf("%s: query %+v", p.Title, q)
			}
			if series := p.Type == "timeseries" || p.Type == "state-timeline"; q.RawSQL != "" && (q.Format == 0) != series {
				t.Errorf("%s: a %s with the format %d", p.Title, p.Type, q.Format)
			}
			// What the plugin's editor makes of a query must be what the panel asks for.
			if q.RawSQL != "" && (q.PluginVersion != grafana.PluginVersion || q.QueryType != []string{"timeseries", "table"}[q.Format]) {
				t.Errorf("%s: a query %q of plugin %q with the format %d", p.Title, q.QueryType, q.PluginVersion, q.Format)
			}
		}
		if len(p.Targets) == 0 {
			t.Errorf("%s asks nothing", p.Title)
		}
		lintInterfaces(t, &p)
		lintLinks(t, &p)
		lintOverrides(t, &p)
	}
}

func lintText(t *testing.T, p *boardtest.Panel) {
	d := &p.FieldConfig.Defaults
	if p.Title == "" || !strings.HasSuffix(p.Description, ".") || d.Unit == "" || d.NoValue == "" {
		t.Errorf("%q: title, description %q, unit %q or text without data %q", p.Title, p.Description, d.Unit, d.NoValue)
	}
	if style := d.Custom.ThresholdsStyle.Mode; p.Type == "timeseries" && (d.Thresholds != nil) != (style != "") {
		t.Errorf("%s: thresholds are drawn as %q, and there are %v", p.Title, style, d.Thresholds)
	}
	if p.Type == "stat" && d.Thresholds == nil {
		t.Errorf("%s has no thresholds", p.Title)
	}
	if d.Thresholds != nil {
		for _, s := range d.Thresholds.Steps { // names of colours suit light and dark
			if !slices.Contains([]string{"green", "yellow", "orange", "red", "blue"}, s.Color) {
				t.Errorf("%s: colour %s", p.Title, s.Color)
			}
		}
	}
}

// lintInterfaces: what is by interface is by monitor too, and says so, since interfaces of
// two monitors may have the same name.
func lintInterfaces(t *testing.T, p *boardtest.Panel) {
	grouped := regexp.MustCompile(`\b(?:by|on|without)\s*\(([^)]*)\)`)
	for _, q := range p.Targets {
		for _, m := range grouped.FindAllStringSubmatch(q.Expr, -1) {
			if labels := strings.Split(m[1], ", "); slices.Contains(labels, "interface") && !slices.Contains(labels, "instance") {
				t.Errorf("%s: interfaces of the same name are added up: %s", p.Title, q.Expr)
			}
		}
		if strings.Contains(q.LegendFormat, "{{interface}}") && !strings.Contains(q.LegendFormat, "{{instance}}") {
			t.Errorf("%s: the legend %q does not say whose interface it is", p.Title, q.LegendFormat)
		}
	}
}

// lintLinks: links lead to boards that are there and use columns that are there.
func lintLinks(t *testing.T, p *boardtest.Panel) {
	links := append(slices.Clone(p.Links), p.FieldConfig.Defaults.Links...)
	for _, l := range links {
		if to, ok := strings.CutPrefix(l.URL, "/d/"); ok {
			uid, query, _ := strings.Cut(to, "?")
			if !slices.Contains(grafana.UIDs(), uid) || !strings.HasPrefix(query, "${__url_time_range}&${__all_variables}") {
				t.Errorf("%s: link to %s", p.Title, l.URL)
			}
		} else if !strings.HasPrefix(l.URL, "https://github.com/rocelens/rocelens/blob/main/docs/") {
			t.Errorf("%s: link to %s", p.Title, l.URL)
		}
		for _, f := range regexp.MustCompile(`__data\.fields\.(\w+)`).FindAllStringSubmatch(l.URL+l.Title, -1) {
			if !slices.Contains(columns(p.Targets[0].RawSQL), f[1]) {
				t.Errorf("%s: a link needs the column %s", p.Title, f[1])
			}
		}
	}
	// Rows of flows and sessions lead to the session board.
	if has := columns(p.Targets[0].RawSQL); p.Type == "table" && (slices.Contains(has, "flow") || slices.Contains(has, "session")) {
		if !slices.ContainsFunc(links, func(l struct{ Title, URL string }) bool { return strings.HasPrefix(l.URL, "/d/rocelens-session?") }) {
			t.Errorf("%s does not lead to sessions", p.Title)
		}
	}
}

// lintOverrides: overrides are of columns that are there.
func lintOverrides(t *testing.T, p *boardtest.Panel) {
	for _, o := range p.FieldConfig.Overrides {
		has := columns(p.Targets[0].RawSQL)
		switch o.Matcher.ID {
		case "byName":
			if !slices.Contains(has, o.Matcher.Options) {
				t.Errorf("%s: an override of %s, not of %q", p.Title, o.Matcher.Options, has)
			}
		case "byRegexp":
			form := regexp.MustCompile("^(?:" + o.Matcher.Options + ")$")
			if !slices.ContainsFunc(has, form.MatchString) {
				t.Errorf("%s: an override of %s, not of %q", p.Title, o.Matcher.Options, has)
			}
		default:
			t.Errorf("%s: an override %s", p.Title, o.Matcher.ID)
		}
	}
}

// columns are the names of those of a query: what is selected first.
func columns(sql string) []string {
	list, _, _ := strings.Cut(strings.TrimPrefix(sql, "SELECT "), "\nFROM")
	var names []string
	args, _ := boardtest.MacroArgs("(" + list + ")")
	for _, a := range args {
		a = strings.TrimSpace(a)
		if _, alias, ok := cutLast(a, " AS "); ok {
			a = alias
		}
		names = append(names, strings.Trim(a, `"`))
	}
	return names
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// lintVariables: what is used is there, and what is there is used.
func lintVariables(t *testing.T, b *boardtest.Board, text string) {
	var have []string
	for _, v := range b.Templating.List {
		have = append(have, v.Name)
		if v.Label == "" || v.Description == "" {
			t.Errorf("$%s has no label or description", v.Name)
		}
		if !strings.Contains(text, "${"+v.Name+"}") && !strings.Contains(text, "${"+v.Name+":") && !strings.Contains(text, "$"+v.Name) {
			t.Errorf("$%s is not used", v.Name)
		}
	}
	builtIn := regexp.MustCompile(`^__`)
	inputs := []string{"DS_ROCELENS_CLICKHOUSE", "DS_ROCELENS_PROMETHEUS", "VAR_DATABASE"}
	for _, m := range boardtest.VariableForm.FindAllStringSubmatch(text, -1) {
		name := m[1] + m[3]
		if name != "" && !builtIn.MatchString(name) && !slices.Contains(have, name) && !slices.Contains(inputs, name) {
			t.Errorf("%s is no variable", m[0])
		}
	}
}

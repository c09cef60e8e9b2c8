package push

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rocelens/rocelens/dashboards/grafana"
)

// dataSource says what becomes of a data source.
func (c *Client) dataSource(ctx context.Context, w Wanted, want grafana.Source) (Step, error) {
	s := Step{Kind: "data source", UID: want.UID, Title: want.Name}
	have, err := c.source(ctx, want.UID)
	if missing(err) {
		s.Action, s.do = Created, func(ctx context.Context) error { return c.makeSource(ctx, newSource(want)) }
		return s, nil
	}
	if err != nil {
		return s, err
	}
	s.Title = c.way.show(have.text("name"))
	if kind := have.text("type"); kind != want.Type {
		s.Action, s.Note = Refused, fmt.Sprintf("is there and has the type %q, not %s: it is not the one of rocelens, and is left alone; delete it, or give it another UID", c.way.show(kind), want.Type)
		return s, nil
	}
	differ, err := differences(have, want)
	if err != nil {
		return s, err
	}
	if have.is("readOnly") {
		if len(differ) > 0 {
			s.Action, s.Note = Kept, "Grafana has it from a file, in which it differs: "+strings.Join(differ, ", ")
		}
		return s, nil
	}
	for name := range want.Secrets {
		if !source(have.object("secureJsonFields")).is(name) {
			differ = append(differ, name)
		}
	}
	slices.Sort(differ)
	switch {
	case len(differ) > 0:
		s.Note = strings.Join(differ, ", ")
	case w.Force && len(want.Secrets) > 0:
		s.Note = strings.Join(slices.Sorted(maps.Keys(want.Secrets)), ", ") + " sent anew"
	default:
		return s, nil
	}
	s.Action, s.do = Updated, func(ctx context.Context) error { return c.changeSource(ctx, want.UID, merged(have, want)) }
	return s, nil
}

// newSource is a data source that Grafana does not have.
func newSource(want grafana.Source) source {
	s := source{"uid": want.UID, "name": want.Name, "type": want.Type, "access": "proxy", "url": want.URL, "jsonData": want.Settings}
	if len(want.Secrets) > 0 {
		s["secureJsonData"] = want.Secrets
	}
	return s
}

// merged is what Grafana has, with what we want in it. Secrets that are not sent it
// keeps. The version makes it refuse if somebody was faster.
func merged(have source, want grafana.Source) source {
	s := source{}
	for _, key := range []string{"name", "user", "database", "basicAuth", "basicAuthUser", "withCredentials", "isDefault", "version"} {
		if v, has := have[key]; has {
			s[key] = v
		}
	}
	settings := maps.Clone(have.object("jsonData"))
	if settings == nil {
		settings = map[string]any{}
	}
	maps.Copy(settings, want.Settings)
	maps.Copy(s, newSource(want))
	if name := have.text("name"); name != "" {
		s["name"] = name // people may call it what they like
	}
	if want.URL == "" {
		s["url"] = have.text("url") // it is in the settings
	}
	s["jsonData"] = settings
	return s
}

// differences are the names of what a data source has otherwise than it should. What it has
// besides is not ours.
func differences(have source, want grafana.Source) ([]string, error) {
	var all []string
	if want.URL != "" && strings.TrimRight(have.text("url"), "/") != strings.TrimRight(want.URL, "/") {
		all = append(all, "url")
	}
	if access := have.text("access"); access != "proxy" {
		all = append(all, "access")
	}
	settings := have.object("jsonData")
	for _, key := range slices.Sorted(maps.Keys(want.Settings)) {
		v, err := asJSON(want.Settings[key])
		if err != nil {
			return nil, err
		}
		if !same(settings[key], v) {
			all = append(all, key)
		}
	}
	return all, nil
}

package query_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/storage/client"
	"github.com/rocelens/rocelens/storage/engine"
	"github.com/rocelens/rocelens/storage/engine/enginetest"
	"github.com/rocelens/rocelens/storage/query"
	"github.com/rocelens/rocelens/storage/schema"
)

// questions are all questions in many forms.
func questions(session *query.Session, flow uint64) map[string]func(context.Context, *query.Store) (any, error) {
	all := map[string]func(context.Context, *query.Store) (any, error){}
	for i, r := range ranges[1:] {
		add := func(what string, ask func(context.Context, *query.Store) (any, error)) {
			all[fmt.Sprint(what, " ", i)] = ask
		}
		for by := range query.ByCE + 1 {
			add(fmt.Sprint("worst flows by ", by), func(ctx context.Context, s *query.Store) (any, error) {
				return s.WorstFlows(ctx, query.WorstFlows{Range: r, By: by})
			})
		}
		for by := range query.PerTap + 1 {
			add(fmt.Sprint("percentiles by ", by), func(ctx context.Context, s *query.Store) (any, error) {
				return s.Percentiles(ctx, query.Percentiles{Range: r, By: by})
			})
			if by != query.PerDSCP && by != query.PerPriority {
				add(fmt.Sprint("totals by ", by), func(ctx context.Context, s *query.Store) (any, error) {
					return s.Totals(ctx, query.Totals{Range: r, By: by})
				})
			}
		}
		add("flow", func(ctx context.Context, s *query.Store) (any, error) {
			return s.FlowSeries(ctx, query.FlowSeries{Range: r, Flow: flow})
		})
		add("storms", func(ctx context.Context, s *query.Store) (any, error) {
			return s.Storms(ctx, query.Storms{Range: r, All: true})
		})
	}
	all["events"] = func(ctx context.Context, s *query.Store) (any, error) { return s.Events(ctx, query.Events{}) }
	all["findings"] = func(ctx context.Context, s *query.Store) (any, error) { return s.Findings(ctx, query.Findings{}) }
	all["sessions"] = func(ctx context.Context, s *query.Store) (any, error) {
		return s.Sessions(ctx, query.Sessions{QPN: session.A.QPN, HasQPN: true})
	}
	all["story"] = func(ctx context.Context, s *query.Store) (any, error) { return s.Story(ctx, session, 0) }
	return all
}

// TestDistributed: two probes write to two engines, and the answers from tables
// that are Distributed over both are those from one that has all rows.
func TestDistributed(t *testing.T) {
	var shards [2]*made
	var hosts []string
	var p engine.Endpoint
	var credentials []byte
	for i := range shards {
		dir := t.TempDir()
		if i > 0 { // one user and password for all, as servers of a cluster have
			if err := os.WriteFile(filepath.Join(dir, "credentials"), credentials, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		e := enginetest.Start(t, dir, true)
		var err error
		if credentials, err = os.ReadFile(e.CredentialsFile()); err != nil {
			t.Fatal(err)
		}
		p = e.Endpoint()
		shards[i] = open(t, client.FromEngine(p), "shard")
		hosts = append(hosts, p.Native)
	}
	whole := open(t, shards[0].cfg, "whole")
	spread := connect(t, shards[0].cfg, "spread")
	spread.exec(t, spread.o.CreateDatabase())
	for _, table := range schema.Tables() {
		spread.exec(t, "CREATE TABLE "+spread.o.Name(table)+" AS remote('"+strings.Join(hosts, ",")+"', 'shard', '"+table.Name+"', '"+p.User+"', '"+p.Password+"')")
	}
	loss, storm, cnp := analyse(t, "random_loss"), analyse(t, "pfc_storm"), analyse(t, "incast")
	for i, probe := range []string{"leaf-1", "leaf-2"} {
		k := makeKnown(probe, uint64(i))
		for _, m := range []*made{shards[i], whole} {
			k.load(t, m)
			loss.origin.Probe, storm.origin.Probe = probe, probe
			loss.load(t, m)
			storm.load(t, m)
		}
	}
	cnp.load(t, shards[1])
	cnp.load(t, whole)

	id := loss.sessions[0].ID
	found, err := whole.Sessions(t.Context(), query.Sessions{ID: id})
	if err != nil || len(found.Rows) != 2 {
		t.Fatal(found, err)
	}
	worst, err := whole.WorstFlows(t.Context(), query.WorstFlows{Range: hourRange})
	if err != nil || len(worst.Rows) == 0 {
		t.Fatal(worst, err)
	}
	for what, ask := range questions(&found.Rows[0], worst.Rows[0].Flow) {
		want, err := ask(t.Context(), whole.Store)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		got, err := ask(t.Context(), spread.Store)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-all rows in one +spread):\n%s", what, diff)
		}
	}
}

package grafana_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/dashboards/grafana/boardtest"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/finding"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/scenario"
	"github.com/rocelens/rocelens/pipeline/scenario/scenariotest"
	"github.com/rocelens/rocelens/storage"
	"github.com/rocelens/rocelens/storage/dsn"
	"github.com/rocelens/rocelens/storage/engine"
	"github.com/rocelens/rocelens/storage/engine/enginetest"
	"github.com/rocelens/rocelens/storage/load"
	"github.com/rocelens/rocelens/storage/schema"
)

func TestMain(m *testing.M) { os.Exit(enginetest.Main(m)) }

// lab is a real ClickHouse with scenarios in it, as analyze --store loads them.
type lab struct {
	store *storage.Store
	at    engine.Endpoint
}

func newLab(t testing.TB) *lab {
	t.Helper()
	l := &lab{at: enginetest.Start(t, "", false).Endpoint()}
	d, err := dsn.Parse("http://" + l.at.User + "@" + l.at.Addr + "/rocelens")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Credentials(func(name string) string {
		if name == dsn.PasswordEnv {
			return l.at.Password
		}
		return ""
	}); err != nil {
		t.Fatal(err)
	}
	if l.store, err = storage.Open(t.Context(), d, engine.DefaultConfig(), nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.store.Close(context.Background()) })
	if _, err := l.store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l
}

// analyse runs the pipeline over a capture.
func analyse(t testing.TB, path string, sink func([]record.FlowInterval), finish func(*pipeline.Result, []capture.Input)) {
	t.Helper()
	src, err := capture.OpenAll([]string{path}, capture.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	cfg := pipeline.DefaultConfig()
	cfg.Workers = 1
	cfg.Track.Intervals.Length = int64(time.Second)
	cfg.Track.Intervals.Sink = sink
	result, err := pipeline.Run(t.Context(), src, cfg)
	if err != nil {
		t.Fatal(err)
	}
	finish(result, src.Inputs())
	if err := src.Close(); err != nil {
		t.Fatal(err)
	}
}

// load puts a scenario into the store, at a tap of its name.
func (l *lab) load(t testing.TB, name string) *scenario.Truth {
	t.Helper()
	return l.loadAs(t, name, name)
}

// loadAs puts it in at another tap.
func (l *lab) loadAs(t testing.TB, name, tap string) *scenario.Truth {
	t.Helper()
	path, truth := scenariotest.File(t, name)
	origin := schema.Origin{Probe: "probe of " + tap, Run: "run of " + tap, Inputs: []schema.Input{{Tap: tap}}}
	into, err := load.Begin(t.Context(), l.store, load.DefaultConfig(), origin, schema.Run{Tool: "test"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	analyse(t, path, into.Intervals, func(r *pipeline.Result, inputs []capture.Input) {
		found := finding.Find(&finding.Facts{Inputs: inputs, Result: r})
		err := into.Result(r, inputs, found)
		_, e := into.Finish()
		if err := errors.Join(err, e); err != nil {
			t.Fatal(err)
		}
	})
	return truth
}

type row = boardtest.Row

// ask asks the store, and fails where that says no.
func (l *lab) ask(t testing.TB, sql string) *boardtest.Answer { return boardtest.Ask(t, l.at, sql) }

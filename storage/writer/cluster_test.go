package writer_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/storage/client"
	"github.com/rocelens/rocelens/storage/engine/enginetest"
	"github.com/rocelens/rocelens/storage/schema"
	"github.com/rocelens/rocelens/storage/storetest"
	"github.com/rocelens/rocelens/storage/writer"
)

// clusterTables makes the tables of a cluster on one of its servers: what the
// golden statements say, but for ON CLUSTER and replication, which are not in the
// library.
func clusterTables(t *testing.T, c *client.Client, o *schema.Options) {
	t.Helper()
	alone := strings.NewReplacer(o.OnCluster(), "", "ENGINE = Replicated", "ENGINE = ", " replicated_deduplication_window", " non_replicated_deduplication_window")
	statements := []string{o.CreateDatabase()}
	for _, table := range schema.Tables() {
		statements = append(statements, o.Create(table)...)
	}
	for _, s := range statements {
		if err := c.Exec(t.Context(), alone.Replace(s)); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// again sends each block twice, as if the first answer had got lost.
type again struct{ *client.Client }

func (a again) Insert(ctx context.Context, o *schema.Options, t *schema.Table, token string, block []byte) error {
	if err := a.Client.Insert(ctx, o, t, token, block); err != nil {
		return err
	}
	return a.Client.Insert(ctx, o, t, token, block)
}

// TestCluster: two probes write through one server each of a cluster of two
// shards, all blocks twice, and one shard is away for a while. Both servers answer with the
// union, each row is on one shard, and both flows of a session on the same.
func TestCluster(t *testing.T) {
	engines, ways := enginetest.Cluster(t, "rails", 2)
	o := schema.DefaultOptions()
	o.Cluster = "rails"
	var clients []*client.Client
	for _, e := range engines {
		c := connect(t, e.Endpoint(), false)
		clusterTables(t, c, &o)
		clients = append(clients, c)
	}
	var packets, rows uint64
	var writers []*writer.Writer
	list := make([]record.FlowInterval, 1000)
	for i, c := range clients {
		origin := storetest.Origin
		origin.Probe, origin.Run = fmt.Sprintf("leaf-%d", i+1), fmt.Sprintf("%032x", i+1)
		cfg := config()
		cfg.Run, cfg.MaxRows = origin.Run, 2500
		w, err := writer.New(cfg, o, again{c}, writer.NewMemory(1<<30, true), nil)
		if err != nil {
			t.Fatal(err)
		}
		w.Start(&origin)
		writers = append(writers, w)
		flows := storetest.NewFlows(10_000_000, 200+i*100)
		for n := range 10 {
			ways[1].Refuse(n > 3 && n < 7)
			flows.Next(list)
			for j := range list {
				packets += list[j].Packets
			}
			rows += uint64(len(list))
			sessions := []schema.Session{{Session: &record.Session{ID: fmt.Sprintf("s%d-%d", i, n)}, Final: true}}
			findings := []schema.Finding{{Finding: &record.Finding{Code: "lossy", Title: fmt.Sprint(n)}}}
			if err := w.Intervals(t.Context(), &origin, list); err != nil {
				t.Fatal(err)
			}
			if err := w.Sessions(t.Context(), &origin, sessions); err != nil {
				t.Fatal(err)
			}
			if err := w.Findings(t.Context(), &origin, findings); err != nil {
				t.Fatal(err)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	failures := uint64(0)
	for _, w := range writers {
		counts, err := closed(t, w)
		if err != nil {
			t.Fatal(counts, err)
		}
		failures += counts.Total().Failures
	}
	if failures == 0 {
		t.Error("the shard that was away was not missed")
	}
	for i, c := range clients {
		for sql, want := range map[string]uint64{
			"SELECT count() FROM rocelens.flow_intervals":                                            rows,
			"SELECT sum(packets) FROM rocelens.flow_intervals":                                       packets,
			"SELECT sum(packets) FROM rocelens.flow_1m":                                              packets,
			"SELECT sum(packets) FROM rocelens.flow_1h":                                              packets,
			"SELECT uniqExact(probe) FROM rocelens.flow_intervals":                                   2,
			"SELECT count() FROM rocelens.sessions":                                                  20,
			"SELECT count() FROM rocelens.findings WHERE probe = 'leaf-2'":                           10,
			"SELECT toUInt64(count() > 0) FROM rocelens.flow_intervals_local":                        1,
			"SELECT toUInt64(count() < " + fmt.Sprint(rows) + ") FROM rocelens.flow_intervals_local": 1,
			// A shard has both flows of a session, and all of them.
			"SELECT max(n) FROM (SELECT uniqExact(_shard_num) AS n FROM rocelens.flow_intervals GROUP BY least(src, dst), greatest(src, dst))":                               1,
			"SELECT uniqExact(_shard_num) FROM rocelens.flow_intervals":                                                                                                      2,
			"SELECT toUInt64(max(n)) FROM (SELECT uniqExact(flow) AS n FROM rocelens.flow_intervals_local GROUP BY least(src, dst), greatest(src, dst), intDiv(dst_qpn, 2))": 2,
		} {
			if got := sum(t, c, sql); got != want {
				t.Errorf("server %d: %s: %d, want %d", i, sql, got, want)
			}
		}
	}
	if a, b := sum(t, clients[0], "SELECT count() FROM rocelens.flow_intervals_local"), sum(t, clients[1], "SELECT count() FROM rocelens.flow_intervals_local"); a+b != rows {
		t.Errorf("%d and %d rows on the shards, %d in all", a, b, rows)
	}
}

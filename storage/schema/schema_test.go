package schema_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/sketch"
	"github.com/rocelens/rocelens/storage/engine/enginetest"
	"github.com/rocelens/rocelens/storage/schema"
)

var update = flag.Bool("update", false, "write docs/schema.md and the statements in testdata anew; read them before keeping them")

func TestMain(m *testing.M) { os.Exit(enginetest.Main(m)) }

// golden holds text against a file.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-as written +as made); -update writes it:\n%s", path, diff)
	}
}

func TestMarkdown(t *testing.T) {
	golden(t, filepath.Join(capturetest.Root(t), "docs", "schema.md"), schema.Markdown())
}

// statements are those that make all tables.
func statements(o schema.Options) []string {
	all := []string{o.CreateDatabase()}
	for _, table := range schema.Tables() {
		all = append(all, o.Create(table)...)
	}
	return all
}

// TestStatements holds the DDL against testdata: of a single server, and of a
// cluster, where no server of the tests can run it.
func TestStatements(t *testing.T) {
	o := schema.DefaultOptions()
	golden(t, filepath.Join("testdata", "single.sql"), strings.Join(statements(o), ";\n\n")+";\n")
	o.Cluster = "rails"
	golden(t, filepath.Join("testdata", "cluster.sql"), strings.Join(statements(o), ";\n\n")+";\n")
}

// TestCluster: on a cluster every statement runs on all servers, every table
// with rows is replicated, and every one that is used spreads rows over it.
func TestCluster(t *testing.T) {
	o := schema.DefaultOptions()
	o.Cluster = "rails"
	for _, s := range statements(o) {
		first, rest, _ := strings.Cut(s, "\n")
		if !strings.Contains(first, " ON CLUSTER `rails`") {
			t.Errorf("not on all servers: %s", first)
		}
		if strings.HasPrefix(first, "CREATE TABLE") && !strings.Contains(rest, "ENGINE = Replicated") && !strings.Contains(rest, "ENGINE = Distributed('rails'") {
			t.Errorf("neither replicated nor distributed: %s", first)
		}
	}
}

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		what   string
		change func(*schema.Options)
		want   string // in the error, "" for none
	}{
		{"defaults", func(*schema.Options) {}, ""},
		{"a cluster", func(o *schema.Options) { o.Cluster = "rail_1" }, ""},
		{"for ever", func(o *schema.Options) { delete(o.Keep, schema.KeepHours) }, ""},
		{"an injection", func(o *schema.Options) { o.Database = "a`; DROP DATABASE b; --" }, "use letters"},
		{"no database", func(o *schema.Options) { o.Database = "" }, "use letters"},
		{"a quoted cluster", func(o *schema.Options) { o.Cluster = "a'b" }, "use letters"},
		{"a digit first", func(o *schema.Options) { o.Database = "1a" }, "use letters"},
		{"a long name", func(o *schema.Options) { o.Database = strings.Repeat("a", 65) }, "at most 64"},
		{"a minute", func(o *schema.Options) { o.Keep[schema.KeepStats] = time.Minute }, "whole hours"},
		{"an hour and a half", func(o *schema.Options) { o.Keep[schema.KeepStats] = 90 * time.Minute }, "whole hours"},
		{"a century", func(o *schema.Options) { o.Keep[schema.KeepStats] = 24 * 365 * 100 * time.Hour }, "whole hours"},
		{"an unknown class", func(o *schema.Options) { o.Keep["interval"] = time.Hour }, `no class of data "interval"`},
		{"no window", func(o *schema.Options) { o.Window = 0 }, "window"},
	} {
		o := schema.DefaultOptions()
		c.change(&o)
		err := o.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
	}
}

// TestDescriptions: names are unique and of one style, and everything is
// explained and kept for a known time.
func TestDescriptions(t *testing.T) {
	names := map[string]bool{}
	for _, table := range schema.Tables() {
		if names[table.Name] || table.Doc == "" || len(table.Questions) == 0 || len(table.Order) == 0 || table.Shard == "" {
			t.Errorf("table %s: there twice, or something is missing", table.Name)
		}
		names[table.Name] = true
		columns := map[string]bool{}
		for _, c := range table.Columns {
			if columns[c.Name] || c.Doc == "" || c.Type == "" || c.Codec == "" || strings.Trim(c.Name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
				t.Errorf("%s.%s: there twice, not in lower case, or something is missing", table.Name, c.Name)
			}
			columns[c.Name] = true
		}
		for _, must := range []string{"probe", "tap", "run", "loaded"} {
			if !columns[must] {
				t.Errorf("%s has no column %s", table.Name, must)
			}
		}
	}
}

// TestNothingForgotten gives every number of a record a value of its own and
// looks for it in the row. What is not there is named here with the reason.
func TestNothingForgotten(t *testing.T) {
	origin := schema.Origin{}
	t.Run("FlowInterval", func(t *testing.T) {
		var r record.FlowInterval
		want := distinct(reflect.ValueOf(&r).Elem(), "", []string{
			".Kind",           // flow and version say it
			".First", ".Last", // within the interval
			".Input", ".Interface", // by their names
			".Tagged",
			".PeerQPN", // src_qpn, unless there is a SrcQPN
			".HasVNI", ".HasSrcQPN", ".HasPeer",
		})
		r.HasVNI, r.HasSrcQPN = true, true
		r.DSCP, r.Priority = 61, 7
		b := schema.FlowIntervals().Batch()
		b.Append(&origin, []record.FlowInterval{r})
		held(t, b, want)
	})
	t.Run("Direction", func(t *testing.T) {
		s := record.Session{}
		s.AToB.Congestion = new(record.Congestion)
		want := distinct(reflect.ValueOf(&s.AToB).Elem(), "", []string{
			".Last", ".CNPDSCP", ".Priorities", ".PKeys", ".Spent", ".Marks", ".SourcePort", ".MigReq",
			".HeadersCut", // a finding says it
			".Congestion.Marks", ".Congestion.CNPs", ".Congestion.Spacing", ".Congestion.Pacing", ".Congestion.Reaction", ".Congestion.Depth",
		})
		b := schema.Sessions().Batch()
		b.Append(&origin, []schema.Session{{Session: &s}})
		held(t, b, want)
	})
}

// distinct sets every number under v, but for those skipped, to one that no
// other has, and every histogram to one value that no other has. It returns the
// numbers, or for histograms the buckets, as they are encoded, by their path.
func distinct(v reflect.Value, path string, skip []string) map[string][]byte {
	n := uint64(0x0101_0101_0100_0000) // no such bytes come about by chance
	bucket := int64(1000)
	want := map[string][]byte{}
	var walk func(v reflect.Value, path string)
	walk = func(v reflect.Value, path string) {
		if slices.Contains(skip, path) {
			return
		}
		if h, ok := v.Addr().Interface().(*sketch.Histogram); ok {
			bucket *= 2
			h.Add(bucket)
			b := sketch.Bucket(bucket)
			want[path] = []byte{byte(b), byte(b >> 8)}
			return
		}
		switch v.Kind() {
		case reflect.Uint64, reflect.Int64:
			n++
			if v.CanUint() {
				v.SetUint(n)
			} else {
				v.SetInt(int64(n))
			}
			want[path] = little(n, 8)
		case reflect.Uint32:
			n++
			v.SetUint(n & 0xffffff)
			want[path] = little(n&0xffffff, 4)
		case reflect.Struct:
			for i := range v.NumField() {
				walk(v.Field(i), path+"."+v.Type().Field(i).Name)
			}
		case reflect.Array:
			for i := range v.Len() {
				walk(v.Index(i), fmt.Sprintf("%s[%d]", path, i))
			}
		case reflect.Pointer:
			if !v.IsNil() {
				walk(v.Elem(), path)
			}
		}
	}
	walk(v, path)
	return want
}

func little(n uint64, size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(n >> (8 * i))
	}
	return b
}

// held looks for values in an encoded row. NAKs and tries are summed up by
// column, so what counts there is the map.
func held[R any](t *testing.T, b *schema.Batch[R], want map[string][]byte) {
	t.Helper()
	row, err := b.Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(want) < 40 {
		t.Errorf("only %d numbers were looked for", len(want))
	}
	for path, bytes := range want {
		// An address is big-endian.
		if turned := slices.Clone(bytes); !strings.Contains(string(row), string(bytes)) {
			slices.Reverse(turned)
			if !strings.Contains(string(row), string(turned)) {
				t.Errorf("%s is nowhere in the row", path)
			}
		}
	}
}

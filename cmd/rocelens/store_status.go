package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rocelens/rocelens/pipeline/words"
	"github.com/rocelens/rocelens/storage"
	"github.com/rocelens/rocelens/storage/dsn"
	"github.com/rocelens/rocelens/storage/engine"
	"github.com/rocelens/rocelens/storage/query"
)

type storeStatusOptions struct {
	streams
	dsn     *dsn.DSN
	format  string
	timeout time.Duration
}

func newStoreStatus(io streams) *cobra.Command {
	o := &storeStatusOptions{streams: io}
	cmd := &cobra.Command{
		Use:   "status DSN",
		Short: "Say what is in a store",
		Long: `status says what is in a store: versions, tables with rows and bytes and the times of
their rows, the probes that wrote them, and rows that could not be written.

DSN is as for store migrate. An embedded store must not be in use by another program:
ask a running one by http://, see docs/store.md.

Exit codes: 0 done; 1 wrong usage, or the store can't be asked.`,
		Example: `  rocelens store status embedded:/var/lib/rocelens
  rocelens store status --format json clickhouse://rocelens@ch1:9000 | jq .tables`,
		Args: oneDSN,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.dsn, err = parseDSN(args[0]); err != nil {
				return err
			}
			return o.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.format, "format", "text", "`FORM`: text, or json for scripts")
	f.DurationVar(&o.timeout, "timeout", query.DefaultTimeout, "the longest that an answer may take, `DUR` as in 30s")
	completeValues(cmd, "format", reportFormats)
	return cmd
}

// askStore opens a store that exists and asks it.
func askStore(ctx context.Context, io streams, d *dsn.DSN, owner string, timeout time.Duration, ask func(*query.Store) error) (err error) {
	if timeout < time.Second {
		return fmt.Errorf("--timeout %v: use 1s or more", timeout)
	}
	if d.Dir != "" {
		if !embeddedExists(d.Dir) {
			return fmt.Errorf("there is no store in %s: rocelens store migrate embedded:%s makes one", d.Dir, d.Dir)
		}
	}
	cfg := engine.DefaultConfig()
	cfg.Owner = owner
	s, err := storage.Open(ctx, d, cfg, slog.New(slog.NewTextHandler(io.err, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(ctx)) }()
	return ask(query.New(s.Client, s.Options, timeout))
}

func (o *storeStatusOptions) run(ctx context.Context) error {
	if err := textOrJSON(o.format); err != nil {
		return err
	}
	return askStore(ctx, o.streams, o.dsn, "rocelens store status", o.timeout, func(s *query.Store) error {
		st, err := s.Status(ctx)
		if err != nil {
			return err
		}
		if o.format == "json" {
			return writeJSON(o.out, st)
		}
		return statusText(o.out, st)
	})
}

func textOrJSON(format string) error {
	if format != "text" && format != "json" {
		return fmt.Errorf("unknown --format %q: use text or json", format)
	}
	return nil
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

func statusText(w io.Writer, st *query.Status) error {
	var b strings.Builder
	fmt.Fprintf(&b, "database %s", st.Database)
	if st.Cluster != "" {
		fmt.Fprintf(&b, " on cluster %s", st.Cluster)
	}
	fmt.Fprintf(&b, ", ClickHouse %s, ", st.Engine)
	switch {
	case st.Tables == nil:
		b.WriteString("no tables: rocelens store migrate makes them\n")
		_, err := io.WriteString(w, b.String())
		return err
	case st.Schema < st.Known:
		fmt.Fprintf(&b, "schema %d: rocelens store migrate brings it to %d\n", st.Schema, st.Known)
	case st.Schema > st.Known:
		fmt.Fprintf(&b, "schema %d, of a newer rocelens: this one knows %d\n", st.Schema, st.Known)
	default:
		fmt.Fprintf(&b, "schema %d\n", st.Schema)
	}
	t := textTable{head: []string{"table", ">rows", ">bytes", ">a row", ">parts", "oldest", "newest"}}
	for _, r := range st.Tables {
		row := []string{r.Table, words.Count(r.Rows), words.Scaled(float64(r.Bytes), "B"), "", words.Count(r.Parts), "", ""}
		if r.Rows > 0 {
			row[3], row[5], row[6] = fmt.Sprintf("%.1f B", r.BytesPerRow), second(r.Oldest), second(r.Newest)
		}
		t.add(row...)
	}
	b.WriteByte('\n')
	t.write(&b)
	if len(st.Probes) > 0 {
		t = textTable{head: []string{"probe", ">runs", ">unfinished", ">rows", ">dropped", "last seen"}}
		unfinished := uint64(0)
		for _, p := range st.Probes {
			unfinished += p.Open
			t.add(p.Probe, words.Count(p.Runs), words.Count(p.Open), words.Count(p.Rows), words.Count(p.Dropped), second(p.LastSeen))
		}
		b.WriteByte('\n')
		t.write(&b)
		if unfinished > 0 {
			b.WriteString("unfinished runs go on, or were broken off: what they wrote counts in answers until they are loaded again\n")
		}
	}
	if len(st.Dropped) > 0 {
		b.WriteString("\nrows that could not be written:\n")
		t = textTable{head: []string{"table", ">rows"}}
		for _, d := range st.Dropped {
			t.add(d.Table, words.Count(d.Rows))
		}
		t.write(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

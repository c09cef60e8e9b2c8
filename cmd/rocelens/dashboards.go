package main

import (
	"errors"
	"fmt"
	"path"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rocelens/rocelens/dashboards/grafana"
	"github.com/rocelens/rocelens/storage/dsn"
)

func newDashboards(io streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dashboards",
		Short: "Grafana boards and alerts of what is in the store and in Prometheus",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newDashboardsExport(io), newDashboardsPush(io))
	return cmd
}

// addDataSources adds the flags of where Grafana finds what boards show.
func addDataSources(f *pflag.FlagSet, store *string, e *grafana.Export) {
	f.StringVar(store, "store", "clickhouse://127.0.0.1:9000/rocelens", "the ClickHouse server that has the records, as Grafana reaches it, `DSN`")
	f.StringVar(&e.Prometheus, "prometheus", "http://127.0.0.1:9090", "the Prometheus that scrapes rocelens monitor, as Grafana reaches it, `URL`")
}

type dashboardsExportOptions struct {
	streams
	store  string
	export grafana.Export
}

func newDashboardsExport(io streams) *cobra.Command {
	o := &dashboardsExportOptions{streams: io}
	cmd := &cobra.Command{
		Use:   "export DIR",
		Short: "Write the boards, their data sources and alerts for Grafana to read",
		Long: `export writes Grafana's boards into DIR/dashboards, and into DIR/provisioning what makes
Grafana load them and their data sources: copy or link what is in its folders into
those of Grafana's provisioning directory. Files of an earlier export are replaced.
In DIR/alerts are rules for Prometheus, and the same for Grafana: load one of them
(docs/alerts.md).

No password is written. Grafana takes it from ` + dsn.PasswordEnv + ` in its own
environment, and the user from ` + dsn.UserEnv + ` unless --store has one. See docs/dashboards.md.

Exit codes: 0 written; 1 wrong usage, or DIR can't be written.`,
		Example: `  rocelens dashboards export --store 'http://grafana@127.0.0.1:8123' /etc/rocelens/grafana
  rocelens dashboards export --prometheus https://prometheus:9090 --seen-as /boards boards`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("dashboards export needs one directory, as in rocelens dashboards export boards")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return o.run(args[0]) },
	}
	f := cmd.Flags()
	addDataSources(f, &o.store, &o.export)
	f.StringVar(&o.export.Seen, "seen-as", "", "where Grafana sees DIR, if elsewhere: in a container, say, `PATH`")
	return cmd
}

func (o *dashboardsExportOptions) run(dir string) (err error) {
	if o.export.Store, err = dsn.Parse(o.store); err != nil {
		return err
	}
	if o.export.Seen != "" && !path.IsAbs(o.export.Seen) {
		return fmt.Errorf("--seen-as %s: use an absolute path", o.export.Seen)
	}
	written, err := o.export.Write(dir)
	for _, name := range written {
		if _, e := fmt.Fprintln(o.out, name); e != nil {
			return errors.Join(err, e)
		}
	}
	return err
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/rocelens/rocelens/dashboards/grafana"
	"github.com/rocelens/rocelens/dashboards/grafana/push"
	"github.com/rocelens/rocelens/storage/dsn"
)

type dashboardsPushOptions struct {
	streams
	cfg             push.Config
	want            push.Wanted
	export          grafana.Export
	store           string
	tokenFile       string
	dryRun, verbose bool
}

func newDashboardsPush(io streams) *cobra.Command {
	o := &dashboardsPushOptions{streams: io, cfg: push.DefaultConfig()}
	cmd := &cobra.Command{
		Use:   "push --grafana URL",
		Short: "Put the boards and their data sources into a Grafana that runs",
		Long: `push puts the boards into a Grafana that runs, with their folder and their two data
sources. What is there already as it should be is left alone, so that a second push
changes nothing. Everything is found by its UID, and nothing else is touched.

The token is that of a service account with the role Admin, in a file or in
` + push.TokenEnv + `. Users with passwords are not taken.

Boards that somebody changed or moved in Grafana are left alone: push then changes
nothing at all, says who it was, and fails. --force overwrites them. A data source
that Grafana has from a file is never changed.

User and password of ClickHouse are those of --store, ` + dsn.UserEnv + `,
` + dsn.PasswordEnv + ` and ` + dsn.PasswordFileEnv + `. Grafana keeps the
password encrypted and shows it to nobody: a new one is sent with --force. See
docs/dashboards.md.

Exit codes: 0 all is as it should be; 1 wrong usage, or Grafana can't be asked or
refuses something.`,
		Example: `  rocelens dashboards push --grafana http://127.0.0.1:3000 --token-file token --dry-run
  rocelens dashboards push --grafana https://host/grafana/ --token-file token --store 'clickhouse://grafana@ch1' --prometheus http://prom:9090`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.StringVar(&o.cfg.URL, "grafana", "", "where Grafana is, with the path that it is under, `URL`")
	f.StringVar(&o.tokenFile, "token-file", "", "take the token from `FILE`")
	f.StringVar(&o.cfg.CAFile, "ca-file", "", "trust the certificates in `FILE` as well as the system's")
	f.StringVar(&o.want.Folder, "folder", grafana.FolderUID, "put the boards into the folder with this `UID`; only the default is made")
	addDataSources(f, &o.store, &o.export)
	f.BoolVar(&o.dryRun, "dry-run", false, "say what would be done, and change nothing")
	f.BoolVar(&o.want.Force, "force", false, "overwrite boards that were changed in Grafana, move them back, and send passwords anew")
	f.DurationVar(&o.cfg.Timeout, "timeout", o.cfg.Timeout, "the longest that an answer, or the token, may take, `DUR` as in 30s")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "say each request")
	return cmd
}

// token is that of the file, or of the environment. A file may be a pipe, into which nobody writes.
func (o *dashboardsPushOptions) token(ctx context.Context) (dsn.Secret, error) {
	if o.tokenFile == "" {
		return dsn.NewSecret(os.Getenv(push.TokenEnv)), nil
	}
	type result struct {
		token dsn.Secret
		err   error
	}
	read := make(chan result, 1)
	go func() {
		t, err := dsn.ReadSecret(o.tokenFile)
		read <- result{t, err}
	}()
	limit := time.NewTimer(o.cfg.Timeout)
	defer limit.Stop()
	select {
	case r := <-read:
		if r.err != nil {
			return r.token, fmt.Errorf("the token: %w", r.err)
		}
		return r.token, nil
	case <-limit.C:
		return dsn.Secret{}, fmt.Errorf("the token: %s gave none within %v (--timeout)", o.tokenFile, o.cfg.Timeout)
	case <-ctx.Done():
		return dsn.Secret{}, orInterrupted(ctx.Err(), "nothing was changed")
	}
}

func (o *dashboardsPushOptions) run(ctx context.Context) (err error) {
	if o.cfg.URL == "" {
		return errors.New("dashboards push needs to know where Grafana is: --grafana http://HOST:3000")
	}
	if o.cfg.Timeout < time.Second {
		return fmt.Errorf("--timeout %v: use 1s or more", o.cfg.Timeout)
	}
	if o.export.Store, err = parseDSN(o.store); err != nil {
		return err
	}
	if o.cfg.Token, err = o.token(ctx); err != nil {
		return err
	}
	o.cfg.Agent = "rocelens/" + toolVersion()
	if o.verbose {
		o.cfg.Log = func(line string) { fmt.Fprintln(o.err, line) }
	}
	c, err := push.New(o.cfg)
	if err != nil {
		return err
	}
	defer c.Close()
	o.want.Export = &o.export
	plan, err := c.Plan(ctx, o.want)
	if err != nil {
		return orInterrupted(err, "nothing was changed")
	}
	if plan.Old() {
		fmt.Fprintf(o.err, "Grafana %s is older than %s: boards may show errors\n", plan.Grafana, grafana.GrafanaVersion)
	}
	if o.dryRun {
		for _, s := range plan.Steps {
			if err := o.say(s); err != nil {
				return err
			}
		}
	}
	if refused := plan.Refused(); len(refused) > 0 {
		var all []error
		for _, r := range refused {
			all = append(all, &codeError{exitFailed, r.Error()})
		}
		return errors.Join(append(all, &codeError{exitFailed, "nothing was changed in Grafana"})...)
	}
	if !o.dryRun {
		if err := plan.Apply(ctx, o.say); err != nil {
			return orInterrupted(err, "what is named above was done; push again for the rest")
		}
	}
	return o.sum(plan, c)
}

// orInterrupted is an error, or if Ctrl-C is behind it, how far it came.
func orInterrupted(err error, state string) error {
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted: " + state)
	}
	return err
}

// word says what becomes of something, or what would.
func (o *dashboardsPushOptions) word(a push.Action) string {
	switch a {
	case push.Created:
		return o.tense("created", "would create")
	case push.Updated:
		return o.tense("updated", "would update")
	case push.Kept:
		return o.tense("kept", "would keep")
	case push.Refused:
		return o.tense("refused", "would refuse")
	}
	return "unchanged"
}

func (o *dashboardsPushOptions) tense(did, would string) string {
	if o.dryRun {
		return would
	}
	return did
}

func (o *dashboardsPushOptions) say(s push.Step) error {
	line := fmt.Sprintf("%s %s %s", o.word(s.Action), s.Kind, s.UID)
	if s.Title != "" {
		line += " (" + s.Title + ")"
	}
	if s.Note != "" && s.Action != push.Refused { // that is an error, and told as one
		line += ": " + s.Note
	}
	_, err := fmt.Fprintln(o.out, line)
	return err
}

// sum says how much of it was done, and where to look.
func (o *dashboardsPushOptions) sum(plan *push.Plan, c *push.Client) error {
	number := map[push.Action]int{}
	for _, s := range plan.Steps {
		number[s.Action]++
	}
	text := ""
	for _, a := range []push.Action{push.Created, push.Updated, push.Kept, push.Unchanged} {
		if n := number[a]; n > 0 {
			text += fmt.Sprintf(", %s %d", o.word(a), n)
		}
	}
	if number[push.Unchanged] == len(plan.Steps) {
		text = ", unchanged: Grafana has all of it"
	}
	_, err := fmt.Fprintf(o.out, "%s; %s\n", text[2:], c.URL("d/"+grafana.OverviewUID))
	return err
}

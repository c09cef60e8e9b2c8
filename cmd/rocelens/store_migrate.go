package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rocelens/rocelens/storage"
	"github.com/rocelens/rocelens/storage/dsn"
	"github.com/rocelens/rocelens/storage/engine"
	"github.com/rocelens/rocelens/storage/migrate"
	"github.com/rocelens/rocelens/storage/schema"
)

type storeMigrateOptions struct {
	streams
	dsn    *dsn.DSN
	dryRun bool
	keep   keepFlag
}

func newStoreMigrate(io streams) *cobra.Command {
	o := &storeMigrateOptions{streams: io}
	cmd := &cobra.Command{
		Use:   "migrate DSN",
		Short: "Bring the tables of a store up to date",
		Long: `migrate makes the tables of a store, or brings those of an older rocelens up to date.
It can be run again, and by several at once. Rows stay. Each statement is printed as
it was run; with --dry-run nothing is changed, and the output is SQL for you to run.

DSN is clickhouse://USER@HOST:9000/DATABASE, http://HOST:8123, https://HOST:8443 or
embedded:DIR. It may end in ?cluster=NAME&secure=true. The password comes from
` + dsn.PasswordEnv + `, from the file that ` + dsn.PasswordFileEnv + ` or
?password_file=FILE names, or from the DSN, where others may see it. See docs/store.md.

Exit codes: 0 up to date; 1 wrong usage, the store can't be reached, or its tables are
not what this rocelens can change: those of a newer one, say.`,
		Example: `  rocelens store migrate embedded:/var/lib/rocelens
  rocelens store migrate --dry-run 'clickhouse://rocelens@ch1:9000/rocelens?cluster=main'
  rocelens store migrate --keep intervals=14d --keep hours=forever http://ch1:8123`,
		Args: oneDSN,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.dsn, err = parseDSN(args[0]); err != nil {
				return err
			}
			return o.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.dryRun, "dry-run", false, "print the statements and change nothing")
	f.Var(&o.keep, "keep", "keep data for a time after it was loaded, `CLASS=DAYS`: "+strings.Join(keepClasses(), ", ")+"; as in intervals=30d or hours=forever; may be repeated")
	return cmd
}

// oneDSN wants one argument.
func oneDSN(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s needs the name of one store: %s", strings.TrimPrefix(cmd.CommandPath(), "rocelens "), dsn.Forms)
	}
	return nil
}

// parseDSN reads a DSN and finds user and password for it.
func parseDSN(s string) (*dsn.DSN, error) {
	d, err := dsn.Parse(s)
	if err != nil {
		return nil, err
	}
	err = d.Credentials(os.Getenv)
	return d, err
}

func (o *storeMigrateOptions) run(ctx context.Context) error {
	m := migrate.Config{Options: storage.Options(o.dsn), SetKeep: map[schema.Class]bool{}}
	for class, d := range o.keep.classes {
		m.SetKeep[class] = true
		if m.Keep[class] = d; d == 0 {
			delete(m.Keep, class)
		}
	}
	var statements []string
	var err error
	if o.dryRun && o.dsn.Dir != "" && !embeddedExists(o.dsn.Dir) {
		statements, err = migrate.PlanNew(m)
	} else {
		statements, err = o.migrate(ctx, m)
	}
	for _, sql := range statements {
		if _, e := fmt.Fprintf(o.out, "%s;\n\n", sql); e != nil {
			return errors.Join(err, e)
		}
	}
	if err != nil {
		return err
	}
	what := "are up to date"
	if o.dryRun && len(statements) > 0 {
		what = "are not up to date"
	}
	_, err = fmt.Fprintf(o.out, "-- the tables of %s %s (schema %d)\n", o.dsn, what, schema.Version)
	return err
}

// migrate opens the store, which makes an embedded one.
func (o *storeMigrateOptions) migrate(ctx context.Context, m migrate.Config) (statements []string, err error) {
	cfg := engine.DefaultConfig()
	cfg.Owner = "rocelens store migrate"
	s, err := storage.Open(ctx, o.dsn, cfg, slog.New(slog.NewTextHandler(o.err, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close(ctx)) }()
	if o.dryRun {
		return migrate.Plan(ctx, s.Client, m)
	}
	return migrate.Run(ctx, s.Client, m)
}

// embeddedExists says whether there is an embedded store in a directory.
func embeddedExists(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "data"))
	return !errors.Is(err, fs.ErrNotExist)
}

// keepFlag is for how long classes of data are kept, 0 for ever.
type keepFlag struct {
	classes map[schema.Class]time.Duration
}

func keepClasses() []string {
	var names []string
	for _, c := range schema.Classes() {
		names = append(names, string(c))
	}
	return names
}

func (k *keepFlag) String() string { return "" }

func (*keepFlag) Type() string { return "CLASS=DAYS" }

func (k *keepFlag) Set(s string) error {
	name, value, _ := strings.Cut(s, "=")
	days, unit := strings.CutSuffix(value, "d")
	n, err := strconv.Atoi(days)
	if value == "forever" {
		n, unit, err = 0, true, nil
	} else if n == 0 {
		unit = false
	}
	known := false
	for _, c := range keepClasses() {
		known = known || c == name
	}
	if !known || !unit || err != nil {
		return fmt.Errorf("%q: use CLASS=DAYS, as in intervals=30d or hours=forever, with one of %s", s, strings.Join(keepClasses(), ", "))
	}
	if k.classes == nil {
		k.classes = map[schema.Class]time.Duration{}
	}
	k.classes[schema.Class(name)] = time.Duration(n) * 24 * time.Hour
	return nil
}

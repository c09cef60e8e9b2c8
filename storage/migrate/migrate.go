// Package migrate brings the tables of a store up to date: it compares what a
// server has with what package schema describes, and makes the difference.
//
// There are no steps from version to version, so there is no order that two
// probes could get wrong: every statement says what is to be, and is harmless
// when another one has run it already. The version is in the comment of the table
// runs, and only tells a binary that is older than the schema.
package migrate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/rocelens/rocelens/storage/client"
	"github.com/rocelens/rocelens/storage/schema"
)

// Config says what is to be.
type Config struct {
	schema.Options
	// SetKeep has the classes of tables that exist already, and are to keep their
	// rows for as long as Keep
	// says. Otherwise they stay as they are, and Keep is for new tables.
	SetKeep map[schema.Class]bool
}

// NewerError says that the schema is of a newer rocelens.
type NewerError struct {
	Database string
	Version  int
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("database %s was made by a newer rocelens (schema %d, this one knows %d): upgrade rocelens here, or use another database",
		e.Database, e.Version, schema.Version)
}

// tries is how often the tables are compared anew when statements fail, as they
// can when other probes run the same ones.
const tries = 6

// Run brings the tables up to date and returns the statements that it took.
func Run(ctx context.Context, c *client.Client, cfg Config) (done []string, err error) {
	for try := range tries {
		if try > 0 {
			wait := time.Duration(50<<try) * time.Millisecond
			select {
			case <-time.After(wait/2 + rand.N(wait)):
			case <-ctx.Done():
				return done, errors.Join(err, ctx.Err())
			}
		}
		var plan []string
		if plan, err = Plan(ctx, c, cfg); err != nil || len(plan) == 0 {
			return done, err
		}
		for _, s := range plan {
			if err = c.Exec(ctx, s); err != nil {
				err = fmt.Errorf("bringing the tables up to date: %w", err)
				break
			}
			done = append(done, s)
		}
		if ctx.Err() != nil {
			return done, err
		}
	}
	if err == nil {
		err = errors.New("bringing the tables up to date: they change again and again; does another version of rocelens do the same?")
	}
	return done, err
}

// Plan are the statements that bring the tables up to date, none if they are.
func Plan(ctx context.Context, c *client.Client, cfg Config) ([]string, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	have, err := read(ctx, c, cfg.Database)
	if err != nil {
		return nil, err
	}
	return cfg.plan(have)
}

// PlanNew are the statements for a server on which nothing is yet.
func PlanNew(cfg Config) ([]string, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return cfg.plan(&state{})
}

func (cfg *Config) plan(have *state) ([]string, error) {
	p := &planner{cfg: cfg, have: have}
	if v := have.version(&cfg.Options); v > schema.Version {
		return nil, &NewerError{Database: cfg.Database, Version: v}
	}
	if !have.database {
		p.add(cfg.CreateDatabase())
	}
	tables := schema.Tables()
	for _, t := range tables {
		if err := p.table(t); err != nil {
			return nil, err
		}
	}
	// All else is as it should be before the version says so.
	for _, t := range tables {
		p.comment(t)
	}
	return p.plan, nil
}

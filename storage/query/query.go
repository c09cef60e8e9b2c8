// Package query asks the store questions: what a session did, which flows were
// worst, who stormed. A question is a struct; its statement is made from the
// tables of package schema, and every value in it is a parameter of ClickHouse,
// so that nothing a user writes becomes SQL. Boards take the same statements
// with macros in place of parameters, see Statement.Expand.
//
// Everything reads the tables by the names that are Distributed on a cluster,
// and joins nothing that shards can't join on their own.
package query

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/rocelens/rocelens/storage/schema"
)

// Conn asks a server, as client.Client does: do gets the rows.
type Conn interface {
	Query(ctx context.Context, do func(driver.Rows) error, sql string, args ...any) error
}

// Store answers questions. It may be used by several goroutines.
type Store struct {
	conn    Conn
	options schema.Options
	timeout time.Duration
}

// DefaultTimeout is how long an answer may take.
const DefaultTimeout = 30 * time.Second

// New returns a Store whose tables are where the options say. No answer takes
// longer than timeout.
func New(conn Conn, options schema.Options, timeout time.Duration) *Store {
	return &Store{conn: conn, options: options, timeout: timeout}
}

// Answer is what a question gets.
type Answer[T any] struct {
	// From and To bound the time that it is about, To itself is outside. They are
	// those of the question, or a little wider where a roll-up was read. They are
	// zero where the question has no bound.
	From time.Time `json:"from,omitzero"`
	To   time.Time `json:"to,omitzero"`
	// Table is the one that was read.
	Table string `json:"table"`
	Rows  []T    `json:"rows"`
	// More says that there are more rows than the question's limit.
	More bool `json:"more"`
}

// Empty says that there are no rows.
func (a *Answer[T]) Empty() bool { return len(a.Rows) == 0 }

// question is what can be asked for rows of one type.
type question interface {
	// Statement is the SQL of the question, for tables that are where the options
	// say.
	Statement(o *schema.Options) (*Statement, error)
}

// The limits of the rows of an answer.
const (
	defaultLimit = 1000
	// MaxLimit is the greatest limit: what a client can still hold.
	MaxLimit = 100_000
)

// limitOf is the limit of a question, given what it has and what it has by
// default.
func limitOf(limit, byDefault int) (int, error) {
	switch {
	case limit == 0:
		return byDefault, nil
	case limit < 0 || limit > MaxLimit:
		return 0, fmt.Errorf("a limit of %d rows: use 1 to %d", limit, MaxLimit)
	}
	return limit, nil
}

// answer asks a question.
func answer[T any](ctx context.Context, s *Store, q question) (*Answer[T], error) {
	st, err := q.Statement(&s.options)
	if err != nil {
		return nil, err
	}
	rows, err := rowsOf[T](ctx, s, st)
	if err != nil {
		return nil, err
	}
	a := &Answer[T]{From: st.From, To: st.To, Table: st.Table, Rows: rows}
	switch {
	case len(rows) == 0:
		a.Rows = []T{} // a list in JSON too
	case len(rows) > st.limit:
		a.Rows, a.More = rows[:st.limit], true
	}
	return a, nil
}

// Codes of ClickHouse's errors, from its ErrorCodes.cpp.
const (
	codeUnknownTable    = 60
	codeUnknownDatabase = 81
	codeTimeout         = 159
)

// rowsOf runs a statement.
func rowsOf[T any](ctx context.Context, s *Store, st *Statement) (all []T, err error) {
	args := make([]any, len(st.Params))
	for i, p := range st.Params {
		args[i] = clickhouse.Named(p.Name, p.Value)
	}
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{
		"max_execution_time": max(int(s.timeout/time.Second), 1),
		"join_use_nulls":     0,
	}))
	err = s.conn.Query(ctx, func(rows driver.Rows) (err error) {
		all, err = scan[T](rows)
		return err
	}, st.SQL, args...)
	var e *clickhouse.Exception
	switch {
	case err == nil:
		return all, nil
	case !errors.As(err, &e):
	case e.Code == codeUnknownTable, e.Code == codeUnknownDatabase:
		return nil, fmt.Errorf("database %s has no tables of rocelens, or not all of them: rocelens store migrate makes them", s.options.Database)
	case e.Code == codeTimeout:
		return nil, fmt.Errorf("the answer from %s takes longer than %v: ask for a shorter time, or from a roll-up", st.Table, s.timeout)
	}
	return nil, fmt.Errorf("asking the store: %w", err)
}

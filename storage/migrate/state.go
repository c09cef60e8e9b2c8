package migrate

import (
	"context"

	"github.com/rocelens/rocelens/storage/client"
	"github.com/rocelens/rocelens/storage/schema"
)

// state is what a server has of a database.
type state struct {
	database bool
	tables   map[string]*table
}

type table struct {
	engine    string // name alone
	full      string // with keys, TTL and settings
	sorting   string
	partition string
	comment   string
	columns   map[string]column
	indexes   map[string]bool
}

type column struct{ typ, fallback, codec, comment string }

func read(ctx context.Context, c *client.Client, database string) (*state, error) {
	s := &state{tables: map[string]*table{}}
	var n uint64
	if err := c.Row(ctx, []any{&n}, "SELECT count() FROM system.databases WHERE name = ?", database); err != nil {
		return nil, err
	}
	s.database = n > 0
	err := c.Each(ctx, func(scan func(...any) error) error {
		t := &table{columns: map[string]column{}, indexes: map[string]bool{}}
		var name string
		err := scan(&name, &t.engine, &t.full, &t.sorting, &t.partition, &t.comment)
		s.tables[name] = t
		return err
	}, "SELECT name, engine, engine_full, sorting_key, partition_key, comment FROM system.tables WHERE database = ?", database)
	if err != nil {
		return nil, err
	}
	err = c.Each(ctx, func(scan func(...any) error) error {
		var in, name string
		var col column
		err := scan(&in, &name, &col.typ, &col.fallback, &col.codec, &col.comment)
		if t := s.tables[in]; t != nil {
			t.columns[name] = col
		}
		return err
	}, "SELECT table, name, type, default_expression, compression_codec, comment FROM system.columns WHERE database = ?", database)
	if err != nil {
		return nil, err
	}
	err = c.Each(ctx, func(scan func(...any) error) error {
		var in, name string
		err := scan(&in, &name)
		if t := s.tables[in]; t != nil {
			t.indexes[name] = true
		}
		return err
	}, "SELECT table, name FROM system.data_skipping_indices WHERE database = ?", database)
	return s, err
}

// version is that of the tables, 0 where there are none.
func (s *state) version(o *schema.Options) int {
	if t := s.tables[o.LocalName(schema.Runs().Table)]; t != nil {
		return schema.VersionIn(t.comment)
	}
	return 0
}

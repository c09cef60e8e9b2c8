// Package client talks to a ClickHouse: it connects, refuses servers that are too
// old, and sends statements, queries and batches. Its errors hold no password.
package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/column"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/rocelens/rocelens/storage/dsn"
	"github.com/rocelens/rocelens/storage/engine"
	"github.com/rocelens/rocelens/storage/schema"
)

// Config says which server, and how.
type Config struct {
	Addrs    []string // host:port each; the first that answers is used
	HTTP     bool     // otherwise ClickHouse's own protocol
	TLS      bool
	CAFile   string // certificates to trust besides the system's
	User     string
	Password dsn.Secret
	// Compression of what is sent: lz4, zstd or none.
	Compression string
	// Conns is how many connections there are at most.
	Conns int
	// Timeout is how long to wait for a connection, and for an answer.
	DialTimeout, ReadTimeout time.Duration
}

// DefaultConfig is the configuration but for the server.
func DefaultConfig() Config {
	return Config{Compression: "lz4", Conns: 4, DialTimeout: 10 * time.Second, ReadTimeout: 5 * time.Minute}
}

// FromDSN is the configuration for a DSN that names a server.
func FromDSN(d *dsn.DSN) Config {
	c := DefaultConfig()
	c.Addrs, c.HTTP, c.TLS, c.CAFile, c.User, c.Password = d.Hosts, d.HTTP, d.Secure, d.CAFile, d.User, d.Password
	if d.Compression != "" {
		c.Compression = d.Compression
	}
	return c
}

// FromEngine is the configuration for an embedded ClickHouse. Nothing is
// compressed on the way inside a machine.
func FromEngine(p engine.Endpoint) Config {
	c := DefaultConfig()
	c.Addrs, c.HTTP, c.User, c.Password, c.Compression = []string{p.Addr}, true, p.User, dsn.NewSecret(p.Password), "none"
	return c
}

// Client is connected to a server. Its methods may be called from several
// goroutines.
type Client struct {
	cfg  Config
	conn driver.Conn
}

// Open connects, and refuses a server that is too old.
func Open(ctx context.Context, cfg Config) (*Client, error) {
	o := &clickhouse.Options{
		Protocol: clickhouse.Native, Addr: cfg.Addrs,
		Auth:        clickhouse.Auth{Username: cfg.User, Password: cfg.Password.Reveal()},
		DialTimeout: cfg.DialTimeout, ReadTimeout: cfg.ReadTimeout,
		MaxOpenConns: cfg.Conns, MaxIdleConns: cfg.Conns,
		Compression: compression(cfg.Compression),
	}
	if cfg.HTTP {
		o.Protocol, o.HttpMaxConnsPerHost = clickhouse.HTTP, cfg.Conns
	}
	if cfg.TLS {
		t, err := trust(cfg.CAFile)
		if err != nil {
			return nil, err
		}
		o.TLS = t
	}
	c := &Client{cfg: cfg}
	conn, err := clickhouse.Open(o)
	if err != nil {
		return nil, c.explain(err)
	}
	c.conn = conn
	if err := c.checkVersion(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return c, nil
}

func compression(name string) *clickhouse.Compression {
	switch name {
	case "lz4":
		return &clickhouse.Compression{Method: clickhouse.CompressionLZ4}
	case "zstd":
		return &clickhouse.Compression{Method: clickhouse.CompressionZSTD}
	}
	return nil
}

// trust is the TLS configuration with the certificates of a file, if one is
// named.
func trust(file string) (*tls.Config, error) {
	t := &tls.Config{MinVersion: tls.VersionTLS12}
	if file == "" {
		return t, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("certificates for the store: %w", err)
	}
	if t.RootCAs, err = x509.SystemCertPool(); err != nil {
		t.RootCAs = x509.NewCertPool()
	}
	if !t.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("certificates for the store: there are none in %s", file)
	}
	return t, nil
}

// Close closes all connections.
func (c *Client) Close() error { return c.explain(c.conn.Close()) }

// Exec runs a statement.
func (c *Client) Exec(ctx context.Context, sql string, args ...any) error {
	return c.explain(c.conn.Exec(ctx, sql, args...))
}

// Each calls do with each row of a query.
func (c *Client) Each(ctx context.Context, do func(scan func(...any) error) error, sql string, args ...any) error {
	rows, err := c.conn.Query(ctx, sql, args...)
	if err != nil {
		return c.explain(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := do(rows.Scan); err != nil {
			return c.explain(err)
		}
	}
	return c.explain(rows.Err())
}

// Query calls do with the rows of a query and closes them.
func (c *Client) Query(ctx context.Context, do func(driver.Rows) error, sql string, args ...any) error {
	rows, err := c.conn.Query(ctx, sql, args...)
	if err != nil {
		return c.explain(err)
	}
	err = do(rows)
	if e := rows.Close(); err == nil {
		err = e
	}
	return c.explain(err)
}

// Row scans the one row of a query. It is sql.ErrNoRows where there is none.
func (c *Client) Row(ctx context.Context, dest []any, sql string, args ...any) error {
	return c.explain(c.conn.QueryRow(ctx, sql, args...).Scan(dest...))
}

// Insert sends a block of the format Native, as Batch.Encode makes it. A block
// that is sent again with the same token is there once.
func (c *Client) Insert(ctx context.Context, o *schema.Options, t *schema.Table, token string, block []byte) error {
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(schema.InsertSettings(token)))
	if c.cfg.HTTP && compression(c.cfg.Compression) == nil {
		return c.explain(c.conn.InsertFormat(ctx, "Native", o.Insert(t), bytes.NewReader(block)))
	}
	return c.explain(c.insertColumns(ctx, o, t, block))
}

// insertColumns hands the columns of a block to clickhouse-go, which sends and
// compresses them.
func (c *Client) insertColumns(ctx context.Context, o *schema.Options, t *schema.Table, block []byte) (err error) {
	columns := t.Inserted()
	known := make([]clickhouse.ColumnNameAndType, len(columns))
	for i, col := range columns {
		known[i] = clickhouse.ColumnNameAndType{Name: col.Name, Type: col.Type}
	}
	ctx = clickhouse.Context(ctx, clickhouse.WithColumnNamesAndTypes(known))
	b, err := c.conn.PrepareBatch(ctx, o.Insert(t))
	if err != nil {
		return err
	}
	defer func() {
		if e := b.Close(); err == nil {
			err = e
		}
	}()
	if err := same(columns, b.Columns()); err != nil {
		_ = b.Abort()
		return fmt.Errorf("table %s: %w", t.Name, err)
	}
	if err := decode(block, b.Columns()); err != nil {
		_ = b.Abort()
		return fmt.Errorf("%w: %w", errBlock, err)
	}
	return b.Send()
}

// same says which column a server has in another way than we know it, as a
// newer rocelens may have made it.
func same(known []schema.Column, has []column.Interface) error {
	for i, col := range has {
		if i >= len(known) || col.Name() != known[i].Name || string(col.Type()) != known[i].Type {
			return fmt.Errorf("the store has a column %s %s, which this rocelens does not know", col.Name(), col.Type())
		}
	}
	return nil
}

// decode reads a block into columns that must be those of the block.
func decode(block []byte, into []column.Interface) error {
	r := proto.NewReader(bytes.NewReader(block))
	n, err := r.Int()
	if err != nil {
		return err
	}
	rows, err := r.Int()
	if err != nil {
		return err
	}
	if n != len(into) {
		return fmt.Errorf("the batch has %d columns, the table %d", n, len(into))
	}
	for _, col := range into {
		name, err1 := r.Str()
		typ, err2 := r.Str()
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		if name != col.Name() || typ != string(col.Type()) {
			return fmt.Errorf("the batch has column %s %s, the table %s %s", name, typ, col.Name(), col.Type())
		}
		if s, ok := col.(column.CustomSerialization); ok && rows > 0 {
			if err := s.ReadStatePrefix(r); err != nil {
				return err
			}
		}
		if err := col.Decode(r, rows); err != nil {
			return fmt.Errorf("column %s: %w", name, err)
		}
	}
	if _, err := r.ReadByte(); !errors.Is(err, io.EOF) {
		return errors.New("the batch goes on behind its last column")
	}
	return nil
}

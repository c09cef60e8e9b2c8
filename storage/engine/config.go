package engine

import (
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Config says where the engine keeps its data, where it listens, and how long
// it is waited for.
type Config struct {
	// Dir holds the data and the files of the engine. It is made if it is
	// missing, and belongs to one engine at a time.
	Dir string

	// Listen is the address of the HTTP interface, which must be loopback. With
	// port 0 a free one is taken, and kept for as long as it can be had.
	Listen string

	// Native opens a port of ClickHouse's own protocol as well. One wrong
	// password, a few stray bytes, or a connection that is reset at the wrong
	// moment end the engine: it is for tests.
	Native bool

	// MaxMemory is what ClickHouse may use, in bytes.
	MaxMemory int64

	// Library is the path of libchdb.so. If it is empty, a clickhouse or the
	// library is looked for; see find.
	Library string

	// Owner is what another program is told that finds Dir in use, as in
	// "rocelens monitor".
	Owner string

	StartTimeout time.Duration // from the start of a process until it must answer
	StopTimeout  time.Duration // from being asked to stop until it is killed

	// HealthInterval is the time between two checks that the engine answers. A
	// check fails after the same time, and unhealthyAfter failures in a row end
	// the process, which is then started again.
	HealthInterval time.Duration

	// A process that ended is started again after BackoffMin, and twice that
	// each time it fails to answer, up to BackoffMax. After MaxFailures in a
	// row the engine gives up.
	BackoffMin, BackoffMax time.Duration
	MaxFailures            int
}

// MinMemory is the least that Config.MaxMemory may be: an idle ClickHouse takes
// 200 MB, and merges of wide tables need some more.
const MinMemory = 512 << 20

// DefaultConfig is the configuration but for Dir.
func DefaultConfig() Config {
	return Config{
		Listen:         "127.0.0.1:0",
		MaxMemory:      4 << 30,
		Owner:          "rocelens",
		StartTimeout:   60 * time.Second,
		StopTimeout:    15 * time.Second,
		HealthInterval: 10 * time.Second,
		BackoffMin:     100 * time.Millisecond,
		BackoffMax:     10 * time.Second,
		MaxFailures:    10,
	}
}

// Validate says what is wrong with the configuration.
func (c *Config) Validate() error {
	switch {
	case c.Dir == "":
		return errors.New("the embedded ClickHouse needs a directory, as in embedded:/var/lib/rocelens")
	case !utf8.ValidString(c.Dir) || strings.ContainsFunc(c.Dir, unicode.IsControl) || strings.Contains(c.Dir, `\`):
		return fmt.Errorf("directory %q: its name has characters that ClickHouse can't have in a path, take another", c.Dir)
	case c.MaxMemory < MinMemory:
		return fmt.Errorf("max memory %d is too little for ClickHouse: use at least %d MiB", c.MaxMemory, MinMemory>>20)
	case c.Owner == "" || strings.ContainsFunc(c.Owner, unicode.IsControl):
		return fmt.Errorf("owner %q: say who uses the directory, in one line", c.Owner)
	case c.StartTimeout <= 0 || c.StopTimeout <= 0 || c.HealthInterval <= 0 || c.BackoffMin <= 0:
		return errors.New("every time-out, interval and back-off must be more than 0")
	case c.BackoffMax < c.BackoffMin:
		return fmt.Errorf("the longest back-off, %v, is shorter than the first, %v", c.BackoffMax, c.BackoffMin)
	case c.MaxFailures < 1:
		return errors.New("max failures must be 1 or more")
	}
	_, err := c.listen()
	return err
}

// listen is the address to listen on.
func (c *Config) listen() (netip.AddrPort, error) {
	a, err := netip.ParseAddrPort(c.Listen)
	if err != nil {
		return a, fmt.Errorf("%q is no address to listen on: use an IP address and a port, as in 127.0.0.1:8123", c.Listen)
	}
	if !a.Addr().IsLoopback() || a.Addr().Zone() != "" {
		return a, fmt.Errorf("%s is not loopback: the embedded ClickHouse serves this machine alone, "+
			"as on 127.0.0.1:8123; for others, run a ClickHouse server", c.Listen)
	}
	return a, nil
}

// ParseDSN returns the directory of a DSN of the form embedded:DIR.
func ParseDSN(dsn string) (dir string, err error) {
	dir, ok := strings.CutPrefix(dsn, "embedded:")
	if !ok || dir == "" {
		return "", errors.New("the embedded ClickHouse is named embedded:DIR, as in embedded:/var/lib/rocelens")
	}
	return filepath.Clean(dir), nil
}

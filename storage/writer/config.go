package writer

import (
	"errors"
	"fmt"
	"time"
)

// Config bounds batches, and says how they are sent.
type Config struct {
	// Run and Attempt begin the tokens of all batches, see package runs.
	Run, Attempt string

	MaxRows int           // of a batch
	MaxAge  time.Duration // of the first row of a batch until it goes into the queue

	Senders int           // batches on their way at the same time
	Timeout time.Duration // for one insert

	// A batch that failed is sent again after BackoffMin, and twice that each
	// time, up to BackoffMax; each wait is shortened by chance, by up to a half.
	BackoffMin, BackoffMax time.Duration

	// Stats is how often the writer's own counters are written.
	Stats time.Duration
}

// DefaultConfig is the configuration but for Run and Attempt.
func DefaultConfig() Config {
	return Config{
		MaxRows: 50_000, MaxAge: 2 * time.Second, Senders: 2, Timeout: 2 * time.Minute,
		BackoffMin: 100 * time.Millisecond, BackoffMax: 30 * time.Second, Stats: 10 * time.Second,
	}
}

// maxRows keeps a batch one block of the server, which splits larger ones, and
// with them their tokens.
const maxRows = 1_000_000

// Validate says what is wrong with the configuration.
func (c *Config) Validate() error {
	switch {
	case c.Run == "" || c.Attempt == "":
		return errors.New("a writer needs a run and an attempt, for its tokens")
	case c.MaxRows < 1 || c.MaxRows > maxRows:
		return fmt.Errorf("batches of %d rows: use 1 to %d", c.MaxRows, maxRows)
	case c.Senders < 1:
		return errors.New("a writer needs a sender")
	case c.MaxAge <= 0 || c.Timeout <= 0 || c.BackoffMin <= 0 || c.Stats <= 0:
		return errors.New("every age, time-out and back-off of a writer must be more than 0")
	case c.BackoffMax < c.BackoffMin:
		return fmt.Errorf("the longest back-off, %v, is shorter than the first, %v", c.BackoffMax, c.BackoffMin)
	}
	return nil
}

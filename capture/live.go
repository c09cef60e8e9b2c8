package capture

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/net/bpf"
)

// LiveConfig says what OpenLive captures.
type LiveConfig struct {
	// Interfaces are their names; each becomes an Input.
	Interfaces []string
	// Filter is run by the kernel on each frame, with the outermost VLAN tag taken
	// out, and returns how many bytes of it to keep, 0 for none. Without one all is
	// kept.
	Filter []bpf.RawInstruction
	// Promiscuous takes frames to other stations, as a mirror's are.
	Promiscuous bool
	// Hardware asks the NICs for time stamps; where one has none, the kernel's are
	// taken.
	Hardware bool
	// BufferBytes is the size of the ring of each interface. It holds what comes
	// while nobody reads; what does not fit is lost, and counted.
	BufferBytes int
	// Tick is after how long ReadBatch returns though there is no frame, with none.
	Tick time.Duration
	// Sockets are what OpenSockets opened for these interfaces, and belong to
	// OpenLive; without them it opens its own.
	Sockets []int
	// Context ends reading: ReadBatch then gives ErrInterrupted.
	Context context.Context
	// Log is told of interfaces that go down, away, come back or have another name.
	Log *slog.Logger
}

// DefaultLiveConfig takes all frames of the interfaces, in rings of 64 MiB.
func DefaultLiveConfig(interfaces ...string) LiveConfig {
	return LiveConfig{Interfaces: interfaces, Promiscuous: true, BufferBytes: 64 << 20, Tick: 200 * time.Millisecond, Context: context.Background(), Log: slog.New(slog.DiscardHandler)}
}

const (
	// ringBlock is the size of a ring's blocks, which the kernel hands over one at
	// a time, when they are full or after blockWait, however little is in them. So
	// the smaller they are, the longer a ring lasts where little comes; but the
	// largest frame that there is, of 64 KiB, must fit in.
	ringBlock = 128 << 10
	blockWait = 10 * time.Millisecond
	// MinBuffer is the least BufferBytes: one block to fill, one to read, and some.
	MinBuffer = 32 * ringBlock
	// MaxBuffer is the most.
	MaxBuffer = 1 << 31
	// otherWait is how long a frame waits for earlier ones of other interfaces:
	// theirs are handed over that late at most.
	otherWait = 2*blockWait + 5*time.Millisecond
	// watchEvery is how often it is looked what became of the interfaces.
	watchEvery = time.Second
	maxLive    = 64 // interfaces
	// clockApart is how far apart, in nanoseconds, times of frames that are there
	// together can't be, and clockSet by how much a clock must be set to be told.
	clockApart = 10e9
	clockSet   = time.Second
)

// Check says what is wrong with the configuration.
func (c *LiveConfig) Check() error {
	switch n := len(c.Interfaces); {
	case n == 0:
		return errors.New("no interface to capture on")
	case n > maxLive:
		return fmt.Errorf("%d interfaces are more than %d", n, maxLive)
	case c.BufferBytes < MinBuffer || c.BufferBytes > MaxBuffer:
		return fmt.Errorf("a buffer of %d bytes: use %d to %d", c.BufferBytes, MinBuffer, int64(MaxBuffer))
	case c.Tick <= 0:
		return fmt.Errorf("a tick of %v: it must be positive", c.Tick)
	}
	for i, name := range c.Interfaces {
		if slices.Contains(c.Interfaces[:i], name) {
			return fmt.Errorf("interface %s is named twice", PathText(name))
		}
	}
	return nil
}

// Package correlate finds the same packets in captures that were taken at
// several taps of one network, and says what became of them in between: where
// packets were lost, delayed, marked, copied, overtaken or damaged.
//
// It reads each tap twice. The first time it samples packets that are the only
// ones of their kind, and from those it estimates how the taps' clocks differ
// and in which order packets pass the taps. The second time all taps are read
// side by side in the order of one clock, and each packet waits for a bounded
// time to be seen at the other taps of its path. Memory depends on neither
// length.
package correlate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
)

// MaxTaps is how many taps there may be: a path through a fabric has fewer
// hops, and sets of taps fit 16 bits.
const MaxTaps = 16

// Config says how packets are matched.
type Config struct {
	Decode decode.Config
	// ICRC says whether ICRCs are computed, to find where packets are damaged.
	ICRC bool
	// Window is how long a packet that is missing at a tap is waited for there.
	Window time.Duration
	// MaxMemory bounds what waiting packets and flows take, in bytes. Where
	// there is not enough for Window, packets wait less long, and that is
	// counted.
	MaxMemory int64
	// MaxLosses is how many losses are listed one by one. All are counted.
	MaxLosses int
	// InOrder says that packets pass the taps in the order in which these are
	// given, or in the opposite one.
	InOrder bool
	// SameClock says that all taps have one clock, so that none is estimated.
	SameClock bool
	// Progress, if it is not nil, is told now and then what was read of a tap,
	// by one goroutine at a time.
	Progress func([]capture.Input)
}

// DefaultConfig waits 10 seconds, in at most 1 GiB: retransmissions are told
// from losses by then, and a path that takes longer is no network of RoCE.
func DefaultConfig() Config {
	return Config{ICRC: true, Window: 10 * time.Second, MaxMemory: 1 << 30, MaxLosses: 10_000}
}

func (c *Config) check(taps int) error {
	switch {
	case taps < 2:
		return errors.New("correlating takes captures of two taps or more")
	case taps > MaxTaps:
		return fmt.Errorf("%d taps are too many: at most %d can be correlated", taps, MaxTaps)
	case c.Window <= 0:
		return fmt.Errorf("a window of %v is too short: packets take some time from tap to tap", c.Window)
	case c.MaxMemory < minMemory:
		return fmt.Errorf("%d bytes of memory are too little: use at least %d", c.MaxMemory, minMemory)
	case c.MaxLosses < 0:
		return fmt.Errorf("a list of %d losses can't be: use 0 or more", c.MaxLosses)
	}
	return nil
}

// minMemory is what a few thousand packets and flows need.
const minMemory = 16 << 20

// Open opens the capture of a tap, from its beginning each time.
type Open func(tap int) (capture.Source, error)

// Run correlates the captures of some taps. With an error of the second reading
// the result holds what was read by then; it is nil where the first one failed.
// That an input is damaged is no error: Tap.Inputs says so.
func Run(ctx context.Context, taps int, open Open, cfg Config) (*Result, error) {
	if err := cfg.check(taps); err != nil {
		return nil, err
	}
	surveys, err := surveyAll(ctx, taps, open, &cfg)
	if err != nil {
		return nil, err
	}
	p := newPlan(surveys, &cfg)
	m := newMatcher(p, &cfg)
	inputs, err := m.readAll(ctx, open)
	r := m.result()
	for i := range r.Taps {
		r.Taps[i].Inputs = surveys[i].inputs
		if inputs[i] != nil { // the second reading may have met damage that the first did not
			r.Taps[i].Inputs = inputs[i]
		}
	}
	return r, err
}

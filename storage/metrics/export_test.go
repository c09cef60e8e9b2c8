package metrics

import "time"

// SetClock sets what the time is.
func (p *Pauses) SetClock(now func() time.Time) { p.now = now }

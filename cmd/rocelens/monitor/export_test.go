package monitor

import "github.com/rocelens/rocelens/capture"

// Wrap puts a source around that of a monitor that does not run yet.
func (m *Monitor) Wrap(around func(capture.Source) capture.Source) { m.src = around(m.src) }

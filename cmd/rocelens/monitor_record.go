package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/rocelens/rocelens/cmd/rocelens/monitor"
	"github.com/rocelens/rocelens/pipeline/record"
)

// recordFlags are the flags of the flight recorder that need more than a value.
type recordFlags struct {
	level        severity
	disk, memory byteSize
}

func addRecord(f *pflag.FlagSet, r *recordFlags, c *monitor.RecordConfig) {
	r.level, r.disk, r.memory = severity(c.Level), byteSize(c.Disk), byteSize(c.Bytes)
	f.StringVar(&c.Dir, "record", "", "write the frames of findings to pcapng files in `DIR`")
	f.Var(&r.level, "record-level", "of which findings: of `SEVERITY` info, warning or critical, and graver ones")
	f.Var(&r.disk, "record-disk", "let those files take `SIZE`, as in 4G: the oldest are deleted for new ones")
	f.Var(&r.memory, "record-memory", "keep frames for them in memory of `SIZE`, beside --max-memory")
	f.DurationVar(&c.Span, "record-span", c.Span, "keep frames for `DUR`, as in 30s, if they fit")
	f.IntVar(&c.SnapLen, "record-snaplen", c.SnapLen, "keep `BYTES` of each frame, 0 for all")
}

// told says what is recorded.
func (r *recordFlags) told(c *monitor.RecordConfig) string {
	which := "findings of severity " + r.level.String() + " or above"
	switch c.Level {
	case record.Info:
		which = "all findings"
	case record.Critical:
		which = "critical findings"
	}
	return fmt.Sprintf("frames of %s go to %s, %s at most; those of the last %v are kept in memory, %s at most", which, c.Dir, r.disk.String(), c.Span, r.memory.String())
}

func (r *recordFlags) set(c *monitor.RecordConfig) {
	c.Level, c.Disk, c.Bytes = record.Severity(r.level), int64(r.disk), int64(r.memory)
}

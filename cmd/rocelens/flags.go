package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rocelens/rocelens/dashboards/report"
	"github.com/rocelens/rocelens/pipeline/record"
)

// ports is a flag of UDP ports, given once for each or with commas between.
type ports []uint16

func (p *ports) String() string {
	s := make([]string, len(*p))
	for i, v := range *p {
		s[i] = strconv.Itoa(int(v))
	}
	return strings.Join(s, ",")
}

func (p *ports) Set(s string) error {
	for _, one := range strings.Split(s, ",") {
		n, err := strconv.ParseUint(one, 10, 16)
		if err != nil || n == 0 {
			return fmt.Errorf("%q is not a UDP port: use a number from 1 to 65535", one)
		}
		*p = append(*p, uint16(n))
	}
	return nil
}

func (*ports) Type() string { return "N" }

func addRoCEPort(f *pflag.FlagSet, p *[]uint16) {
	f.Var((*ports)(p), "roce-port", "take UDP to port `N` as RoCEv2 as well as 4791 (may be repeated)")
}

// severity is a flag of the severity of findings.
type severity record.Severity

func (s *severity) String() string {
	if *s == 0 {
		return ""
	}
	return record.Severity(*s).String()
}

func (s *severity) Set(v string) error {
	parsed, err := record.ParseSeverity(v)
	if err == nil {
		*s = severity(parsed)
	}
	return err
}

func (*severity) Type() string { return "SEVERITY" }

// completeValues lets the shell complete a flag that takes one of a few words.
func completeValues(cmd *cobra.Command, flag string, values []string) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // the flag does not exist: a mistake in this package
	}
}

// atLeastOne is a flag of how many; 0 and less are refused.
type atLeastOne int

func (n *atLeastOne) String() string { return strconv.Itoa(int(*n)) }

func (n *atLeastOne) Set(s string) error {
	v, err := strconv.Atoi(s)
	if err != nil || v < 1 || v > math.MaxInt32 {
		return errors.New("use a number from 1 on")
	}
	*n = atLeastOne(v)
	return nil
}

func (*atLeastOne) Type() string { return "N" }

// packetCount is a flag of a number of packets. 0 is not asked for by accident,
// and whoever has the flag says what is wrong with it.
type packetCount uint64

func (n *packetCount) String() string { return strconv.FormatUint(uint64(*n), 10) }

func (n *packetCount) Set(s string) error {
	v, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return errors.New("use a whole number, 1 or more")
	}
	*n = packetCount(v)
	return nil
}

func (*packetCount) Type() string { return "N" }

// sessionSort is a flag of the order of sessions.
type sessionSort report.Sort

func (s *sessionSort) String() string { return report.Sort(*s).String() }

func (s *sessionSort) Set(v string) error {
	parsed, err := report.ParseSort(v)
	if err == nil {
		*s = sessionSort(parsed)
	}
	return err
}

func (*sessionSort) Type() string { return "ORDER" }

// byteSize is a flag of a size in bytes: 512M, 4G, 65536.
type byteSize int64

const (
	defaultMaxMemory = 4 << 30
	minMaxMemory     = 16 << 20
)

func (b *byteSize) String() string {
	for i, unit := range []string{"G", "M", "K"} {
		if n := byteSize(1) << (30 - 10*i); *b != 0 && *b%n == 0 {
			return strconv.FormatInt(int64(*b/n), 10) + unit
		}
	}
	return strconv.FormatInt(int64(*b), 10)
}

func (b *byteSize) Set(s string) error {
	digits, shift := s, 0
	if i := strings.IndexAny(strings.ToUpper(s), "KMGT"); i > 0 && i == len(s)-1 {
		digits, shift = s[:i], 10*(1+strings.IndexByte("KMGT", strings.ToUpper(s)[i]))
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64>>shift {
		return fmt.Errorf("%q is not a size: use bytes, or a number with K, M, G or T, as in 512M", s)
	}
	if n <<= shift; n < minMaxMemory {
		return fmt.Errorf("%s is too little: use at least %dM", s, minMaxMemory>>20)
	}
	*b = byteSize(n)
	return nil
}

func (*byteSize) Type() string { return "SIZE" }

// addMaxMemory adds --max-memory.
func addMaxMemory(f *pflag.FlagSet, b *byteSize) {
	*b = defaultMaxMemory
	f.Var(b, "max-memory", "memory for sessions, `SIZE` as in 512M or 4G: beyond it those that were silent longest are forgotten, and counted")
}

// forgotten says on stderr how many sessions went for want of memory.
func forgotten(w io.Writer, n uint64) {
	if n > 0 {
		fmt.Fprintf(w, "rocelens: %d sessions were forgotten to keep within memory (--max-memory): what they did later counts as sessions of their own\n", n)
	}
}

// addWorkers adds --workers.
func addWorkers(f *pflag.FlagSet, n *int) {
	*n = runtime.GOMAXPROCS(0)
	f.Var((*atLeastOne)(n), "workers", "share the work among `N` processors; the report does not depend on it")
}

// ackTimeout is a flag of the requesters' ACK timeout.
type ackTimeout time.Duration

func (a *ackTimeout) String() string {
	if *a == 0 {
		return ""
	}
	return time.Duration(*a).String()
}

func (a *ackTimeout) Set(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 || d > time.Hour {
		return fmt.Errorf("%q is no ACK timeout: use a number with a unit, as in 67ms or 4.3s", s)
	}
	*a = ackTimeout(d)
	return nil
}

func (*ackTimeout) Type() string { return "DUR" }

func addAckTimeout(f *pflag.FlagSet, a *ackTimeout) {
	f.Var(a, "ack-timeout", "ACK timeout of the requesters, `DUR` as in 67ms: a step back later than half of it after a NAK is the timer's (default: what CM says, or learnt from silences)")
}

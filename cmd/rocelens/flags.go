package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/dashboards/report"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/pause"
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

// Repeats is of config.Repeated.
func (*ports) Repeats() {}

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
	n, err := parseSize(s)
	if err != nil {
		return err
	}
	if n < minMaxMemory {
		return fmt.Errorf("%s is too little: use at least %dM", s, minMaxMemory>>20)
	}
	*b = byteSize(n)
	return nil
}

// parseSize reads a size in bytes.
func parseSize(s string) (int64, error) {
	digits, shift := s, 0
	if i := strings.IndexAny(strings.ToUpper(s), "KMGT"); i > 0 && i == len(s)-1 {
		digits, shift = s[:i], 10*(1+strings.IndexByte("KMGT", strings.ToUpper(s)[i]))
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64>>shift {
		return 0, fmt.Errorf("%q is not a size: use bytes, or a number with K, M, G or T, as in 512M", s)
	}
	return n << shift, nil
}

func (*byteSize) Type() string { return "SIZE" }

// ringSize is a flag of the size of the ring of an interface.
type ringSize byteSize

func (r *ringSize) String() string { return (*byteSize)(r).String() }

func (r *ringSize) Set(s string) error {
	n, err := parseSize(s)
	if err != nil {
		return err
	}
	if n < capture.MinBuffer || n > capture.MaxBuffer {
		return fmt.Errorf("%s is no size of a ring: use %dM to %dG, as in 256M", s, capture.MinBuffer>>20, capture.MaxBuffer>>30)
	}
	*r = ringSize(n)
	return nil
}

func (*ringSize) Type() string { return "SIZE" }

// addMaxMemory adds --max-memory.
func addMaxMemory(f *pflag.FlagSet, b *byteSize) {
	*b = defaultMaxMemory
	f.Var(b, "max-memory", "memory for sessions, `SIZE` as in 512M or 4G: beyond it those that were silent longest are forgotten, and counted")
}

// forgotten says on stderr how many sessions went for want of memory.
func forgotten(w io.Writer, n uint64) {
	if n > 0 {
		fmt.Fprintf(w, "rocelens: sessions were forgotten %d times to keep within memory (--max-memory): what they did later counts as sessions of their own\n", n)
	}
}

// addWorkers adds --workers.
func addWorkers(f *pflag.FlagSet, n *int) {
	*n = runtime.GOMAXPROCS(0)
	f.Var((*atLeastOne)(n), "workers", "share the work among `N` processors (default: all); the result does not depend on it")
	f.Lookup("workers").DefValue = "" // it is another on each machine
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

// linkSpeeds is a flag of the speed of links, of all or of one interface.
type linkSpeeds pipeline.LinkSpeeds

func (l *linkSpeeds) String() string { return "" }

func (l *linkSpeeds) Set(s string) error {
	name, value := "", s
	if i := strings.LastIndexByte(s, '='); i >= 0 {
		name, value = s[:i], s[i+1:]
	}
	speed, err := parseSpeed(value)
	switch {
	case err != nil:
		return err
	case name != "":
		if l.ByName == nil {
			l.ByName = make(map[string]uint64)
		}
		l.ByName[name] = speed
	case value != s:
		return fmt.Errorf("%q has no interface before the =", s)
	default:
		l.All = speed
	}
	return nil
}

func (*linkSpeeds) Type() string { return "SPEED" }

// Repeats is of config.Repeated.
func (*linkSpeeds) Repeats() {}

// parseSpeed reads a link's speed: 100G, 2.5G, 800M, 25Gbit/s.
func parseSpeed(s string) (uint64, error) {
	number := s
	for _, unit := range []string{"bit/s", "bps", "b/s"} {
		if n := len(number) - len(unit); n > 0 && strings.EqualFold(number[n:], unit) {
			number = number[:n]
			break
		}
	}
	scale := 1.0
	if i := strings.IndexAny(strings.ToUpper(number), "MGT"); i > 0 && i == len(number)-1 {
		scale = [...]float64{1e6, 1e9, 1e12}[strings.IndexByte("MGT", strings.ToUpper(number)[i])]
		number = number[:i]
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if v *= scale; err != nil || !(v >= 1e6 && v <= 1e14) {
		return 0, fmt.Errorf("%q is no speed of a link: use 100G for 100 Gbit/s, or eth0=100G for one interface", s)
	}
	return uint64(math.Round(v)), nil
}

// unknown are the interfaces that were given a speed and that no input
// has.
func (l *linkSpeeds) unknown(inputs []capture.Input) []string {
	known := make(map[string]bool)
	for i := range inputs {
		prefix := strconv.Itoa(i+1) + ":"
		for k, face := range inputs[i].Interfaces {
			for _, name := range []string{face.Name, strconv.Itoa(k)} {
				known[name], known[prefix+name] = true, true
			}
		}
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(l.ByName)) {
		if !known[name] {
			names = append(names, name)
		}
	}
	return names
}

// check refuses a speed of what is not captured: interfaces are the names of those
// that are, each an input of its own.
func (l *linkSpeeds) check(interfaces []string) error {
	inputs := make([]capture.Input, len(interfaces))
	for i, name := range interfaces {
		inputs[i].Interfaces = []capture.Interface{{Name: name}}
	}
	if wrong := l.unknown(inputs); len(wrong) > 0 {
		return fmt.Errorf("--link-speed %s=...: %s is not captured on", capture.PathText(wrong[0]), capture.PathText(wrong[0]))
	}
	return nil
}

// stormShare is a flag of the share of time that makes a storm: 0.9 or 90%.
type stormShare float64

func (p *stormShare) String() string { return strconv.FormatFloat(100*float64(*p), 'f', -1, 64) + "%" }

func (p *stormShare) Set(s string) error {
	number, percent := strings.CutSuffix(s, "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v > 0 && v <= 1) {
		return fmt.Errorf("%q is no share: use 90%% or 0.9", s)
	}
	*p = stormShare(v)
	return nil
}

func (*stormShare) Type() string { return "SHARE" }

// stormWindow is a flag of the time that a storm takes to be one.
type stormWindow time.Duration

func (w *stormWindow) String() string { return time.Duration(*w).String() }

func (w *stormWindow) Set(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil || d < 10*time.Millisecond || d > time.Minute {
		return fmt.Errorf("%q is no time for a storm: use 10ms to 1m, as in 200ms", s)
	}
	*w = stormWindow(d)
	return nil
}

func (*stormWindow) Type() string { return "DUR" }

// dscpMap is a flag of the priorities of DSCPs: 26=3,48=6.
type dscpMap pipeline.Priorities

func (m *dscpMap) String() string { return "" }

func (m *dscpMap) Set(s string) error {
	for _, one := range strings.Split(s, ",") {
		a, b, found := strings.Cut(one, "=")
		dscp, err1 := strconv.ParseUint(strings.TrimSpace(a), 10, 8)
		priority, err2 := strconv.ParseUint(strings.TrimSpace(b), 10, 8)
		if !found || err1 != nil || err2 != nil || dscp > 63 || priority > 7 {
			return fmt.Errorf("%q gives no DSCP a priority: use 26=3 for priority 3 of DSCP 26; DSCPs are 0 to 63, priorities 0 to 7", one)
		}
		m[dscp] = uint8(1 + priority)
	}
	return nil
}

func (*dscpMap) Type() string { return "MAP" }

// Repeats is of config.Repeated.
func (*dscpMap) Repeats() {}

// pauseFlags are those on PFC and PAUSE.
type pauseFlags struct {
	dscps  dscpMap
	speeds linkSpeeds
	share  stormShare
	window stormWindow
}

func addPause(f *pflag.FlagSet, p *pauseFlags) {
	cfg := pause.DefaultConfig()
	p.share, p.window = stormShare(cfg.StormShare), stormWindow(cfg.StormWindow)
	f.Var(&p.speeds, "link-speed", "`SPEED` of the links, as in 100G, or of one interface, as in eth0=100G (may be repeated): it tells how long a pause is (default: what the capture says)")
	f.Var(&p.dscps, "dscp-map", "priorities of packets without a VLAN tag by their DSCP, `MAP` as in 26=3,48=6 (may be repeated): it tells who has to stop for PFC")
	f.Var(&p.share, "storm-share", "a pause storm is a priority paused for more than this `SHARE` of --storm-window")
	f.Var(&p.window, "storm-window", "see --storm-share; `DUR` as in 200ms, the time that PFC watchdogs take")
}

func (p *pauseFlags) set(cfg *pipeline.Config) {
	cfg.Links, cfg.Priorities = pipeline.LinkSpeeds(p.speeds), pipeline.Priorities(p.dscps)
	cfg.Pause.StormShare, cfg.Pause.StormWindow = float64(p.share), time.Duration(p.window)
}

// complain says which interfaces were given a speed for nothing.
func (p *pauseFlags) complain(out io.Writer, inputs []capture.Input) {
	for _, name := range p.speeds.unknown(inputs) {
		fmt.Fprintf(out, "rocelens: --link-speed %s=...: no input has an interface of that name or number\n", capture.PathText(name))
	}
}

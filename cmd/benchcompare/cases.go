package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// benchCase is a capture to measure with.
type benchCase struct {
	letter, name string
	packets      int // at scale 1
	sessions     int // at scale 1, where they scale
	args         []string
	icrc         bool // all ICRCs are there
	others       bool // beside other programs too
}

var cases = []benchCase{
	{letter: "a", name: "128-byte snap, 1,000 sessions", packets: 10_000_000, args: []string{"bulk_write", "--snaplen", "128"}, others: true},
	{letter: "b", name: "1 KiB payloads, 1,000 sessions, all ICRCs", packets: 4_000_000, args: []string{"bulk_write"}, icrc: true},
	{letter: "c", name: "1,000,000 sessions", packets: 6_000_000, sessions: 1_000_000, args: []string{"bulk_sessions", "--snaplen", "128"}},
	{letter: "d", name: "two hosts, 64 QPs", packets: 10_000_000, args: []string{"bulk_write", "--snaplen", "128", "--sessions", "64"}},
	{letter: "e", name: "as (a), 1 % lost", packets: 10_000_000, args: []string{"bulk_write", "--snaplen", "128", "--loss", "0.01"}},
}

// slicePackets is how many packets tshark is given: at its pace all of them
// take minutes.
const slicePackets = 1_000_000

const header = `| capture | program | million packets/s | GB/s | ns a packet | CPU ns a packet | memory, MB | CPU, times the bare loop |
|---|---|---:|---:|---:|---:|---:|---:|`

// program is one of those that take turns.
type program struct {
	name    string
	args    []string
	path    string // the capture, which is the last argument
	packets uint64
	bytes   int64
	runs    []usage
}

func (o *options) measure(c *benchCase, self string) error {
	path, err := o.make(c)
	if err != nil {
		return err
	}
	packets, bytes, err := countRecords(path)
	if err != nil {
		return err
	}
	loop := []string{self, "bare"}
	if c.icrc {
		loop = append(loop, "-icrc")
	}
	all := []*program{
		{name: "bare loop", args: loop, path: path, packets: packets, bytes: bytes},
		{name: "rocelens analyze", args: []string{o.rocelens, "analyze"}, path: path, packets: packets, bytes: bytes},
	}
	if c.others {
		part := filepath.Join(o.dir, c.letter+"-part.pcap")
		n, size, err := head(path, part, slicePackets)
		if err != nil {
			return err
		}
		all = append(all,
			&program{name: "tshark, six fields", args: tshark, path: part, packets: n, bytes: size},
			&program{name: "tcpdump -w /dev/null", args: []string{"tcpdump", "-w", "/dev/null", "-r"}, path: path, packets: packets, bytes: bytes},
			&program{name: "capinfos", args: []string{"capinfos"}, path: path, packets: packets, bytes: bytes})
	}
	all = slices.DeleteFunc(all, func(p *program) bool {
		_, err := exec.LookPath(p.args[0])
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s is not installed\n", p.args[0])
		}
		return err != nil
	})
	for range o.rounds {
		for _, p := range all {
			if err := warm(p.path); err != nil {
				return err
			}
			u, err := run(append(slices.Clone(p.args), p.path))
			if err != nil {
				return err
			}
			p.runs = append(p.runs, u)
		}
	}
	for _, p := range all {
		fmt.Fprintln(o.out, p.row(c, all[0]))
	}
	if c.others {
		o.notes = append(o.notes, ratio(all))
	}
	return nil
}

// tshark prints what the bare loop reads, and a little more.
var tshark = []string{
	"tshark", "-n", "-T", "fields", "-e", "frame.number", "-e", "ip.src", "-e", "ip.dst",
	"-e", "infiniband.bth.opcode", "-e", "infiniband.bth.destqp", "-e", "infiniband.bth.psn", "-r",
}

func (p *program) row(c *benchCase, bare *program) string {
	wall, low, high := p.median(func(u usage) float64 { return u.wall.Seconds() })
	cpu, _, _ := p.median(func(u usage) float64 { return u.cpu.Seconds() })
	bareCPU, _, _ := bare.median(func(u usage) float64 { return u.cpu.Seconds() })
	anon, _, _ := p.median(func(u usage) float64 { return float64(u.anon) / 1e6 })
	n := float64(p.packets)
	return fmt.Sprintf("| (%s) %s | %s | %.2f (%.2f to %.2f) | %.2f | %.0f | %.0f | %.0f | %.1f |", c.letter, c.name, p.name,
		n/wall/1e6, n/high/1e6, n/low/1e6, float64(p.bytes)/wall/1e9, wall/n*1e9, cpu/n*1e9, anon, cpu/n/(bareCPU/float64(bare.packets)))
}

// median is the median of a figure, its least and its greatest value.
func (p *program) median(of func(usage) float64) (middle, low, high float64) {
	var all []float64
	for _, u := range p.runs {
		all = append(all, of(u))
	}
	slices.Sort(all)
	return all[len(all)/2], all[0], all[len(all)-1]
}

// ratio says how many times faster than tshark rocelens is, a packet.
func ratio(all []*program) string {
	each := func(name string) float64 {
		i := slices.IndexFunc(all, func(p *program) bool { return strings.HasPrefix(p.name, name) })
		if i < 0 {
			return 0
		}
		wall, _, _ := all[i].median(func(u usage) float64 { return u.wall.Seconds() })
		return wall / float64(all[i].packets)
	}
	theirs, ours := each("tshark"), each("rocelens")
	if cmp.Compare(theirs, 0) == 0 {
		return "no tshark to compare with"
	}
	return fmt.Sprintf("rocelens takes 1/%.0f of the time of tshark a packet", theirs/ours)
}

// usage is what a run took.
type usage struct {
	wall, cpu time.Duration
	anon      int64 // peak of anonymous memory, bytes
}

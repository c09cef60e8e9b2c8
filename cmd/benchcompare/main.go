// Benchcompare measures whole runs of rocelens analyze beside other programs
// that read the same captures, and beside a bare loop that does the least a
// RoCE analyser can do. It makes the captures itself, and prints a table for
// docs/performance.md.
//
// What one machine gives on one day says little, so that each figure is the
// median of several rounds, in which the programs take turns, and stands beside
// that of the bare loop.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

func main() {
	if err := command(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "benchcompare:", err)
		os.Exit(1)
	}
}

func command(args []string, out io.Writer) error {
	if len(args) > 0 && args[0] == "bare" {
		return runBare(args[1:], out)
	}
	o := options{out: out}
	flags := flag.NewFlagSet("benchcompare", flag.ContinueOnError)
	flags.StringVar(&o.rocelens, "rocelens", "bin/rocelens", "the program to measure")
	flags.StringVar(&o.dir, "dir", "", "where the captures are, or are made (10 GB; default: a temporary directory)")
	flags.IntVar(&o.rounds, "rounds", 3, "how often each program runs")
	flags.Float64Var(&o.scale, "scale", 1, "size of the captures, 1 is ten million packets")
	flags.StringVar(&o.only, "only", "", "letters of the captures to take, as in ac (default: all)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	return o.run()
}

// runBare is the bare loop as a process of its own.
func runBare(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("bare", flag.ContinueOnError)
	icrc := flags.Bool("icrc", false, "check ICRCs")
	if err := flags.Parse(args); err != nil {
		return err
	}
	n, err := bare(flags.Arg(0), *icrc)
	if err == nil {
		fmt.Fprintln(out, n.packets, n.flows, n.bad)
	}
	return err
}

type options struct {
	out      io.Writer
	rocelens string
	dir      string
	rounds   int
	scale    float64
	only     string
	notes    []string // what to say below the table
}

func (o *options) run() error {
	if o.dir == "" {
		dir, err := os.MkdirTemp("", "benchcompare")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		o.dir = dir
	}
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	fmt.Fprintf(o.out, "%d processors, %s, %s/%s; medians of %d rounds\n\n", runtime.NumCPU(), processor(), runtime.GOOS, runtime.GOARCH, o.rounds)
	fmt.Fprintln(o.out, header)
	for i := range cases {
		c := &cases[i]
		if o.only != "" && !strings.Contains(o.only, c.letter) {
			continue
		}
		if err := o.measure(c, self); err != nil {
			return fmt.Errorf("(%s): %w", c.letter, err)
		}
	}
	fmt.Fprintln(o.out)
	for _, note := range o.notes {
		fmt.Fprintln(o.out, note)
	}
	return nil
}

// make makes a capture, if it is not there.
func (o *options) make(c *benchCase) (string, error) {
	path := filepath.Join(o.dir, c.letter+".pcap")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	args := append([]string{"generate", "-o", path, "--packets", fmt.Sprint(int(o.scale * float64(c.packets)))}, c.args...)
	if c.sessions > 0 {
		args = append(args, "--sessions", fmt.Sprint(max(1, int(o.scale*float64(c.sessions)))))
	}
	cmd := exec.Command(o.rocelens, args...)
	cmd.Stderr = os.Stderr
	return path, cmd.Run()
}

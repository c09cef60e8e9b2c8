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
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) > 1 && os.Args[1] == "bare" {
		runBare(os.Args[2:])
		return
	}
	o := options{}
	flag.StringVar(&o.rocelens, "rocelens", "bin/rocelens", "the program to measure")
	flag.StringVar(&o.dir, "dir", "", "where the captures are, or are made (10 GB; default: a temporary directory)")
	flag.IntVar(&o.rounds, "rounds", 3, "how often each program runs")
	flag.Float64Var(&o.scale, "scale", 1, "size of the captures, 1 is ten million packets")
	flag.StringVar(&o.only, "only", "", "letters of the captures to take, as in ac (default: all)")
	flag.Parse()
	if err := o.run(); err != nil {
		log.Fatal("benchcompare: ", err)
	}
}

// runBare is the bare loop as a process of its own.
func runBare(args []string) {
	flags := flag.NewFlagSet("bare", flag.ExitOnError)
	icrc := flags.Bool("icrc", false, "check ICRCs")
	_ = flags.Parse(args) // it exits
	n, err := bare(flags.Arg(0), *icrc)
	if err != nil {
		log.Fatal("bare: ", err)
	}
	fmt.Println(n.packets, n.flows, n.bad)
}

type options struct {
	rocelens string
	dir      string
	rounds   int
	scale    float64
	only     string
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
	fmt.Printf("%d processors, %s, %s/%s; medians of %d rounds\n\n", runtime.NumCPU(), processor(), runtime.GOOS, runtime.GOARCH, o.rounds)
	fmt.Println(header)
	for i := range cases {
		c := &cases[i]
		if o.only != "" && !contains(o.only, c.letter) {
			continue
		}
		if err := o.measure(c, self); err != nil {
			return fmt.Errorf("(%s): %w", c.letter, err)
		}
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

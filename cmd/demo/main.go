// Demo fills an embedded ClickHouse with simulated and with real trouble, writes
// Grafana's boards for it, says what to open, and serves until Ctrl-C, with a monitor
// for Prometheus if there is one. It is what `make demo` runs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/rocelens/rocelens/dashboards/grafana"
	"github.com/rocelens/rocelens/storage/engine"
)

// options are what can be asked of the demo.
type options struct {
	dir      string // everything is in there
	listen   string
	captures string // where the real ones are
	examples []example
	// prometheus is where one is to listen, and every after how long the next capture comes to
	// the monitor that it asks.
	prometheus string
	every      time.Duration
	once       bool // end when all is loaded
	out        io.Writer
	now        time.Time
	// ready is called when all is loaded, before anything is waited for. It is for tests.
	ready func(*store, *shown)
}

func main() {
	if code, is := engine.Child(os.Args, os.Stderr); is {
		os.Exit(code)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	o, err := parse(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil: // which is said
		os.Exit(2)
	}
	if err := o.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// parse reads the command line, and tells stderr what is wrong with it.
func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{out: os.Stdout, now: time.Now(), examples: captures(), every: 5 * time.Second}
	f := flag.NewFlagSet("rocelens-demo", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.dir, "dir", "bin/demo", "keep the store, the captures and the boards in this `directory`")
	f.StringVar(&o.listen, "listen", "127.0.0.1:8123", "let ClickHouse listen on this `address` of loopback; port 0 takes a free one")
	f.StringVar(&o.captures, "captures", "testdata/captures", "take real captures from this `directory`")
	f.StringVar(&o.prometheus, "prometheus", defaultPrometheus, "let Prometheus listen on this `address`, if there is one in PATH")
	f.BoolVar(&o.once, "once", false, "end when everything is loaded")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 {
		err := fmt.Errorf("%q is no option, and the demo takes nothing else: see -help", f.Arg(0))
		fmt.Fprintln(stderr, "demo:", err)
		return nil, err
	}
	return o, nil
}

// errInterrupted says that what was to end by itself did not come to its end.
var errInterrupted = errors.New("interrupted before everything was loaded")

// interrupted is what the end of ctx before all is loaded means.
func (o *options) interrupted() error {
	if o.once {
		return errInterrupted
	}
	fmt.Fprintln(o.out, "interrupted")
	return nil
}

// run does all of it. The end of ctx is no error, but where all was to be loaded and no more.
func (o *options) run(ctx context.Context) (err error) {
	if err := os.MkdirAll(o.dir, 0o755); err != nil { // Grafana, as another user, reads the boards in it
		return err
	}
	fmt.Fprintf(o.out, "starting ClickHouse in %s\n", o.path("store"))
	s, err := o.open(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return o.interrupted()
	case err != nil:
		return explain(err)
	}
	// Bounded by the engine's own time-out.
	defer func() { err = errors.Join(err, s.close(context.WithoutCancel(ctx))) }()
	sh, err := o.fill(ctx, s)
	if ctx.Err() != nil {
		return o.interrupted()
	}
	if err != nil {
		return err
	}
	v, metrics, err := o.metrics(ctx, sh)
	if err != nil && ctx.Err() == nil {
		return err
	}
	defer func() { err = errors.Join(err, v.stop()) }()
	boards := grafana.Export{Store: s.name, Prometheus: "http://" + o.prometheus}
	if v == nil && strings.HasSuffix(o.prometheus, ":0") { // there is none, on any port
		boards.Prometheus = "http://" + defaultPrometheus
	}
	if _, err := boards.Write(o.path("grafana")); err != nil {
		return err
	}
	if err := o.say(s, sh, metrics); err != nil {
		return err
	}
	if o.ready != nil {
		o.ready(s, sh)
	}
	if o.once {
		return nil
	}
	fmt.Fprintln(o.out, "\nCtrl-C stops it; what was loaded is replaced by the next \"make demo\".")
	for done, played := v.done(), v.allPlayed(); ; {
		select {
		case <-ctx.Done():
			fmt.Fprintln(o.out, "stopping")
			return nil
		case <-s.engine.Done(): // it gave up, and close says why
			return nil
		case <-played:
			if ctx.Err() == nil {
				fmt.Fprintf(o.out, "%s: the last capture has come to the monitor; the rates of Prometheus fall to 0 now.\n", time.Now().Format("15:04:05"))
			}
			played = nil
		case <-done:
			if ctx.Err() == nil {
				fmt.Fprintf(o.out, "nothing more comes to Prometheus: %v\n", v.stop())
				v = nil
			}
			done = nil
		}
	}
}

// metrics starts what Prometheus has to do with, if it is of use and can be, and says what comes of
// that.
func (o *options) metrics(ctx context.Context, sh *shown) (*live, string, error) {
	const empty = "Panels of Prometheus stay empty, the numbers at the top of the overview among them: "
	if o.once {
		return nil, empty + "the demo ends.", nil
	}
	v, why, err := o.startLive(ctx, sh)
	if v == nil {
		return nil, empty + why + ".", err
	}
	begin, end := time.Now(), time.Now()
	for _, wait := range o.waits(sh) {
		end = end.Add(wait)
	}
	return v, fmt.Sprintf(`Prometheus at http://%s asks a monitor, to which captures come as well, each once and one after the other,
from now, %s, to about %s. Its panels, and the numbers at the top of the overview, are about that time: afterwards
rates fall to 0, and the numbers with them.`, o.prometheus, begin.Format("15:04:05"), end.Format("15:04:05")), nil
}

// defaultPrometheus is where Prometheus listens if nobody says otherwise.
const defaultPrometheus = "127.0.0.1:9090"

func (o *options) path(elem ...string) string {
	return filepath.Join(append([]string{o.dir}, elem...)...)
}

// explain adds what to do where ClickHouse can't be started.
func explain(err error) error {
	var used *engine.InUseError
	switch {
	case errors.As(err, &used):
		return fmt.Errorf("%w, as in make demo DEMO='-dir bin/demo2 -listen 127.0.0.1:0'", err)
	case errors.Is(err, engine.ErrPortTaken):
		return fmt.Errorf("%w, as in make demo DEMO='-listen 127.0.0.1:0', which takes a free one", err)
	}
	return err
}

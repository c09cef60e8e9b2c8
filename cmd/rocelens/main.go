// Command rocelens analyses RoCE traffic: RDMA over Ethernet, in capture
// files.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/rocelens/rocelens/storage/dsn"
	"github.com/rocelens/rocelens/storage/engine"
)

func main() {
	// Before anything else: this may be a ClickHouse that rocelens has started.
	if code, is := engine.Child(os.Args, os.Stderr); is {
		os.Exit(code)
	}
	os.Exit(mainExit())
}

// mainExit runs rocelens as a process: with its arguments, its streams and the
// signals that end it.
func mainExit() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	// A reader that goes away (`rocelens packets FILE | head`) is an error of
	// writing, which run knows, and not a reason to be killed.
	signal.Ignore(syscall.SIGPIPE)
	// Ours are handed about. To the default one, and to the one of package log, which goes
	// along, net/http writes what servers send unasked: passwords that they were sent, maybe.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	args := dsn.Conceal(os.Args[1:])
	return runWith(ctx, args, streams{os.Stdin, os.Stdout, os.Stderr, append(os.Args[:1:1], args...)})
}

// Exit codes. Where several apply, the highest wins.
const (
	exitDone    = 0
	exitFailed  = 1 // usage or environment
	exitDamaged = 2 // an input is damaged, not recognised or partly unread
	exitFinding = 3 // a finding at or above --fail-on
)

// streams are what a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
	// process has the arguments of the process, and its name before them, where the
	// command is all that the process is: it may begin anew. In tests it is empty.
	process []string
}

// codeError is an error with an exit code of its own. An empty message means
// that everything was said already.
type codeError struct {
	code int
	msg  string
}

func (e *codeError) Error() string { return e.msg }

// run is the whole program: it parses args, runs the command and returns the
// exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return runWith(ctx, args, streams{stdin, stdout, stderr, nil})
}

func runWith(ctx context.Context, args []string, s streams) int {
	root := newRoot(s)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
		return exitDone
	}
	code := exitDone
	for _, e := range split(err) {
		var coded *codeError
		msg, c := e.Error(), exitFailed
		if errors.As(e, &coded) {
			msg, c = coded.msg, coded.code
		}
		if msg != "" {
			fmt.Fprintln(s.err, "rocelens: "+msg)
		}
		code = max(code, c)
	}
	return code
}

// split takes apart what errors.Join joined where one of the errors has an exit
// code of its own.
func split(err error) []error {
	var coded *codeError
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || !errors.As(err, &coded) {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, split(e)...)
	}
	return all
}

func newRoot(io streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "rocelens",
		Short: "Analyse RoCE traffic (RDMA over Ethernet) in captures",
		Long: `rocelens reads captures of RoCE traffic (RDMA over Ethernet) and says what happened on the wire.

It reads pcap, pcapng and ERF files, plain or compressed by gzip or zstd, told by
their content and not by their names. RoCEv1, RoCEv2 over IPv4 and IPv6 and native
InfiniBand are decoded, also inside VLAN tags and the tunnels of mirror ports.

Exit codes: 0 done; 1 wrong usage, or a file can't be opened or written; 2 an input
is damaged or not a capture (what could be read is reported all the same); 3 there is
a finding at or above --fail-on. The highest wins.`,
		Example: `  rocelens analyze capture.pcapng
  rocelens session --qp 0x8c capture.pcapng
  rocelens packets capture.pcapng | less -S`,
		Version:       toolVersion(),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(io.in)
	root.SetOut(io.out)
	root.SetErr(io.err)
	root.SetFlagErrorFunc(explainFlagError)
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(newAnalyze(io), newPackets(io), newSession(io), newCorrelate(io), newFields(io), newAnnotate(io), newAnonymize(io), newGenerate(io), newMonitor(io), newStore(io), newDashboards(io), newVersion(io), newCompletion(io), newMan())
	return root
}

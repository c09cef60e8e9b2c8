// Package manpage writes the manual pages of a program from its commands.
package manpage

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// WriteAll writes a page for cmd and each command below it into dir, as
// PROGRAM-COMMAND.1. The date and the program's version are in their margins.
func WriteAll(dir string, cmd *cobra.Command, date, version string) error {
	f, err := os.Create(filepath.Join(dir, pageName(cmd)+".1"))
	if err != nil {
		return err
	}
	if err := Write(f, cmd, date, version); err != nil {
		f.Close()
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	if err := f.Close(); err != nil {
		return err
	}
	for _, c := range shown(cmd) {
		if err := WriteAll(dir, c, date, version); err != nil {
			return err
		}
	}
	return nil
}

// shown are the commands below cmd that users are told of.
func shown(cmd *cobra.Command) []*cobra.Command {
	return slices.DeleteFunc(slices.Clone(cmd.Commands()), func(c *cobra.Command) bool { return !c.IsAvailableCommand() })
}

func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// Write writes the page of one command, in the macros of man(7).
func Write(to io.Writer, cmd *cobra.Command, date, version string) error {
	w := &writer{bufio.NewWriter(to)}
	name := pageName(cmd)
	w.printf(".TH %s 1 %s %s\n", quote(strings.ToUpper(name)), quote(date), quote(version))
	w.printf(".SH NAME\n%s \\- %s\n", escape(name), escape(lowerFirst(cmd.Short)))
	w.section("SYNOPSIS")
	w.literal(cmd.UseLine())
	w.section("DESCRIPTION")
	long := cmd.Long
	if long == "" {
		long = cmd.Short + "."
	}
	w.text(long)
	w.options(cmd)
	if below := shown(cmd); len(below) > 0 {
		w.section("COMMANDS")
		for _, c := range below {
			w.printf(".TP\n.BR %s (1)\n%s\n", quote(pageName(c)), escape(c.Short))
		}
	}
	if cmd.HasExample() {
		w.section("EXAMPLES")
		w.literal(cmd.Example)
	}
	if cmd.HasParent() {
		w.section("SEE ALSO")
		w.printf(".BR %s (1)\n", quote(pageName(cmd.Parent())))
	}
	return w.Flush()
}

// writer keeps the first error until it is flushed.
type writer struct{ *bufio.Writer }

func (w *writer) printf(format string, args ...any) { fmt.Fprintf(w, format, args...) }

func (w *writer) section(name string) { w.printf(".SH %s\n", name) }

// literal writes lines as they are.
func (w *writer) literal(text string) {
	w.printf(".nf\n")
	for line := range strings.Lines(text) {
		w.printf("%s\n", escape(strings.TrimRight(line, " \n")))
	}
	w.printf(".fi\n")
}

// text writes paragraphs. Those that are indented are no prose, and stay as they are.
func (w *writer) text(text string) {
	for i, paragraph := range strings.Split(strings.Trim(text, "\n"), "\n\n") {
		if i > 0 {
			w.printf(".PP\n")
		}
		if strings.HasPrefix(paragraph, " ") {
			w.literal(paragraph)
			continue
		}
		for line := range strings.Lines(paragraph) {
			w.printf("%s\n", escape(strings.TrimRight(line, " \n")))
		}
	}
}

func (w *writer) options(cmd *cobra.Command) {
	cmd.InitDefaultHelpFlag()
	if !cmd.HasAvailableFlags() {
		return
	}
	w.section("OPTIONS")
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		w.printf(".TP\n")
		if f.Shorthand != "" {
			w.printf(`\fB\-%s\fR, `, escape(f.Shorthand))
		}
		w.printf(`\fB\-\-%s\fR`, escape(f.Name))
		if value != "" {
			w.printf(` \fI%s\fR`, escape(value))
		}
		if !slices.Contains([]string{"", "0", "0s", "false", "[]"}, f.DefValue) {
			usage += " (default " + f.DefValue + ")"
		}
		w.printf("\n%s\n", escape(usage))
	})
}

var special = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`)

// escape has a line printed as it is.
func escape(line string) string {
	line = special.Replace(line)
	if strings.HasPrefix(line, ".") {
		line = `\&` + line // else it would be a request
	}
	return line
}

// quote makes an argument of a macro.
func quote(s string) string { return `"` + strings.ReplaceAll(escape(s), `"`, `""`) + `"` }

// lowerFirst is for what stands behind a dash. Names and abbreviations stay.
func lowerFirst(s string) string {
	if word, _, _ := strings.Cut(s, " "); word != "" && word[1:] == strings.ToLower(word[1:]) {
		return strings.ToLower(s[:1]) + s[1:]
	}
	return s
}

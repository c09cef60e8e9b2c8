package config

import (
	"io"
	"strings"

	"github.com/spf13/pflag"
)

const exampleWidth = 100 // columns

// Example writes a file with each key, what it is for, and its default. Keys that
// have none are behind a #.
func Example(w io.Writer, flags *pflag.FlagSet, head string) error {
	var b strings.Builder
	comment(&b, head)
	flags.VisitAll(func(f *pflag.Flag) {
		if !IsKey(f) {
			return
		}
		what, usage := pflag.UnquoteUsage(f)
		b.WriteByte('\n')
		comment(&b, strings.ReplaceAll(strings.ToUpper(usage[:1])+usage[1:]+".", "--", ""))
		typ := f.Value.Type()
		switch {
		case Repeats(f):
			b.WriteString("# " + f.Name + ": [" + what + "]\n")
		case f.DefValue == "" || isNumber(typ) && f.DefValue == "0":
			b.WriteString("# " + f.Name + ": " + what + "\n")
		default:
			b.WriteString(f.Name + ": " + f.DefValue + "\n")
		}
	})
	_, err := io.WriteString(w, b.String())
	return err
}

// comment writes text as lines of a comment. Empty and indented lines stay.
func comment(b *strings.Builder, text string) {
	for part := range strings.Lines(text) {
		if strings.HasPrefix(part, "  ") { // as it is
			b.WriteString("# " + strings.TrimRight(part, "\n") + "\n")
			continue
		}
		line := "#"
		for _, word := range strings.Fields(part) {
			if len(line)+1+len(word) > exampleWidth {
				b.WriteString(line + "\n")
				line = "#"
			}
			line += " " + word
		}
		b.WriteString(line + "\n")
	}
}

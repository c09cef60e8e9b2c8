package main

import (
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
)

func newFields(io streams) *cobra.Command {
	return &cobra.Command{
		Use:   "fields [PATTERN]",
		Short: "List the fields that packets can show",
		Long: `fields lists the fields that "packets -T fields -e FIELD" and filters (-Y) take: name,
type, whose name it is, and what it is called. Names are Wireshark's wherever Wireshark has the
field.

With a PATTERN, only fields whose name or label holds it are listed; upper and lower
case are the same. It is plain text, not a regular expression.`,
		Example: `  rocelens fields
  rocelens fields bth
  rocelens fields "sequence number"`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("fields takes one PATTERN, not %d: look for one word at a time, or put quotes around one with blanks, "+
					"as in rocelens fields \"sequence number\"", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			pattern := ""
			if len(args) == 1 {
				pattern = strings.ToLower(args[0])
			}
			w := tabwriter.NewWriter(io.out, 0, 8, 2, ' ', 0)
			n := 0
			for _, f := range decode.Fields() {
				if !strings.Contains(f.Name, pattern) && !strings.Contains(strings.ToLower(f.Label), pattern) {
					continue
				}
				n++
				whose := "Wireshark"
				if f.Ours {
					whose = "rocelens"
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", f.Name, f.Type, whose, f.Label)
			}
			if err := w.Flush(); err != nil {
				return err
			}
			if n == 0 {
				return noField(args[0])
			}
			return nil
		},
	}
}

// noField says that no field holds a pattern, and why that may be.
func noField(pattern string) error {
	say := "no field has " + capture.Quoted(pattern) + " in its name or label"
	switch near := decode.NearestField(pattern); {
	case strings.ContainsAny(pattern, `\^$*+?()[]{}|`):
		say += ": it is taken as plain text, not as a regular expression"
	case near != "":
		say += ": did you mean " + near + "?"
	}
	return errors.New(say)
}

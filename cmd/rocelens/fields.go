package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/rocelens/rocelens/decode"
)

func newFields(io streams) *cobra.Command {
	return &cobra.Command{
		Use:   "fields [PATTERN]",
		Short: "List the fields that packets can show",
		Long: `fields lists the fields that "packets -T fields -e FIELD" takes: name, type, whose
name it is, and what it is called. Names are Wireshark's wherever Wireshark has the
field.

With a PATTERN, only fields whose name or label holds it are listed; upper and lower
case are the same.`,
		Example: `  rocelens fields
  rocelens fields bth
  rocelens fields "sequence number"`,
		Args: cobra.MaximumNArgs(1),
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
				return fmt.Errorf("no field has %q in its name or label", args[0])
			}
			return nil
		},
	}
}

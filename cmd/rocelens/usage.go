package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rocelens/rocelens/decode"
)

// needFiles refuses a command line without a capture.
func needFiles(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("%s needs a capture file, a directory of them, or - for standard input; see %s --help",
			cmd.Name(), cmd.CommandPath())
	}
	return nil
}

// explainFlagError adds to the error of a flag that does not exist the flag
// that was probably meant.
func explainFlagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && len(unknown.GetSpecifiedName()) > 1 {
		if near := nearestFlag(cmd, unknown.GetSpecifiedName()); near != "" {
			return fmt.Errorf("%w: did you mean --%s?", err, near)
		}
	}
	return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
}

func nearestFlag(cmd *cobra.Command, name string) string {
	const tooFar = 3 // edits; more is another word
	best, found := tooFar, ""
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		d := decode.EditDistance(name, f.Name)
		if strings.HasPrefix(f.Name, name) {
			d = min(d, 1)
		}
		if d < best {
			best, found = d, f.Name
		}
	})
	return found
}

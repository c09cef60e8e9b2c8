package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rocelens/rocelens/cmd/rocelens/config"
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
		every := func(*pflag.Flag) bool { return true }
		if near := config.Nearest(cmd.Flags(), unknown.GetSpecifiedName(), every); near != "" {
			return fmt.Errorf("%w: did you mean --%s?", err, near)
		}
	}
	var invalid *pflag.InvalidValueError
	var number *strconv.NumError
	if errors.As(err, &invalid) && errors.As(err, &number) {
		err = notANumber(invalid)
	}
	return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
}

// notANumber says what is wrong with a flag's value that should be a number.
func notANumber(e *pflag.InvalidValueError) error {
	f := e.GetFlag()
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	return fmt.Errorf("invalid argument %q for %q flag: %w", e.GetValue(), name, config.Reason(f, e)) // as pflag says it
}

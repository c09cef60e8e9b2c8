package main

import (
	"errors"
	"fmt"
	"strconv"
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
	var invalid *pflag.InvalidValueError
	var number *strconv.NumError
	if errors.As(err, &invalid) && errors.As(err, &number) {
		err = notANumber(invalid, number)
	}
	return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
}

// notANumber says what is wrong with a flag's value that should be a number.
func notANumber(e *pflag.InvalidValueError, number *strconv.NumError) error {
	f := e.GetFlag()
	why := "use a number, as in 0.01"
	switch typ := f.Value.Type(); {
	case errors.Is(number, strconv.ErrRange):
		why = "the number is too large"
	case strings.HasPrefix(typ, "uint"):
		why = "use a whole number, 0 or more"
	case strings.HasPrefix(typ, "int"):
		why = "use a whole number"
	}
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	return fmt.Errorf("invalid argument %q for %q flag: %s", e.GetValue(), name, why) // as pflag says it
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

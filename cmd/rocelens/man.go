package main

import (
	"github.com/spf13/cobra"

	"github.com/rocelens/rocelens/cmd/rocelens/manpage"
)

// newMan is for those who make packages.
func newMan() *cobra.Command {
	var date string
	cmd := &cobra.Command{
		Use:    "man DIR",
		Short:  "Write the manual pages into a directory",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return manpage.WriteAll(args[0], cmd.Root(), date, "rocelens "+toolVersion())
		},
	}
	cmd.Flags().StringVar(&date, "date", "", "`DATE` of the pages")
	return cmd
}

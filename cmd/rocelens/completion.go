package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
)

func newCompletion(io streams) *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish",
		Short: "Write the shell's completion script",
		Long: `completion writes a script that teaches your shell to complete rocelens' commands,
flags and values.`,
		Example: `  source <(rocelens completion bash)                  # for this shell
  rocelens completion bash > /etc/bash_completion.d/rocelens
  rocelens completion zsh > "${fpath[1]}/_rocelens"
  rocelens completion fish > ~/.config/fish/completions/rocelens.fish`,
		ValidArgs: []string{"bash", "zsh", "fish"},
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || !slices.Contains(cmd.ValidArgs, args[0]) {
				return errors.New("completion needs one of the shells bash, zsh and fish")
			}
			return nil
		},
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(io.out, true)
			case "zsh":
				return root.GenZshCompletion(io.out)
			case "fish":
				return root.GenFishCompletion(io.out, true)
			}
			return fmt.Errorf("no completion for %s", args[0])
		},
	}
}

//go:build !unix

package main

import "os"

// terminalWidth takes nothing as a terminal: text comes plain.
func terminalWidth(*os.File) (columns int, ok bool) { return 0, false }

// Benchlive measures live capture: in a network of its own with a cable, one end
// of which sends RoCE at a steady rate, it runs rocelens monitor at the other end
// and then tcpdump -w /dev/null, in turns, and says what each lost and took. It
// needs Linux.
package main

import (
	"fmt"
	"os"
)

func main() {
	if err := command(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "benchlive:", err)
		os.Exit(1)
	}
}

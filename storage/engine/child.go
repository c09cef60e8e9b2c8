package engine

import (
	"fmt"
	"io"
)

// childArg is the first argument of the program when it is to be a ClickHouse.
// The others are the library, the configuration, and native or not.
const childArg = "__clickhouse"

// What a child finds open besides its standard streams.
const (
	lockFD  = 3 // the lock of the directory, held as long as the child lives
	guardFD = 4 // a pipe whose other end is ours, and closes with us
)

// Child is to be called first thing in main, with os.Args. Where an engine has
// started the program as its ClickHouse, Child becomes that, and returns an exit
// code and true when it has ended. Otherwise it does nothing.
func Child(args []string, stderr io.Writer) (code int, is bool) {
	if len(args) != 5 || args[1] != childArg {
		return 0, false
	}
	if err := becomeClickHouse(args[2], args[3], args[4] == "native"); err != nil {
		fmt.Fprintln(stderr, err)
		return 1, true
	}
	return 0, true
}

// waiting keeps clickhouse-local at work, which ends with its last query, for
// longer than any machine. It needs no privilege. That it looks up four times a
// second is how fast it ends when the query is killed.
const waiting = "SELECT sleepEachRow(0.25) FROM numbers(1000000000000000) SETTINGS max_block_size = 1, max_execution_time = 0 FORMAT Null"

// killWaiting ends it, and with it ClickHouse, in order.
const killWaiting = "KILL QUERY WHERE query LIKE 'SELECT sleepEachRow(0.25) FROM numbers(1000000000000000) %' AND user != '" + user + "' ASYNC"

// libraryArgs are the arguments of clickhouse-local. It takes the level of its
// log from here alone.
func libraryArgs(config string, native bool) []string {
	args := []string{
		"--config-file", config, "--log-level", "warning", "--logger.console", "1",
		"--query", "SYSTEM START LISTEN HTTP",
	}
	if native {
		args = append(args, "--query", "SYSTEM START LISTEN TCP")
	}
	return append(args, "--query", waiting)
}

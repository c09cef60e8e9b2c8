package dsn

import (
	"strings"
)

// Conceal returns a copy of the arguments of the program, and takes passwords of
// DSNs out of the originals: where they are the process's own memory, as on
// Linux, ps and /proc show them no longer. What they showed before that, and
// what a shell keeps, is why there are files and the environment.
func Conceal(args []string) []string {
	safe := make([]string, len(args))
	for i, a := range args {
		safe[i] = strings.Clone(a)
		if from, to, ok := passwordIn(a); ok {
			overwrite(a, from, to)
		}
	}
	return safe
}

// passwordIn finds the password in an argument that is, or ends in, a DSN.
func passwordIn(arg string) (from, to int, ok bool) {
	for _, scheme := range []string{"clickhouse://", "http://", "https://"} {
		i := strings.Index(arg, scheme)
		if i < 0 {
			continue
		}
		i += len(scheme)
		at := strings.LastIndexByte(arg[i:], '@')
		colon := strings.IndexByte(arg[i:], ':')
		if colon >= 0 && at > colon {
			return i + colon + 1, i + at, true
		}
	}
	return 0, 0, false
}

package words

import (
	"strings"
	"unicode"
)

// Shell writes a path so that a shell takes it as one word, and so that it
// can't control a terminal.
func Shell(path string) string {
	if len(path) > 1 && path[0] == '-' {
		path = "./" + path // and no flag
	}
	plain, printable := path != "", true
	for _, r := range path {
		plain = plain && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+,:=@%", r))
		printable = printable && r != unicode.ReplacementChar && unicode.IsPrint(r)
	}
	switch {
	case plain:
		return path
	case printable:
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	b := []byte("$'")
	for _, c := range []byte(path) {
		switch {
		case c == '\'' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ' || c > '~':
			// Octal, which ends after three digits; more of them would belong
			// to a hexadecimal one.
			b = append(b, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
		default:
			b = append(b, c)
		}
	}
	return string(append(b, '\''))
}

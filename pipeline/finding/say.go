package finding

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
)

// share is part of whole, 0 to 1.
func share(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

func address(a decode.Addr, k decode.AddrKind) string { return string(a.Append(nil, k)) }

func hex(v uint64, digits int) string {
	s := strconv.FormatUint(v, 16)
	return "0x" + strings.Repeat("0", max(0, digits-len(s))) + s
}

// listed is the first maxListed of a list, and what to say of the rest.
func listed(all []string) string {
	s := strings.Join(all[:min(len(all), maxListed)], ", ")
	if n := len(all) - maxListed; n > 0 {
		s += " and " + count(uint64(n)) + " more"
	}
	return s
}

// showFrame is the command that shows a frame and its bytes. It names the one
// input that has the frame, so that the number alone will do.
func showFrame(f *Facts, at record.FrameRef) string {
	path := "FILE"
	if int(at.Input) < len(f.Inputs) {
		path = shellWord(f.Inputs[at.Input].Path)
	}
	return "`rocelens packets --frames " + strconv.FormatUint(at.Number, 10) + " -x " + path + "`"
}

// shellWord writes a path so that a shell takes it as one word, and so that it
// can't control a terminal.
func shellWord(path string) string {
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

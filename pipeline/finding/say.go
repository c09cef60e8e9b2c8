package finding

import (
	"strconv"
	"strings"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/words"
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
		path = words.Shell(f.Inputs[at.Input].Path)
	}
	return "`rocelens packets --frames " + strconv.FormatUint(at.Number, 10) + " -x " + path + "`"
}

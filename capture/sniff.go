package capture

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// sniffWindow is how much of an input is looked at to tell its format: the
// largest ERF record, and the header of the next.
const sniffWindow = 1<<16 + erfHeader

// others are files that are well known and not read, told by their first bytes.
var others = []struct{ magic, name string }{
	{"snoop\x00\x00\x00", "a Solaris snoop capture: convert it with editcap -F pcapng"},
	{"GMBU", "a Microsoft NetMon 2 capture: convert it with editcap -F pcapng"},
	{"RTSS", "a Microsoft NetMon 1 capture: convert it with editcap -F pcapng"},
	{"TRSNIFF data", "a Sniffer capture: convert it with editcap -F pcapng"},
	{"XCP\x00", "a Sniffer or NetXRay capture: convert it with editcap -F pcapng"},
	{"iptrace ", "an AIX iptrace: convert it with editcap -F pcapng"},
	{"\x7fELF", "an ELF program or library"},
	{"MZ", "a Windows program"},
	{"PK\x03\x04", "a zip archive: unpack it first"},
	{"7z\xbc\xaf\x27\x1c", "a 7-zip archive: unpack it first"},
	{"\xfd7zXZ\x00", "compressed by xz: unpack it first"},
	{"BZh", "compressed by bzip2: unpack it first"},
	{"\x04\x22\x4d\x18", "compressed by lz4: unpack it first"},
	{"\x1f\x9d", "compressed by compress: unpack it first"},
	{"%PDF", "a PDF document"},
	{"SQLite format 3", "an SQLite database"},
	{"PAR1", "a Parquet file"},
	{"<?xml", "an XML document"},
}

// leastToTell is how many bytes compressions and captures begin with to be told by.
const leastToTell = 4

// unknownFormat says what the first bytes of an input, once it was decompressed, look
// like instead of a capture.
func unknownFormat(head []byte, c Compression) string {
	begins := fmt.Sprintf("begins with % x", head[:min(len(head), 8)])
	const tarMagic = 257
	name := ""
	for _, o := range others {
		if strings.HasPrefix(string(head[:min(len(head), 16)]), o.magic) {
			name = o.name
			break
		}
	}
	trimmed := bytes.TrimLeft(head, " \t\r\n")
	switch {
	case name != "":
	case c != Plain && compressionOf(head) != Plain:
		name = "compressed by " + compressionOf(head).String() + ", again: unpack it first"
	case len(head) < leastToTell:
		// Of what else there is, the first bytes can be text.
		return "not a pcap, pcapng or ERF capture (" + begins + " and ends, too early to tell what it is)"
	case strings.HasPrefix(string(head), "\x1f\x8b"):
		name = "compressed by gzip in a way that is not defined"
	case len(head) > tarMagic+5 && string(head[tarMagic:tarMagic+5]) == "ustar":
		name = "a tar archive: unpack it first"
	case len(bytes.Trim(head, "\x00")) == 0:
		name = "nothing but zero bytes"
	case isText(head) && len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '['):
		name = "a JSON document"
	case isText(head):
		name = "text"
	}
	if name != "" {
		begins += ", looks like " + name
	}
	return "not a pcap, pcapng or ERF capture (" + begins + ")"
}

// isText says whether the first bytes could be read by a person.
func isText(head []byte) bool {
	head = head[:min(len(head), 512)]
	text := 0
	for len(head) > 0 {
		r, n := utf8.DecodeRune(head)
		if !utf8.FullRune(head) {
			return text > 0 // cut in the middle of a letter
		}
		if r == utf8.RuneError || !unicode.IsPrint(r) && !unicode.IsSpace(r) {
			return false
		}
		text++
		head = head[n:]
	}
	return text > 0
}

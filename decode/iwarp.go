package decode

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

var (
	mpaRequest = []byte("MPA ID Req Frame")
	mpaReply   = []byte("MPA ID Rep Frame")
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// isMPA says whether a TCP segment, of which b was captured and n bytes are on
// the wire, is MPA, the framing of iWARP (RFC 5044): it begins with a start-up
// key, or with a framed unit that holds DDP (RFC 5041) and RDMAP (RFC 5040)
// and is right in its CRC. Someone who looks for RoCE and captured iWARP
// should be told.
//
//	+-------------------------------+---------------+---------------+
//	|    ULPDU length, n bytes      | T L res(4) DV | RV R(2) opcode|
//	+-------------------------------+---------------+---------------+
//	|   rest of the ULPDU, padding to 4, CRC-32C (4)                |
//	+---------------------------------------------------------------+
func isMPA(b []byte, n int) bool {
	if len(b) < 20 {
		return false
	}
	if bytes.HasPrefix(b, mpaRequest) || bytes.HasPrefix(b, mpaReply) {
		return true
	}
	unit := int(be16(b)) + 2
	unit += -unit & 3
	ddp, rdmap := b[2], b[3]
	if unit+4 > n || unit < 16 || ddp&0x3f != 1 || rdmap>>6 > 1 || rdmap&0x30 != 0 || rdmap&0x0f > 0x0b {
		return false
	}
	if unit+4 > len(b) { // cut off: the headers and an exact fit must do
		return unit+4 == n
	}
	sum := binary.LittleEndian.Uint32(b[unit:])
	if sum == 0 { // the CRC may be off; then the fit must do
		return unit+4 == n
	}
	return crc32.Checksum(b[:unit], castagnoli) == sum
}

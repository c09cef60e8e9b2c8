// Package packets shows packets one by one, in Wireshark's manner: as a list, as
// trees, as chosen fields, and as JSON. It shows what decode says of a packet,
// and concludes nothing.
package packets

import (
	"github.com/rocelens/rocelens/decode"
)

// Writer writes packets in one form. Errors of writing are kept, and returned
// by the next Flush and by Close.
type Writer interface {
	// Write writes one packet, whose made-up values are kept in x.
	Write(p *decode.Packet, x *decode.Extra)
	// Flush hands on what is buffered.
	Flush() error
	// Close writes what ends the output. It does not close what is below.
	Close() error
}

// bufferSize is how much output is collected before it is handed on.
const bufferSize = 1 << 16

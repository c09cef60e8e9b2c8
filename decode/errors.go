package decode

import "strconv"

// Error says where and why a packet could not be decoded further, or which of
// its headers contradict one another. It is a plain value: a packet with an
// error is still a packet.
type Error struct {
	Code  ErrorCode
	Layer LayerKind
	// Offset is where in the frame the layer begins, in bytes.
	Offset uint32
	// Need and Have are what the code speaks of, mostly bytes.
	Need, Have uint32
}

// ErrorCode is a kind of decode error.
type ErrorCode uint8

// The kinds of decode errors.
const (
	ErrNone      ErrorCode = iota
	ErrTruncated           // the layer needs Need bytes, Have were captured: data, not damage
	ErrShort               // the layer needs Need bytes, the headers before it leave Have
	ErrLength              // the layer's own length field says Have, at least Need must be
	ErrVersion             // a version field says Have where Need is expected
	ErrLengths             // two length fields differ: UDP says Have, IP leaves Need
	ErrTooDeep             // more than MaxLayers headers or MaxTunnels tunnels
	ErrPad                 // the pad count is larger than what is left for payload
	ErrUnknown             // a type field, Have, that is not decoded
	ErrBadIPSum            // the IP length, Need, goes beyond the frame, Have, and the IP checksum is wrong
	numErrorCodes
)

// Error is one sentence: "UDP at byte 34: needs 8 bytes, 4 captured".
func (e Error) Error() string {
	if e.Code == ErrNone {
		return ""
	}
	n := func(v uint32) string { return strconv.FormatUint(uint64(v), 10) }
	s := e.Layer.String() + " at byte " + n(e.Offset) + ": "
	switch e.Code {
	case ErrTruncated:
		s += "needs " + n(e.Need) + " bytes, " + n(e.Have) + " captured"
	case ErrShort:
		s += "needs " + n(e.Need) + " bytes, " + n(e.Have) + " left"
	case ErrLength:
		s += "length field says " + n(e.Have) + ", at least " + n(e.Need) + " must be"
	case ErrVersion:
		s += "version " + n(e.Have) + ", expected " + n(e.Need)
	case ErrLengths:
		s += "length field says " + n(e.Have) + ", IP leaves " + n(e.Need)
	case ErrTooDeep:
		s += "too many headers inside one another"
	case ErrPad:
		s += "pad count " + n(e.Need) + ", but " + n(e.Have) + " bytes are left"
	case ErrUnknown:
		s += "unknown type 0x" + strconv.FormatUint(uint64(e.Have), 16)
	case ErrBadIPSum:
		s += "length " + n(e.Need) + " goes beyond the frame's " + n(e.Have) + " bytes, and the header checksum is wrong"
	}
	return s
}

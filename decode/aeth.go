package decode

import (
	"strconv"
	"time"
)

// Syndrome is AETH's first byte.
//
//	bit   7    6..5   4..0
//	    +----+------+-------+
//	    | 0  | type | value |   type 00 ACK, 01 RNR NAK, 10 reserved, 11 NAK
//	    +----+------+-------+
//
// InfiniBand Architecture Specification, volume 1, 9.7.5.2; the value tables
// agree with the kernel's rxe_hdr.h and rdmavt.
type Syndrome uint8

// AckType is what an AETH says.
type AckType uint8

// The kinds of AETH.
const (
	Ack AckType = iota
	RNRNak
	AckReserved // bits 6 and 5 are 10, or bit 7 is set
	Nak
)

// Type tells an ACK from a NAK.
func (s Syndrome) Type() AckType {
	if s&0x80 != 0 {
		return AckReserved
	}
	return AckType(s >> 5)
}

// NakCode is the value of a NAK.
type NakCode uint8

// The NAK codes; 5 to 31 are reserved.
const (
	NakSequence NakCode = iota // PSN sequence error: the packet with the expected PSN did not come
	NakInvalidRequest
	NakRemoteAccess
	NakRemoteOperational
	NakInvalidRDRequest
)

// Code is the NAK code; valid where Type is Nak.
func (s Syndrome) Code() NakCode { return NakCode(s & 0x1f) }

var nakNames = [...]string{
	"PSN sequence error", "invalid request", "remote access error", "remote operational error", "invalid RD request",
}

func (c NakCode) String() string {
	if int(c) < len(nakNames) {
		return nakNames[c]
	}
	return "reserved code " + strconv.Itoa(int(c))
}

// creditCounts are the credits that an ACK's value stands for; 31 is "no
// credit count".
var creditCounts = [31]uint16{
	0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096,
	6144, 8192, 12288, 16384, 24576, 32768,
}

// Credits is the number of receives that the responder has posted, as an ACK
// states it; ok is false where it states none (shared receive queues).
func (s Syndrome) Credits() (n int, ok bool) {
	if v := s & 0x1f; s.Type() == Ack && v < 31 {
		return int(creditCounts[v]), true
	}
	return 0, false
}

// rnrMicroseconds are the waiting times of RNR NAKs.
var rnrMicroseconds = [32]uint32{
	655360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960, 1280, 1920, 2560, 3840, 5120, 7680, 10240,
	15360, 20480, 30720, 40960, 61440, 81920, 122880, 163840, 245760, 327680, 491520,
}

// RNRTimer is how long the requester must wait at least after an RNR NAK.
func (s Syndrome) RNRTimer() time.Duration {
	return time.Duration(rnrMicroseconds[s&0x1f]) * time.Microsecond
}

// Append appends the syndrome in words: "ACK, 12 credits", "RNR NAK, wait
// 10.24ms", "NAK, PSN sequence error".
func (s Syndrome) Append(dst []byte) []byte {
	switch s.Type() {
	case Ack:
		dst = append(dst, "ACK"...)
		if n, ok := s.Credits(); ok {
			dst = strconv.AppendInt(append(dst, ", "...), int64(n), 10)
			dst = append(dst, " credits"...)
		}
	case RNRNak:
		dst = append(dst, "RNR NAK, wait "...)
		dst = append(dst, s.RNRTimer().String()...)
	case Nak:
		dst = append(append(dst, "NAK, "...), s.Code().String()...)
	default:
		dst = append(dst, "reserved syndrome 0x"...)
		dst = append(dst, "0123456789abcdef"[s>>4], "0123456789abcdef"[s&15])
	}
	return dst
}

func (s Syndrome) String() string { return string(s.Append(nil)) }

package schema

import (
	"math/bits"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
)

// flowKey is what makes packets one flow, for all of its lives.
type flowKey struct {
	version  record.Version
	src, dst decode.Addr
	dstQPN   uint32
	srcQPN   uint32 // of UD, with hasSrc
	vni      uint32 // with hasVNI
	hasSrc   bool
	hasVNI   bool
}

// number is the column flow. It is in the data of every store, so it can't be
// changed.
func (k *flowKey) number() uint64 {
	words := [7]uint64{
		k.src.Hi, k.src.Lo, k.dst.Hi, k.dst.Lo,
		uint64(k.dstQPN) | uint64(k.version)<<32,
	}
	if k.hasSrc {
		words[5] = uint64(k.srcQPN) | 1<<32
	}
	if k.hasVNI {
		words[6] = uint64(k.vni) | 1<<32
	}
	h := uint64(0x9e3779b97f4a7c15)
	for _, w := range words {
		// The odd constants are the fractional parts of the golden ratio and of
		// the square root of 3.
		hi, lo := bits.Mul64(h^w, 0xbb67ae8584caa73b)
		h = bits.RotateLeft64(hi^lo, 29) + 0x9e3779b97f4a7c15
	}
	return h ^ h>>32
}

func flowOfInterval(r *interval) uint64 {
	k := flowKey{
		version: r.Version, src: r.Src, dst: r.Dst, dstQPN: r.DestQPN, srcQPN: r.SrcQPN, hasSrc: r.HasSrcQPN, vni: r.VNI, hasVNI: r.HasVNI,
	}
	return k.number()
}

// flowOfSession is the flow of a session from one end to the other.
func flowOfSession(s *record.Session, from, to record.Endpoint) uint64 {
	k := flowKey{version: s.Version, src: from.Addr, dst: to.Addr, dstQPN: to.QPN, vni: s.VNI, hasVNI: s.HasVNI}
	if s.Service == record.UD && from.HasQPN {
		k.srcQPN, k.hasSrc = from.QPN, true
	}
	return k.number()
}

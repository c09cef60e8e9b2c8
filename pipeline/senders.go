package pipeline

import (
	"cmp"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
)

// maxSenders is how many senders are told apart: those of a few racks. A row
// is 80 bytes, and each shard has a table.
const maxSenders = 512

// Senders counts the ICRCs of each sender: of each source address.
type Senders struct {
	Rows  [maxSenders]Sender // ascending, N of them
	N     int
	Other Sender // all senders that have no row
}

// Sender is what is known of one sender's ICRCs.
type Sender struct {
	Addr      decode.Addr
	AddrKind  decode.AddrKind
	Good, Bad uint64
	FirstBad  record.FrameRef // valid where Bad is not 0, and so are the next
	// LowBad and HighBad are the lowest and the highest of the bad ICRCs, as
	// Packet.ICRC has them. They are equal where all are.
	LowBad, HighBad uint32
}

// minConstant is how many bad ICRCs of a sender that has good ones as well must
// be equal to say that they are a constant: packets that are changed on the way
// keep ICRCs that differ, unless the same one is sent again and changed again.
const minConstant = 8

// Constant says whether the sender puts a constant in place of some ICRCs, but
// not all: LowBad.
func (s *Sender) Constant() bool {
	return s.Good > 0 && s.Bad >= minConstant && s.LowBad == s.HighBad
}

type senderKey struct {
	addr decode.Addr
	kind decode.AddrKind
}

func (s *Sender) compare(k senderKey) int {
	// Nearly all differ in Lo.
	if s.Addr.Hi == k.addr.Hi && s.Addr.Lo != k.addr.Lo {
		return cmp.Compare(s.Addr.Lo, k.addr.Lo)
	}
	return cmp.Or(cmp.Compare(s.Addr.Hi, k.addr.Hi), cmp.Compare(s.AddrKind, k.kind))
}

func (s *Sender) reset(k senderKey) { *s = Sender{Addr: k.addr, AddrKind: k.kind} }

func (s *Sender) add(o *Sender) {
	s.Good += o.Good
	if o.Bad == 0 {
		return
	}
	s.bad(o.Bad, o.FirstBad, o.LowBad, o.HighBad)
}

func (s *Sender) bad(n uint64, first record.FrameRef, low, high uint32) {
	if s.Bad == 0 {
		s.FirstBad, s.LowBad, s.HighBad = first, low, high
	}
	earlier(&s.FirstBad, first, true)
	s.LowBad, s.HighBad = min(s.LowBad, low), max(s.HighBad, high)
	s.Bad += n
}

// count counts a packet of a sender whose ICRC was checked, and returns its
// row, which is where it is until another row comes.
func (t *Senders) count(k senderKey, good bool, icrc uint32, ref record.FrameRef) *Sender {
	s := place(t.Rows[:], &t.N, &t.Other, k)
	if good {
		s.Good++
	} else {
		s.bad(1, ref, icrc, icrc)
	}
	return s
}

// computes says whether a sender has sent a good ICRC so far, and the wrong one
// given is not a constant that stands in for one: no packet that was changed on
// the way has 0 or all ones, and no two of them have the same. It does not
// count.
func (t *Senders) computes(k senderKey, icrc uint32) bool {
	if icrc == 0 || icrc == 0xffffffff {
		return false
	}
	for i := range t.N {
		if r := &t.Rows[i]; r.Addr == k.addr && r.AddrKind == k.kind {
			return r.Good > 0 && (r.Bad < 2 || r.LowBad != r.HighBad || r.LowBad != icrc)
		}
	}
	return t.Other.Good > 0
}

func (t *Senders) merge(o *Senders) {
	for i := range o.N {
		r := &o.Rows[i]
		place(t.Rows[:], &t.N, &t.Other, senderKey{r.Addr, r.AddrKind}).add(r)
	}
	t.Other.add(&o.Other)
}

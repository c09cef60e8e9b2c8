package capture

import "strconv"

// MaxFrame is the most bytes that one frame's record may hold. It is 64 times
// what any snap length in use allows, so that no real frame is refused, and
// small enough that a made-up length can't take much memory.
const MaxFrame = 16 << 20

// parser cuts a format's bytes into frames. It never reads: it is handed what
// is there, and says what it wants next.
type parser interface {
	// parse takes whole records off buf until the feed's frames are full or
	// the next record is not all there. It keeps feed.used and feed.count true
	// after each record, so that they hold even if touching buf faults.
	parse(buf []byte, f *feed)
	// describe fills in what the input has said of itself.
	describe(in *Input)
}

// feed is what a parser is given and how far it got.
type feed struct {
	batch  *Batch
	frames []Frame // to be filled
	base   int64   // offset of buf[0] in the input
	number uint64  // of the input's frame before frames[0]
	input  int32

	used  int // bytes of buf that are done with
	count int // frames filled
	// One of these says why parse returned with frames not full: need is how
	// many bytes from buf[used] on it must see at least, skip how many to
	// leave out unseen, reason why the record at buf[used] can't be read.
	need   int
	skip   int64
	reason string
	// inside says that even at its very first byte buf[used:] is in the middle
	// of a record, the one that began at start.
	inside bool
	start  int64
}

// damage reports why the record at buf[used] can't be read.
func (f *feed) damage(parts ...any) {
	s := ""
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			s += p
		case int:
			s += strconv.Itoa(p)
		case uint32:
			s += strconv.FormatUint(uint64(p), 10)
		}
	}
	f.reason = s
}

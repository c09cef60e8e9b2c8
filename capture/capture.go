// Package capture says where frames come from: it reads pcap, pcapng and ERF
// files, plain or compressed, from disk or from standard input, one after the
// other or merged by time, and hands out their frames in batches without
// copying them. It knows nothing of what is in a frame.
package capture

import (
	"fmt"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// BatchFrames is the most frames that one Batch holds. It is large enough that
// the cost of a call a batch vanishes, and small enough that the frames'
// headers stay in the cache between reading and decoding.
const BatchFrames = 2048

// Source is anything that hands out frames in batches.
type Source interface {
	// ReadBatch replaces what b holds by the next frames. It returns nil with
	// at least one frame (live sources also without), io.EOF at the end, or the error that ended reading:
	// frames read before an error are handed out first, and the error with the
	// call after. The frames stay valid until b is read into again or the
	// source is closed, so several batches may be in flight.
	ReadBatch(b *Batch) error
	// Inputs describes each input with what has been read of it so far. The
	// caller owns the answer. It may not be called while ReadBatch runs.
	Inputs() []Input
	// Close frees files and mappings. Frames are invalid afterwards.
	Close() error
}

// Batch is a run of frames in the order of their source. The zero value is
// ready for ReadBatch.
type Batch struct {
	Frames []Frame
	// Now is, of live sources, a time as Frame.Time before which no more frames
	// come; else 0.
	Now int64

	buf     []byte         // where the frames' bytes are, unless they are mapped
	options []blockOptions // what Frame.options points to
}

// reset empties b and makes room for a full batch, so that pointers into its
// slices stay good while it fills.
func (b *Batch) reset() {
	if cap(b.Frames) < BatchFrames {
		b.Frames = make([]Frame, 0, BatchFrames)
	}
	b.Frames, b.Now = b.Frames[:0], 0
	b.options = b.options[:0]
}

// keep notes a frame's options for Frame.Comments.
func (b *Batch) keep(raw []byte, swap bool) *blockOptions {
	if cap(b.options) < BatchFrames {
		b.options = make([]blockOptions, 0, BatchFrames)
	}
	b.options = append(b.options, blockOptions{raw: raw, swap: swap})
	return &b.options[len(b.options)-1]
}

// room is space for the next frame of a batch.
func (b *Batch) room(n int) []byte {
	const least = 1 << 18
	if cap(b.buf)-len(b.buf) < n {
		// What frames have of the old one stays theirs.
		b.buf = make([]byte, 0, max(2*cap(b.buf), least, n))
	}
	at := len(b.buf)
	b.buf = b.buf[:at+n]
	return b.buf[at:][:n:n]
}

// Frame is one captured frame.
type Frame struct {
	// Data is what was captured, an alias of memory that the batch or the
	// source owns. It is never written to.
	Data []byte
	// Time is nanoseconds since the epoch, UTC. A frame without a time stamp
	// (pcapng's Simple Packet Block) has the time of the frame before it.
	Time int64
	// Number counts the frames of one input from 1, as Wireshark does.
	Number uint64
	// Offset is where the frame's record or block begins in its input, in
	// bytes; in a compressed input it counts decompressed bytes.
	Offset int64
	// OrigLen is the frame's length on the wire as the capture states it, in
	// bytes; len(Data) is less where the capture cut it short.
	OrigLen uint32
	// Input and Interface are indices into Source.Inputs and Input.Interfaces.
	Input     int32
	Interface int32
	Link      LinkType
	// FCSLen is how many bytes of frame check sequence the capture says are at
	// the frame's end, or -1 where it says nothing.
	FCSLen int8

	options *blockOptions // of its pcapng block, nil if it has neither a comment nor a flag
}

// Input is one file (or standard input) and what has been read of it.
type Input struct {
	Path        string
	Format      Format
	Compression Compression
	// Frames and Bytes count what was handed out so far; Bytes are those on
	// the wire (Frame.OrigLen).
	Frames uint64
	Bytes  uint64
	// Size is the file's length as it is stored, in bytes, 0 where it is not
	// known; Pos is how many of them were read so far.
	Size int64
	Pos  int64
	// Comments are those of the capture as a whole (pcapng's section headers).
	Comments []string
	// Interfaces are those that the frames' Interface indexes, in the order in
	// which the input describes them. A pcap or ERF file has one per port.
	Interfaces []Interface
	// Damage is why reading ended before the end of the input, or nil.
	Damage *DamagedError
	// Drops is how many frames the capture itself reports as lost, in pcapng's
	// statistics blocks and drop counts or ERF's loss counters; nil where the
	// input says nothing of it.
	Drops *uint64
	// Followed is what became of its files where it is followed, else nil.
	Followed *Followed
}

// Interface is a port that frames were captured on.
type Interface struct {
	Link        LinkType
	SnapLen     uint32 // bytes, 0 means no limit
	FCSLen      int8   // bytes, -1 where unknown
	Name        string
	Description string
	Hardware    string
	OS          string
	Filter      string
	MAC         [6]byte
	Speed       uint64 // bits a second, 0 where unknown
	TSResol     uint8  // as in pcapng's if_tsresol: 6 is 1 us, bit 7 set is a power of two
	TSOffset    int64  // seconds added to each time stamp
	Comments    []string
	// Received and Dropped are the interface's last statistics, nil where the
	// capture has none.
	Received *uint64
	Dropped  *uint64
	// Down says that nothing can be captured on it at the moment: it is down, or
	// gone.
	Down bool
	// Gone says that it is not there.
	Gone bool
}

// DamagedError says where and why an input can't be read on. Everything before
// Offset was read.
type DamagedError struct {
	Path   string
	Offset int64
	// Decompressed says that Offset counts bytes after decompression.
	Decompressed bool
	// NotCapture says that the input is empty or no capture at all, so that
	// there is nothing to be damaged.
	NotCapture bool
	// Whole says that the capture was read to its end, and Reason what follows
	// it in the file that is none of it: bytes behind a compressed stream.
	Whole  bool
	Reason string

	cause error // of the system or of the decompressor, may be nil
}

// Unwrap is the error that reading or decompressing met, or nil.
func (e *DamagedError) Unwrap() error { return e.cause }

func (e *DamagedError) Error() string {
	path := PathText(e.Path)
	if e.NotCapture || e.Whole {
		return path + ": " + e.Reason
	}
	where := "byte " + strconv.FormatInt(e.Offset, 10)
	if e.Decompressed {
		where += " of the decompressed data"
	}
	return fmt.Sprintf("%s: damaged at %s: %s", path, where, e.Reason)
}

// PathText is a path, or another name that comes from outside, as it may be
// shown: one with control characters or broken
// UTF-8 in it is quoted, so that it can't control a terminal.
func PathText(path string) string {
	for _, r := range path {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return strconv.Quote(path)
		}
	}
	return path
}

// Quoted is a text that comes from outside in quotes, as it was written: a
// backslash stays one. Only what PathText would quote has escapes.
func Quoted(s string) string {
	if t := PathText(s); t != s {
		return t
	}
	return `"` + s + `"`
}

// Format is a capture file format.
type Format uint8

// The formats that are read.
const (
	FormatUnknown Format = iota
	FormatPcap
	FormatPcapNG
	FormatERF
)

func (f Format) String() string {
	switch f {
	case FormatPcap:
		return "pcap"
	case FormatPcapNG:
		return "pcapng"
	case FormatERF:
		return "erf"
	}
	return "unknown"
}

// Compression is how an input is compressed.
type Compression uint8

// The compressions that are read.
const (
	Plain Compression = iota
	Gzip
	Zstd
)

func (c Compression) String() string {
	switch c {
	case Gzip:
		return "gzip"
	case Zstd:
		return "zstd"
	}
	return "none"
}

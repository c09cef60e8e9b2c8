package capture

import (
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"math"
)

// Bounds on what a Writer holds and on what it writes.
const (
	// flushFrom is how many bytes of blocks are worth a write.
	flushFrom = 64 << 10
	// keepBuffer is the largest buffer that is kept after it was written: one
	// huge frame is no reason to hold its memory for ever.
	keepBuffer = 1 << 20
	// maxSectionText is from how many bytes on the comments of the file go on
	// in a section of their own: readers hold a block as a whole.
	maxSectionText = 1 << 20
)

// WriterConfig says what a Writer needs to know besides the frames.
type WriterConfig struct {
	// Application is the program that writes the file, as in "rocelens 1.2".
	// Nothing is said of it if it is empty.
	Application string
	// Comments are about the file as a whole. They stand before those of the
	// inputs.
	Comments []string
	// Inputs describes what the frames' Input and Interface index: it is the
	// Inputs of the Source that hands them out. It is called when a frame comes
	// of an interface that is new, and by Close for what is known in the end.
	// What it has described once must keep its index.
	Inputs func() []Input
}

// Writer writes frames to a pcapng file (draft-ietf-opsawg-pcapng), with all
// that the inputs say of them and of the interfaces that they came by:
//
//   - Each interface of each input is described once, in the order of the
//     inputs and of their interfaces, at the first frame or when it turns up.
//     Names stay as they are, even if two inputs use the same.
//   - Bytes, link type, both lengths and the time of a frame come back exactly.
//     An interface keeps its time resolution and offset, but for one that is
//     finer than a nanosecond, which is all that Frame.Time has: that becomes
//     nanoseconds. A frame whose time can't be told in what its interface has
//     (one without a time stamp of its own, or from before 1970) makes the
//     interface be described once more, in nanoseconds.
//   - A frame keeps its comments, its FCS length and its flags, such as the
//     direction. Other options of its block are left behind, and so are blocks
//     that the readers skip.
//   - Close adds, for each interface that the input has figures of, how many
//     frames it received and dropped. Drops that the input tells without saying
//     where are put to its first interface that has no count of its own.
//   - Comments on an input as a whole (pcapng's section headers) stand at the
//     head of the file. Those that turn up later, or are more than 1 MiB, follow
//     at the end in a section without frames.
//
// A comment of more than 65,535 bytes, which is as long as one can be, becomes
// several; other texts are cut there, both between two characters. Of a block's
// comments as many are written as the package reads again (17 MiB with the
// frame). Cut counts what was lost so.
//
// Blocks are little-endian. They are collected and handed on in large writes,
// always whole ones: a fault in a frame's mapping (see Guard) leaves no half
// block behind. In the steady state a frame costs no allocation.
type Writer struct {
	w       io.Writer
	cfg     WriterConfig
	err     error  // of w; nothing is written after it
	buf     []byte // whole blocks
	started bool
	closed  bool

	inputs     []writtenInput
	interfaces uint32   // described so far
	pending    []string // comments for a section header
	last       int64    // time of the latest frame
	cut        uint64
}

type writtenInput struct {
	interfaces []writtenInterface
	comments   int // so many of Input.Comments are written or pending
}

// writtenInterface is an interface as the file describes it.
type writtenInterface struct {
	clock  clock
	id     uint32
	link   LinkType
	fcsLen int8
	// again are the descriptions in nanoseconds for the times that clock can't
	// tell, if there are such: 1 + id, from 1970 on and before.
	again [2]uint32
}

// beforeEpoch is an offset that all times before 1970 come after, in seconds.
const beforeEpoch = math.MinInt64/nsPerSecond - 1

// NewWriter makes a Writer to w. Nothing is written before the first frame or
// Close.
func NewWriter(w io.Writer, cfg WriterConfig) *Writer {
	return &Writer{w: w, cfg: cfg}
}

// WriteFrame writes one frame, with the comments that it has and then those
// given. It keeps nothing of it.
//
// An error of the underlying writer may come with any later call, and comes
// with each call from then on. Other errors are about this frame alone: it is
// longer than MaxFrame, its interface is not described or is one more than the
// 65,536 that a file can have, or it contradicts its interface. Such a frame is
// not written, others may be.
func (w *Writer) WriteFrame(f *Frame, comments ...string) error {
	switch {
	case w.closed:
		return fs.ErrClosed
	case w.err != nil:
		return w.err
	case len(f.Data) > MaxFrame:
		return fmt.Errorf("a frame of %d bytes is longer than the %d that can be read again", len(f.Data), MaxFrame)
	}
	face, err := w.interfaceOf(f)
	if err != nil {
		return err
	}
	flags, err := face.flags(f)
	if err != nil {
		return err
	}
	id, ts, err := w.stamp(face, f)
	if err != nil {
		return err
	}
	start := len(w.buf)
	b := appendBlock(w.buf, blockEnhanced)
	b = binary.LittleEndian.AppendUint32(b, id)
	b = appendStamp(b, ts)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(f.Data)))
	b = binary.LittleEndian.AppendUint32(b, max(f.OrigLen, uint32(len(f.Data))))
	b = appendPadding(append(b, f.Data...))
	options := len(b)
	if flags != 0 {
		b = appendOptionHeader(b, epbFlags, 4)
		b = binary.LittleEndian.AppendUint32(b, flags)
	}
	if f.options != nil {
		for o := *f.options; ; {
			code, value, ok := o.next()
			if !ok {
				break
			}
			if code == optComment {
				at := len(b)
				b = w.sealComment(append(appendOptionHeader(b, 0, 0), value...), start, at)
			}
		}
	}
	b = w.appendComments(b, start, comments)
	w.buf = sealBlock(b, start, options)
	w.last = max(w.last, f.Time)
	if len(w.buf) >= flushFrom {
		return w.flush()
	}
	return nil
}

// Flush hands all frames written so far to the underlying writer.
func (w *Writer) Flush() error {
	if w.closed {
		return fs.ErrClosed
	}
	return w.flush()
}

// Close writes what is known in the end: interfaces without a frame, counts of
// frames received and dropped, comments on the inputs that came late. It does
// not close the underlying writer. A file without frames is a valid one.
func (w *Writer) Close() error {
	if w.closed {
		return w.err
	}
	w.closed = true
	if w.err != nil {
		return w.err
	}
	inputs := w.describe()
	for i := range inputs {
		w.statistics(&inputs[i], &w.inputs[i])
	}
	w.gather(inputs)
	for len(w.pending) > 0 {
		w.section()
	}
	return w.flush()
}

// Cut is how many texts were cut or left out so far because pcapng has no room
// for them, interfaces that nothing came by included.
func (w *Writer) Cut() uint64 { return w.cut }

// flush writes the buffer. The first error is kept.
func (w *Writer) flush() error {
	if w.err != nil || len(w.buf) == 0 {
		return w.err
	}
	n, err := w.w.Write(w.buf)
	if err == nil && n < len(w.buf) {
		err = io.ErrShortWrite
	}
	if w.err = err; cap(w.buf) > keepBuffer {
		w.buf = nil
	}
	w.buf = w.buf[:0]
	return err
}

// interfaceOf is the interface of a frame as it is in the file.
func (w *Writer) interfaceOf(f *Frame) (*writtenInterface, error) {
	face := w.described(f)
	if face == nil {
		w.describe()
		if err := w.err; err != nil {
			return nil, err
		}
		if face = w.described(f); face == nil {
			if w.interfaces >= maxInterfaces {
				return nil, errInterfaces
			}
			return nil, fmt.Errorf("frame %d is of interface %d of input %d, which is not described",
				f.Number, f.Interface, f.Input)
		}
	}
	if f.Link != face.link {
		return nil, fmt.Errorf("frame %d is of %s, and its interface of %s", f.Number, f.Link, face.link)
	}
	return face, nil
}

var errInterfaces = fmt.Errorf("more than %d interfaces are too many for one file", maxInterfaces)

// described is the interface of a frame, or nil if it is not described yet.
func (w *Writer) described(f *Frame) *writtenInterface {
	if f.Input < 0 || int(f.Input) >= len(w.inputs) {
		return nil
	}
	faces := w.inputs[f.Input].interfaces
	if f.Interface < 0 || int(f.Interface) >= len(faces) {
		return nil
	}
	return &faces[f.Interface]
}

// describe writes the descriptions of all interfaces that there are by now and
// that have none, at the first call after the section header. It returns the
// inputs.
func (w *Writer) describe() []Input {
	var inputs []Input
	if w.cfg.Inputs != nil {
		inputs = w.cfg.Inputs()
	}
	for len(w.inputs) < len(inputs) {
		w.inputs = append(w.inputs, writtenInput{})
	}
	if !w.started {
		w.started = true
		for _, c := range w.cfg.Comments {
			w.pending = appendPieces(w.pending, c)
		}
		w.gather(inputs)
		w.section()
	}
	for i := range inputs {
		in, done := &inputs[i], &w.inputs[i]
		for j := len(done.interfaces); j < len(in.Interfaces); j++ {
			if w.interfaces >= maxInterfaces {
				if !w.closed {
					return inputs // WriteFrame says so
				}
				w.cut++
				continue
			}
			info := in.Interfaces[j]
			if finerThanTime(info.TSResol) || in.Format == FormatPcap && info.Link == LinkERF {
				info.TSResol = nanoResol // ERF headers have more than the records of a pcap file
			}
			done.interfaces = append(done.interfaces, writtenInterface{
				clock:  newClock(info.TSResol, info.TSOffset),
				id:     w.describeInterface(&info),
				link:   info.Link,
				fcsLen: info.FCSLen,
			})
		}
	}
	return inputs
}

// gather queues the comments of the inputs that are new.
func (w *Writer) gather(inputs []Input) {
	for i := range inputs {
		done := &w.inputs[i]
		for ; done.comments < len(inputs[i].Comments); done.comments++ {
			w.pending = appendPieces(w.pending, inputs[i].Comments[done.comments])
		}
	}
}

// stamp finds the description of a frame's interface in which its time can be
// told, and tells it.
func (w *Writer) stamp(face *writtenInterface, f *Frame) (id uint32, ts uint64, err error) {
	ts, ok := face.clock.stamp(f.Time)
	if ok {
		return face.id, ts, nil
	}
	which, offset := 0, int64(0)
	if f.Time < 0 {
		which, offset = 1, beforeEpoch
	}
	if face.again[which] == 0 {
		if w.interfaces >= maxInterfaces {
			return 0, 0, errInterfaces
		}
		info := w.cfg.Inputs()[f.Input].Interfaces[f.Interface]
		info.TSResol, info.TSOffset = nanoResol, offset
		face.again[which] = 1 + w.describeInterface(&info)
	}
	c := newClock(nanoResol, offset)
	if ts, ok = c.stamp(f.Time); !ok { // can't be: between them they have all times
		return 0, 0, fmt.Errorf("frame %d: there is no time stamp for %d ns", f.Number, f.Time)
	}
	return face.again[which] - 1, ts, nil
}

// flags are the frame's own, with its FCS length where it is not that of the
// interface.
func (face *writtenInterface) flags(f *Frame) (uint32, error) {
	var flags uint32
	if f.options != nil {
		flags = f.options.flags() &^ epbFCS
	}
	switch {
	case f.FCSLen == face.fcsLen:
	case f.FCSLen > 0 && f.FCSLen <= epbFCS>>epbFCSShift:
		flags |= uint32(f.FCSLen) << epbFCSShift
	default:
		return 0, fmt.Errorf("frame %d: pcapng can't say FCS length %d of a frame whose interface has %d",
			f.Number, f.FCSLen, face.fcsLen)
	}
	return flags, nil
}

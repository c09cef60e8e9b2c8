package capture

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"slices"
	"sync"
)

// merge hands out the frames of several inputs in the order of their times;
// equal times in the order of the inputs, and each input's frames in their own
// order. Files are opened when the merge comes to their first frame and closed
// after their last, so that hundreds that follow each other cost no more than
// one.
//
// Frames of mapped files alias their mappings. All others are copied into the
// batch's buffer, because an input's own is read into again before the merged
// batch is done with.
type merge struct {
	cfg    Config
	inputs []mergeInput
	// heap has the inputs with a frame at hand, the earliest first.
	heap []int32
	// waiting are those that are not open yet, the earliest last.
	waiting []int32
	// dry are those whose next frame must be waited for.
	dry    []int32
	closed bool

	mu sync.Mutex // guards mergeInput.file against faulted
}

type mergeInput struct {
	path  string
	file  *File // nil until the merge comes to it
	known Input // what there is to say while file is nil
	first int64 // time of the first frame
	empty bool  // there is none
	batch Batch
	next  int // index of the frame at hand
}

func newMerge(inputs []mergeInput, cfg Config) *merge {
	m := &merge{cfg: cfg, inputs: inputs}
	for i := range inputs {
		switch in := &inputs[i]; {
		case in.file != nil:
			in.file.feed.input = int32(i)
			m.dry = append(m.dry, int32(i))
		case !in.empty:
			m.waiting = append(m.waiting, int32(i))
		}
	}
	slices.SortFunc(m.waiting, func(a, b int32) int {
		return cmp.Or(cmp.Compare(inputs[b].first, inputs[a].first), cmp.Compare(b, a))
	})
	return m
}

func (m *merge) Inputs() []Input {
	all := make([]Input, len(m.inputs))
	for i := range m.inputs {
		if in := &m.inputs[i]; in.file != nil {
			all[i] = in.file.Inputs()[0]
		} else {
			all[i] = in.known
		}
	}
	return all
}

func (m *merge) ReadBatch(b *Batch) error {
	b.reset()
	if m.closed {
		return fs.ErrClosed
	}
	for _, i := range m.dry {
		m.refill(i)
	}
	m.dry = m.dry[:0]
	if cap(b.buf) > 2*maxBuffer { // one huge record needed it
		b.buf = nil
	}
	b.buf = b.buf[:0]
	for len(b.Frames) < BatchFrames {
		m.openDue()
		if len(m.heap) == 0 {
			break
		}
		i := m.heap[0]
		in := &m.inputs[i]
		if !take(b, in) {
			break
		}
		in.next++
		switch {
		case in.next < len(in.batch.Frames):
			m.sink(0)
		case in.file.live:
			// Waiting for it would hold back the frames that are there.
			m.pop()
			m.dry = append(m.dry, i)
			return nil
		default:
			m.pop()
			m.refill(i)
		}
	}
	if len(b.Frames) == 0 {
		return io.EOF
	}
	return nil
}

// take puts the frame at hand into b. It reports false if b has no room for the
// frame's bytes.
func take(b *Batch, in *mergeInput) bool {
	fr := &in.batch.Frames[in.next]
	data := fr.Data
	var raw []byte
	if fr.options != nil {
		raw = fr.options.raw
	}
	if in.file.mapped == nil {
		need := len(data) + len(raw)
		if cap(b.buf)-len(b.buf) < need {
			if len(b.Frames) > 0 && cap(b.buf) >= maxBuffer {
				return false
			}
			// Frames in the old buffer keep it alive.
			b.buf = make([]byte, 0, max(need, min(2*cap(b.buf), maxBuffer), firstRead))
		}
		data, raw = b.store(data), b.store(raw)
	}
	b.Frames = append(b.Frames, *fr)
	out := &b.Frames[len(b.Frames)-1]
	out.Data = data
	if fr.options != nil {
		out.options = b.keep(raw, fr.options.swap)
	}
	return true
}

// store copies p into the buffer, which has room for it.
func (b *Batch) store(p []byte) []byte {
	from := len(b.buf)
	b.buf = append(b.buf, p...)
	return b.buf[from:len(b.buf):len(b.buf)]
}

// openDue opens the files whose first frame is not later than the frame at
// hand.
func (m *merge) openDue() {
	for len(m.waiting) > 0 {
		i := m.waiting[len(m.waiting)-1]
		in := &m.inputs[i]
		if len(m.heap) > 0 && m.inputs[m.heap[0]].time() < in.first {
			return
		}
		m.waiting = m.waiting[:len(m.waiting)-1]
		f, err := Open(in.path, m.cfg)
		if err != nil { // it was there a while ago
			in.known.Damage = &DamagedError{
				Path: in.path, Reason: "the file can't be opened again: " + err.Error(), cause: err,
			}
			continue
		}
		f.feed.input = i
		m.mu.Lock()
		in.file = f
		m.mu.Unlock()
		m.refill(i)
	}
}

// refill reads an input's next batch. At its end the input is left alone: what
// was wrong with it, if anything, is in its Input.
func (m *merge) refill(i int32) {
	in := &m.inputs[i]
	in.next = 0
	if err := in.file.ReadBatch(&in.batch); err != nil {
		in.batch = Batch{} // the file has closed itself, all but its mapping
		return
	}
	m.heap = append(m.heap, i)
	m.rise(len(m.heap) - 1)
}

func (m *merge) Close() error {
	if m.closed {
		return nil
	}
	m.closed = true
	m.mu.Lock()
	defer m.mu.Unlock()
	var err error
	for i := range m.inputs {
		if f := m.inputs[i].file; f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	return err
}

func (m *merge) faulted(addr uintptr) *DamagedError {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.inputs {
		if f := m.inputs[i].file; f != nil {
			if d := f.faulted(addr); d != nil {
				return d
			}
		}
	}
	return nil
}

func (in *mergeInput) time() int64 { return in.batch.Frames[in.next].Time }

// before orders the heap.
func (m *merge) before(a, b int32) bool {
	s, t := m.inputs[a].time(), m.inputs[b].time()
	return s < t || s == t && a < b
}

// sink moves the input at position i of the heap down to where it belongs.
func (m *merge) sink(i int) {
	for {
		child := 2*i + 1
		if child >= len(m.heap) {
			return
		}
		if child+1 < len(m.heap) && m.before(m.heap[child+1], m.heap[child]) {
			child++
		}
		if !m.before(m.heap[child], m.heap[i]) {
			return
		}
		m.heap[i], m.heap[child] = m.heap[child], m.heap[i]
		i = child
	}
}

// rise moves the input at position i of the heap up to where it belongs.
func (m *merge) rise(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !m.before(m.heap[i], m.heap[parent]) {
			return
		}
		m.heap[i], m.heap[parent] = m.heap[parent], m.heap[i]
		i = parent
	}
}

// pop takes the first input off the heap.
func (m *merge) pop() {
	last := len(m.heap) - 1
	m.heap[0] = m.heap[last]
	m.heap = m.heap[:last]
	m.sink(0)
}

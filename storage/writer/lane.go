package writer

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/rocelens/rocelens/storage/schema"
)

// lane is the way of one table's rows into the queue.
type lane[R any] struct {
	w     *Writer
	name  string        // in tokens
	turn  chan struct{} // holds one who works on the batch
	batch *schema.Batch[R]
	since time.Time // the first row came
	n     uint64    // batches so far
}

func newLane[R any](w *Writer, name string, rows *schema.Rows[R]) *lane[R] {
	l := &lane[R]{w: w, name: name, turn: make(chan struct{}, 1), batch: rows.Batch()}
	w.lanes = append(w.lanes, l)
	return l
}

// lock waits for the batch. Whoever has it may be waiting for room in the queue. If
// nobody has it, ctx does not matter: what is in it can go.
func (l *lane[R]) lock(ctx context.Context) error {
	select {
	case l.turn <- struct{}{}:
		return nil
	default:
	}
	select {
	case l.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *lane[R]) unlock() { <-l.turn }

func (l *lane[R]) add(ctx context.Context, o *schema.Origin, rows []R) error {
	l.w.counts.add(l.batch.Table().Name, taken, len(rows))
	if err := l.lock(ctx); err != nil {
		l.w.drop(l.batch.Table().Name, len(rows), err)
		return err
	}
	defer l.unlock()
	var errs []error
	for len(rows) > 0 {
		if l.batch.Rows() == 0 {
			l.since = time.Now()
		}
		n := min(len(rows), l.w.cfg.MaxRows-l.batch.Rows())
		l.batch.Append(o, rows[:n])
		rows = rows[n:]
		if l.batch.Rows() == l.w.cfg.MaxRows {
			_, err := l.put(ctx, nil)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (l *lane[R]) flush(ctx context.Context, olderThan time.Duration) error {
	if err := l.lock(ctx); err != nil {
		return err
	}
	defer l.unlock()
	if l.batch.Rows() == 0 || time.Since(l.since) < olderThan {
		return nil
	}
	_, err := l.put(ctx, nil)
	return err
}

// tell puts rows into the queue at once, in a batch of their own that tells of
// lost ones.
func (l *lane[R]) tell(ctx context.Context, o *schema.Origin, rows []R, tells map[string]uint64) (kept bool, err error) {
	if len(rows) == 0 {
		return false, nil
	}
	if err := l.lock(ctx); err != nil {
		return false, err
	}
	defer l.unlock()
	l.w.counts.add(l.batch.Table().Name, taken, len(rows))
	l.batch.Append(o, rows)
	return l.put(ctx, tells)
}

// put encodes the batch and queues it. Rows for which there is no room are counted
// as dropped, and are no error: they are known, and there is nothing to be done.
func (l *lane[R]) put(ctx context.Context, tells map[string]uint64) (kept bool, err error) {
	table, rows := l.batch.Table().Name, l.batch.Rows()
	defer l.batch.Reset()
	block, err := l.batch.Encode(l.w.free.get())
	if err != nil {
		l.w.drop(table, rows, err)
		return false, err
	}
	l.n++
	b := &Batch{
		Table: table, Rows: rows, Block: block, Tells: tells,
		Token: Prefix(l.w.cfg.Run, l.w.cfg.Attempt) + l.name + "/" + strconv.FormatUint(l.n, 10),
	}
	if err := l.w.queue.Put(ctx, b); err != nil {
		l.w.free.put(block)
		l.w.drop(table, rows, err)
		if errors.Is(err, ErrFull) && ctx.Err() == nil {
			return false, nil
		}
		return false, err
	}
	return true, nil
}

// buffers are blocks that can be used again.
type buffers struct {
	mu   sync.Mutex
	list [][]byte
}

// maxBuffers bounds what is kept for the next batches.
const maxBuffers = 4

func (f *buffers) get() []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := len(f.list); n > 0 {
		b := f.list[n-1]
		f.list = f.list[:n-1]
		return b[:0]
	}
	return nil
}

func (f *buffers) put(b []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.list) < maxBuffers {
		f.list = append(f.list, b)
	}
}

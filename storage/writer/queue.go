package writer

import (
	"context"
	"errors"
	"io"
	"sync"
)

// Batch is an encoded batch on its way to the store.
type Batch struct {
	Table string // its name
	// Token is by what the store knows the batch when it comes again. It begins
	// with the run and the attempt, see Prefix.
	Token string
	Rows  int
	Block []byte // in the format Native
	// Tells are lost rows, by table, of which the store learns from it. See Losses.
	Tells map[string]uint64
	// Damaged is why it can't be sent, nil for others.
	Damaged error

	seq uint64 // order among those of a queue
}

// Prefix is how the tokens of an attempt to load a run begin.
func Prefix(run, attempt string) string { return run + "/" + attempt + "/" }

// Queue keeps batches until they are in the store, and hands them out in order.
// A queue on disk brings those of the last time along. Its methods are called from several
// goroutines.
type Queue interface {
	// Put keeps a batch, and from then on owns its block. It waits while there is
	// no room, or says ErrFull at once, as the queue was made.
	Put(ctx context.Context, b *Batch) error
	// Take hands out the oldest batch that is not out. It waits for one, and says
	// io.EOF when the queue is closed and empty. A batch that is Damaged is only
	// there to be counted.
	Take(ctx context.Context) (*Batch, error)
	// Done takes a batch that is out away: the store has it, or it was given up.
	// The block can be used again.
	Done(b *Batch) error
	// Return puts a batch that is out back, before all that came later.
	Return(b *Batch) error
	// Close says that no batch will be put any more.
	Close() error
}

// Losses is what a queue on disk is besides: it remembers lost rows, by table,
// until a batch is put that Tells them, so that the next program can do that where
// this one is killed.
type Losses interface {
	Drop(table string, rows uint64) error
	Dropped() (map[string]uint64, error)
}

// ErrFull says that a queue has no room for a batch.
var ErrFull = errors.New("no room in the queue of the store")

// Memory is a queue in memory, of so many bytes of blocks at most. Always at least
// one batch has room.
type Memory struct {
	max  int
	wait bool // rather than saying ErrFull

	mu      sync.Mutex
	changed chan struct{} // closed and made anew at each change
	waiting []*Batch      // in order
	bytes   int           // of those waiting and those out
	out     int
	next    uint64
	closed  bool
}

// NewMemory returns an empty queue. With wait, Put waits for room.
func NewMemory(maxBytes int, wait bool) *Memory {
	return &Memory{max: maxBytes, wait: wait, changed: make(chan struct{})}
}

// change wakes up all who wait. The lock is held.
func (q *Memory) change() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// Put implements Queue.
func (q *Memory) Put(ctx context.Context, b *Batch) error {
	for {
		q.mu.Lock()
		if q.closed {
			q.mu.Unlock()
			return errors.New("the queue of the store is closed")
		}
		if q.bytes == 0 || q.bytes+len(b.Block) <= q.max {
			b.seq = q.next
			q.next++
			q.waiting = append(q.waiting, b)
			q.bytes += len(b.Block)
			q.change()
			q.mu.Unlock()
			return nil
		}
		changed := q.changed
		q.mu.Unlock()
		if !q.wait {
			return ErrFull
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return errors.Join(ErrFull, ctx.Err())
		}
	}
}

// Take implements Queue.
func (q *Memory) Take(ctx context.Context) (*Batch, error) {
	for {
		q.mu.Lock()
		if len(q.waiting) > 0 {
			b := q.waiting[0]
			q.waiting[0] = nil
			q.waiting = q.waiting[1:]
			q.out++
			q.mu.Unlock()
			return b, nil
		}
		if q.closed && q.out == 0 {
			q.mu.Unlock()
			return nil, io.EOF
		}
		changed := q.changed
		q.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Done implements Queue.
func (q *Memory) Done(b *Batch) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.bytes -= len(b.Block)
	q.out--
	q.change()
	return nil
}

// Return implements Queue.
func (q *Memory) Return(b *Batch) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := 0
	for i < len(q.waiting) && q.waiting[i].seq < b.seq {
		i++
	}
	q.waiting = append(q.waiting[:i], append([]*Batch{b}, q.waiting[i:]...)...)
	q.out--
	q.change()
	return nil
}

// Close implements Queue.
func (q *Memory) Close() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.change()
	return nil
}

// Len is how many batches are in it or out, and their bytes.
func (q *Memory) Len() (batches, bytes int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting) + q.out, q.bytes
}

package spool

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/rocelens/rocelens/storage/writer"
)

// Queue is a writer.Queue on disk. Each batch is in the spool from Put to Done,
// so that those that a program could not send any more are sent by the next one. It is a writer.Losses, too.
type Queue struct {
	spool *Spool

	mu      sync.Mutex
	changed chan struct{} // closed and made anew at each change
	taken   uint64        // the last batch that was handed out for the first time
	back    []uint64      // those that were returned, in order
	out     map[*writer.Batch]uint64
	closed  bool
}

// NewQueue returns a queue with what is in the spool. The caller closes the spool
// when the writer has ended.
func NewQueue(s *Spool) *Queue {
	return &Queue{spool: s, changed: make(chan struct{}), out: make(map[*writer.Batch]uint64)}
}

// change wakes up all who wait. The lock is held.
func (q *Queue) change() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// Put is of writer.Queue. It does not wait: with a full spool or disk it says
// writer.ErrFull, and the rows count as dropped.
func (q *Queue) Put(_ context.Context, b *writer.Batch) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return errors.New("the spool's queue is closed")
	}
	err := q.spool.Put(Batch{Table: b.Table, Token: b.Token, Rows: b.Rows, Data: b.Block}, b.Tells)
	if err != nil {
		return errors.Join(writer.ErrFull, err)
	}
	q.change()
	return nil
}

// Take is of writer.Queue.
func (q *Queue) Take(ctx context.Context) (*writer.Batch, error) {
	for {
		q.mu.Lock()
		b, err := q.next()
		ended, changed := q.closed && len(q.out) == 0, q.changed
		q.mu.Unlock()
		switch {
		case b != nil || err != nil:
			return b, err
		case ended:
			return nil, io.EOF
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// next is the oldest batch that is not out, nil without one.
func (q *Queue) next() (*writer.Batch, error) {
	after := q.taken
	if len(q.back) > 0 {
		after = q.back[0] - 1
	}
	b, number, ok, err := q.spool.After(after)
	var broken *DamagedError
	if !ok || err != nil && !errors.As(err, &broken) {
		return nil, err
	}
	if len(q.back) > 0 && q.back[0] == number {
		q.back = q.back[1:]
	}
	q.taken = max(q.taken, number)
	out := &writer.Batch{Table: b.Table, Token: b.Token, Rows: b.Rows, Block: b.Data, Damaged: err}
	q.out[out] = number
	return out, nil
}

// Done is of writer.Queue.
func (q *Queue) Done(b *writer.Batch) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	number := q.out[b]
	delete(q.out, b)
	q.change()
	return q.spool.Remove(number)
}

// Drop is of writer.Losses.
func (q *Queue) Drop(table string, rows uint64) error { return q.spool.Drop(table, rows) }

// Dropped is of writer.Losses.
func (q *Queue) Dropped() (map[string]uint64, error) { return q.spool.Dropped() }

// Return is of writer.Queue.
func (q *Queue) Return(b *writer.Batch) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	number := q.out[b]
	delete(q.out, b)
	i, _ := slices.BinarySearch(q.back, number)
	q.back = slices.Insert(q.back, i, number)
	q.change()
	return nil
}

// Close is of writer.Queue. What is in the spool stays there until it is taken.
func (q *Queue) Close() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.change()
	return nil
}

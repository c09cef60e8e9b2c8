package writer

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"time"
	"unicode"
)

// Refused is an error of an Inserter that stays however often a batch is sent.
type Refused interface{ Refused() bool }

// send sends batches until the queue is closed and empty.
func (w *Writer) send() {
	for {
		b, err := w.queue.Take(w.ctx)
		switch {
		case errors.Is(err, io.EOF) || w.ctx.Err() != nil:
			return
		case err != nil:
			w.log.Error("the store: the queue can't be read", "error", err)
			if !w.wait(w.cfg.BackoffMax) {
				return
			}
			continue
		}
		w.deliver(b)
	}
}

// deliver sends one batch, again and again if need be.
func (w *Writer) deliver(b *Batch) {
	table := w.tables[b.Table]
	switch {
	case b.Damaged != nil:
		w.giveUp(b, b.Damaged)
		return
	case table == nil:
		// Of a queue on disk, by another version.
		w.giveUp(b, errors.New("there is no such table"))
		return
	}
	why := ""
	for wait, failed := w.cfg.BackoffMin, 0; ; wait = min(2*wait, w.cfg.BackoffMax) {
		ctx, cancel := context.WithTimeout(w.ctx, w.cfg.Timeout)
		err := w.store.Insert(ctx, &w.opts, table, b.Token, b.Block)
		cancel()
		var refused Refused
		switch {
		case err == nil:
			if failed > 0 {
				w.log.Info("the store takes rows again", "table", b.Table, "failures", failed)
			}
			w.ended(b, written)
			w.done(b)
			return
		case errors.As(err, &refused) && refused.Refused():
			w.giveUp(b, err)
			return
		}
		failed++
		w.counts.add(b.Table, failures, 1)
		if now := reason(err); now != why && w.ctx.Err() == nil {
			why = now
			w.log.Warn("the store does not take rows: they are sent again", "table", b.Table, "rows", b.Rows, "error", err)
		}
		if !w.wait(wait/2 + rand.N(wait/2+1)) {
			if err := w.queue.Return(b); err != nil {
				w.log.Error("the store: a batch could not be put back", "table", b.Table, "rows", b.Rows, "error", err)
			}
			return
		}
	}
}

// reason is an error's text without numbers: ports and times are others each time.
func reason(err error) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, err.Error())
}

// wait waits, and says whether the writer still works after that.
func (w *Writer) wait(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-w.ctx.Done():
		return false
	}
}

// ended counts a batch. One that the last program left was not counted before.
func (w *Writer) ended(b *Batch, as what) {
	if !strings.HasPrefix(b.Token, Prefix(w.cfg.Run, w.cfg.Attempt)) {
		w.counts.add(b.Table, taken, b.Rows)
	}
	w.counts.add(b.Table, as, b.Rows)
}

// giveUp drops a batch that is out.
func (w *Writer) giveUp(b *Batch, why error) {
	w.lost(b.Table, b.Rows, why)
	w.ended(b, dropped)
	w.done(b)
}

// done takes a batch out of the queue.
func (w *Writer) done(b *Batch) {
	block := b.Block
	if err := w.queue.Done(b); err != nil {
		// It is sent once more then, and known by its token.
		w.log.Error("the store: a batch could not be taken out of the queue", "table", b.Table, "error", err)
		return
	}
	w.free.put(block)
}

// drop counts rows that will not be in the store, and says so.
func (w *Writer) drop(table string, rows int, why error) {
	w.lost(table, rows, why)
	w.counts.add(table, dropped, rows)
}

// lost says that rows are lost, and sees that it is remembered. They are counted
// after that: what the store is told of must be remembered first.
func (w *Writer) lost(table string, rows int, why error) {
	w.log.Error("rows are lost", "table", table, "rows", rows, "error", why)
	if w.losses == nil {
		return
	}
	if err := w.losses.Drop(table, uint64(rows)); err != nil {
		w.log.Error("the spool can't note what is lost", "table", table, "rows", rows, "error", err)
	}
}

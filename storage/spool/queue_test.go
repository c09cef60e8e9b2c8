package spool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/storage/schema"
	"github.com/rocelens/rocelens/storage/writer"
)

var (
	_ writer.Queue  = (*Queue)(nil)
	_ writer.Losses = (*Queue)(nil)
)

func waiting(n int) *writer.Batch {
	b := batch(n, 2000)
	return &writer.Batch{Table: b.Table, Token: b.Token, Rows: b.Rows, Block: b.Data}
}

func takeOut(t *testing.T, q *Queue, token int) *writer.Batch {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	b, err := q.Take(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if want := waiting(token); b.Token != want.Token || b.Table != want.Table || b.Rows != want.Rows || string(b.Block) != string(want.Block) {
		t.Fatalf("%s instead of %s", b.Token, want.Token)
	}
	return b
}

// TestQueue: batches come in order, those that are returned first, each until it
// is done, and after a restart those that were not.
func TestQueue(t *testing.T) {
	p := path(t)
	s := mustOpen(t, p)
	q := NewQueue(s)
	ctx := context.Background()
	for n := range 5 {
		if err := q.Put(ctx, waiting(n)); err != nil {
			t.Fatal(err)
		}
	}
	a, b, c := takeOut(t, q, 0), takeOut(t, q, 1), takeOut(t, q, 2)
	if err := errors.Join(q.Return(b), q.Done(c), q.Return(a)); err != nil {
		t.Fatal(err)
	}
	a, b = takeOut(t, q, 0), takeOut(t, q, 1)
	d := takeOut(t, q, 3)
	if err := errors.Join(q.Done(b), q.Return(d), q.Close()); err != nil {
		t.Fatal(err)
	}
	if err := q.Put(ctx, waiting(9)); err == nil {
		t.Error("a closed queue takes a batch")
	}
	_ = a // is out when the program ends
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, p)
	q = NewQueue(s)
	for _, n := range []int{0, 3, 4} {
		if err := q.Done(takeOut(t, q, n)); err != nil {
			t.Fatal(err)
		}
	}
	ended := make(chan error, 1)
	go func() {
		_, err := q.Take(ctx)
		ended <- err
	}()
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, io.EOF) {
		t.Errorf("%v at the end", err)
	}
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if _, err := NewQueue(s).Take(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v from an empty queue", err)
	}
}

// TestQueueFull: what has no room is refused at once.
func TestQueueFull(t *testing.T) {
	s := mustOpen(t, path(t))
	q := NewQueue(s)
	kept := 0
	for err := error(nil); err == nil; kept++ {
		b := waiting(kept)
		b.Block = make([]byte, 1<<20)
		if err = q.Put(context.Background(), b); err != nil && !errors.Is(err, writer.ErrFull) {
			t.Fatal(err)
		}
	}
	if n := s.Size().Batches; n != kept-1 || n < 8 {
		t.Errorf("%d batches are kept, %d were taken", n, kept-1)
	}
}

// flaky is a store that takes nothing while it is away, and forgets to say so
// now and then.
type flaky struct {
	mu     sync.Mutex
	away   bool
	tokens map[string]int // how often each came
	order  []string
	calls  int
}

func (f *flaky) Insert(_ context.Context, _ *schema.Options, _ *schema.Table, token string, _ []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.away {
		return errors.New("away")
	}
	if f.tokens[token]++; f.tokens[token] == 1 {
		f.order = append(f.order, token)
	}
	if f.calls++; f.calls%5 == 0 {
		return errors.New("the answer got lost")
	}
	return nil
}

// TestWriterOnDisk: a writer whose store is away ends, the next one sends what it
// left, and each batch is there.
func TestWriterOnDisk(t *testing.T) {
	p := path(t)
	store := &flaky{away: true, tokens: map[string]int{}}
	const runs, batches = 3, 20
	for run := range runs {
		s := mustOpen(t, p)
		cfg := writer.DefaultConfig()
		cfg.Run, cfg.Attempt = fmt.Sprintf("run%d", run), "1"
		cfg.MaxRows, cfg.Senders = 10, 1
		cfg.BackoffMin, cfg.BackoffMax = time.Millisecond, 2*time.Millisecond
		w, err := writer.New(cfg, schema.DefaultOptions(), store, NewQueue(s), quiet)
		if err != nil {
			t.Fatal(err)
		}
		o := &schema.Origin{Probe: "p", Run: cfg.Run}
		w.Start(o)
		for range batches {
			if err := w.Intervals(context.Background(), o, make([]record.FlowInterval, 10)); err != nil {
				t.Fatal(err)
			}
		}
		store.mu.Lock()
		store.away = run < runs-1
		store.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
		if run == runs-1 {
			ctx = context.Background()
		}
		if _, err := w.Close(ctx); (err != nil) != (run < runs-1) {
			t.Errorf("run %d: %v", run, err)
		}
		cancel()
		if left := s.Size().Batches; (left > 0) != (run < runs-1) {
			t.Errorf("run %d leaves %d batches", run, left)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for i, token := range store.order {
		if i > 0 && len(token) > 0 && token[:4] < store.order[i-1][:4] {
			t.Errorf("%s after %s", token, store.order[i-1])
		}
	}
	for run := range runs {
		for i := 1; i <= batches; i++ {
			token := writer.Prefix(fmt.Sprintf("run%d", run), "1") + "flow_intervals/" + fmt.Sprint(i)
			if store.tokens[token] == 0 {
				t.Errorf("%s is missing", token)
			}
			n++
		}
	}
	if n != runs*batches {
		t.Error(n)
	}
}
